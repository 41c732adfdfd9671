"""Words of a question to columns and values of the tables at hand, with a score."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from operator import mul
from typing import TYPE_CHECKING, TypeAlias

from secondlook.answer import ResolvedHow  # noqa: TC001 - stored with readings by their types
from secondlook.tables.words import SHORTEST_PREFIX, STOP_WORDS, Atom, atoms, same_word, stem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.tables.query import Computed, Query
    from secondlook.tables.table import ColumnProfile, Table, TableProfile

Embed: TypeAlias = "Callable[[Sequence[str]], list[list[float]]]"  # Texts to vectors of length one


@dataclass(frozen=True, slots=True)
class AskedTable:
    table: Table
    profile: TableProfile
    values: Callable[[str], Sequence[str]]
    """Distinct values of a text column as stored (`Desk.values`); read when called."""
    compute: Callable[[Query], Computed] | None = None
    """Where it is given, a reading that finds nothing can be dropped."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A column, and how sure it is that it was meant; `table` is an id."""

    asked: str
    table: str
    column: str
    score: float
    how: ResolvedHow


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters [start, end) of a text name a column."""

    start: int
    end: int
    resolved: Resolved


@dataclass(frozen=True, slots=True)
class ValueMention:
    """Characters [start, end) of a text name a value of a column, which is given as stored."""

    start: int
    end: int
    table: str
    column: str
    value: str
    score: float


# Words of a question to columns and values.

LEAST_SCORE = 0.5  # What is less alike is not offered
LEAST_MENTION = 0.7  # What is less alike is no mention of a column
LEAST_MEANING = 0.45
MOST_WORDS = 8
BY_VALUE = 0.75  # A phrase that is one of the column's values
OPENING = frozenset("\"'`\u201c\u2018")
CLOSING = frozenset("\"'`\u201d\u2019")
BREAK = re.compile(r"[\"“”;:!?()\n]|[.,]\s")  # What no name is written across


class Resolver:
    """Over the tables at hand. Keeps what it has worked out about them."""

    def __init__(self, tables: Sequence[AskedTable], *, embed: Embed | None = None) -> None:
        self.tables = tuple(tables)
        self._embed = embed
        self._columns: list[tuple[str, Name]] = []
        for one in self.tables:
            names = [Name.of(column.name).with_bare() for column in one.table.columns]
            # Where two differ in their units alone, the units tell them apart.
            called = Counter(each.bare.squeezed for each in names if each.bare is not None)
            for name in names:
                alone = name.bare is None or called[name.bare.squeezed] == 1
                self._columns.append((one.table.id, name if alone else replace(name, bare=None)))
        self._by_squeezed: dict[str, list[tuple[str, Name]]] = defaultdict(list)
        for table, column in self._columns:
            for known in filter(None, (column, column.bare)):
                self._by_squeezed[known.squeezed].append((table, column))
        profiles = [column for one in self.tables for column in one.profile.columns]
        self._meaning = Meaning(profiles, embed) if embed and profiles else None
        self._values: Values | None = None

    def column(self, phrase: str) -> list[Resolved]:
        """Columns that a phrase may mean, best first."""
        asked = Name.of(phrase)
        found = {(table, name.text): likeness(asked, name) for table, name in self._columns}
        for one in self.values(phrase):
            whole = one.end - one.start >= len(phrase.strip())
            if whole and found[one.table, one.column][0] < BY_VALUE:
                found[one.table, one.column] = (BY_VALUE, "value")
        if self._meaning and max((score for score, _ in found.values()), default=0) < SURE:
            keys = [
                (one.table.id, each.name) for one in self.tables for each in one.profile.columns
            ]
            for key, score in zip(keys, self._meaning.scores(phrase), strict=True):
                if key in found and score > found[key][0]:
                    found[key] = (score, "meaning")
        return sorted(
            (
                Resolved(phrase, table, column, round(score, 3), how)
                for (table, column), (score, how) in found.items()
                if score >= (LEAST_MEANING if how == "meaning" else LEAST_SCORE)
            ),
            key=lambda one: -one.score,
        )

    def mentions(self, question: str) -> list[Mention]:
        """Columns named in a text, in its order, without overlap: those written just as the table
        has them first, then by likeness."""
        words = atoms(question)
        found: list[Mention] = []
        taken = [False] * len(question)

        def add(one: Mention) -> None:
            if not any(taken[one.start : one.end]):
                taken[one.start : one.end] = [True] * (one.end - one.start)
                found.append(one)

        for table, column in sorted(self._columns, key=lambda one: -len(one[1].text)):
            for start, end in _written(question, column.text):
                add(Mention(start, end, Resolved(column.text, table, column.text, 1.0, "exact")))
        likely = []
        for size in range(1, min(MOST_WORDS, len(words)) + 1):
            for at in range(len(words) - size + 1):
                some = words[at : at + size]
                if not any(taken[some[0].start : some[-1].end]):
                    likely.append(self._likeliest(question, some))
        known = [one for one in likely if one is not None]
        for one in sorted(known, key=lambda one: (-one.resolved.score, -one.end)):
            add(one)
        return sorted(found, key=lambda one: one.start)

    def values(self, question: str) -> list[ValueMention]:
        """Cell values named in a text, in its order; several columns may hold the same value."""
        if self._values is None:
            self._values = Values(self.tables)
        return self._values.named_in(question)

    def _likeliest(self, text: str, words: list[Atom]) -> Mention | None:
        start, end = words[0].start, words[-1].end
        asked = text[start:end]
        if {words[0].text, words[-1].text} & STOP_WORDS or BREAK.search(asked):
            return None
        phrase = Name.of(asked)
        best, chosen = 0.0, None
        for table, name in self._by_squeezed.get(phrase.squeezed) or self._columns:
            score, how = likeness(phrase, name, whole=True)
            if score > best and name.text.casefold() not in STOP_WORDS:
                best, chosen = score, Resolved(asked, table, name.text, score, how)
        return Mention(start, end, chosen) if chosen and best >= LEAST_MENTION else None


def _written(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Where the name stands just as it is; a common word or a single letter only in quotes."""
    common = name in STOP_WORDS or len(name) == 1
    for match in re.finditer(re.escape(name), text) if name.strip() else ():
        start, end = match.span()
        before, after = text[max(0, start - 1) : start], text[end : end + 1]
        within = (before.isalnum() and name[0].isalnum()) or (
            after.isalnum() and name[-1].isalnum()
        )
        if not within and (not common or (before in OPENING and after in CLOSING)):
            yield start, end


# How far a phrase names a column, by its letters and words alone.

CASE, STEMS, SHORT, NEARLY, PARTS, LETTERS = 0.98, 0.93, 0.85, 0.8, 0.9, 0.9
"""What a likeness is worth: up to case and signs, up to endings, an abbreviation, but for a generic
word, words shared, letters shared."""
GENERIC = frozenset({"pct", "num", "total", "avg", "amt", "value", "rate", "level", "column"})
"""Words that tell no columns apart: `discount` for `discount_pct`."""
FEWEST_LETTERS = 0.8  # Of the letters must agree, in their order, before a name counts as misspelt
UNIT = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\])\s*$")
"""`Price (USD)`, `Weight [kg]`: a unit is no part of what a column is called."""
WITHOUT_UNIT = 0.99
"""What leaving it out keeps of a likeness: a column of just that name comes first."""


@dataclass(frozen=True, slots=True)
class Name:
    """A column's name, taken apart once."""

    text: str
    stems: tuple[str, ...]
    squeezed: str
    bare: Name | None = None  # Without its unit, where it has one

    @classmethod
    def of(cls, text: str) -> Name:
        words = [atom.text for atom in atoms(text)]
        stems = [stem(word) for word in words if word not in STOP_WORDS]
        return cls(text, tuple(stems or words), "".join(words))

    def with_bare(self) -> Name:
        """That may be called without its unit."""
        bare = UNIT.sub("", self.text)
        return replace(self, bare=Name.of(bare)) if bare and bare != self.text else self


def likeness(phrase: Name, column: Name, *, whole: bool = False) -> tuple[float, ResolvedHow]:
    """`whole`: words that only one of them has make them different."""
    found = _likeness(phrase, column, whole=whole)
    if column.bare is None:
        return found
    score, how = _likeness(phrase, column.bare, whole=whole)
    return max(found, (WITHOUT_UNIT * score, "case" if how == "exact" else how))


def _likeness(phrase: Name, column: Name, *, whole: bool) -> tuple[float, ResolvedHow]:
    if phrase.text == column.text:
        return 1.0, "exact"
    if phrase.squeezed and phrase.squeezed == column.squeezed:
        return CASE, "case"
    if phrase.stems and sorted(phrase.stems) == sorted(column.stems):
        return STEMS, "fuzzy"
    left = tuple(one for one in column.stems if one not in GENERIC)
    generic = NEARLY if left and left != column.stems and left == phrase.stems else 0.0
    parts = 0.0
    if not whole and phrase.stems and column.stems:
        # By the words that both have: all of one of them must be among the other's.
        in_column = sum(any(same_word(a, b) for b in phrase.stems) for a in column.stems)
        in_phrase = sum(any(same_word(a, b) for b in column.stems) for a in phrase.stems)
        shares = in_column / len(column.stems), in_phrase / len(phrase.stems)
        parts = PARTS * (0.6 * max(shares) + 0.4 * min(shares)) * min(1.0, sum(shares))
    return max(_abbreviated(phrase, column), generic, parts, _letters(phrase, column)), "fuzzy"


def _abbreviated(phrase: Name, column: Name) -> float:
    """Each word short for the other's, initials, or an initial and the last word (`pclass`)."""
    words = phrase.stems
    if len(words) == len(column.stems) and all(map(same_word, words, column.stems)):
        return SHORT
    initials = "".join(word[0] for word in words) if len(words) > 1 else ""
    is_short = len(initials) >= SHORTEST_PREFIX and initials == column.squeezed
    is_class = initials != "" and initials[:-1] + words[-1] == column.squeezed
    return SHORT if is_short or is_class else 0.0


def _letters(phrase: Name, column: Name) -> float:
    one, other = phrase.squeezed, column.squeezed
    if min(len(one), len(other)) < SHORTEST_PREFIX + 1 or abs(len(one) - len(other)) > len(one) / 3:
        return 0.0
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < FEWEST_LETTERS or matcher.quick_ratio() < FEWEST_LETTERS:
        return 0.0
    ratio = matcher.ratio()
    return LETTERS * ratio if ratio >= FEWEST_LETTERS else 0.0


# Cell values that a question names.

LONGEST_NAME, LONGEST_VALUE = 12, 120  # Words, and characters: longer cells are texts, not names
AS_WRITTEN, UP_TO_ENDINGS = 1.0, 0.9
Place = tuple[str, str, str]  # Table, column and value


class Values:
    """Which columns hold a value, by its words."""

    def __init__(self, tables: Sequence[AskedTable]) -> None:
        self._exact: dict[tuple[str, ...], list[Place]] = defaultdict(list)
        self._stemmed: dict[tuple[str, ...], list[Place]] = defaultdict(list)
        for table in tables:
            for column in (one.name for one in table.table.columns if one.type == "text"):
                for value in table.values(column):
                    words = tuple(one.text for one in atoms(value[: LONGEST_VALUE + 1]))
                    if 0 < len(words) <= LONGEST_NAME and len(value) <= LONGEST_VALUE:
                        place = (table.table.id, column, value)
                        self._exact[words].append(place)
                        self._stemmed[tuple(map(stem, words))].append(place)

    def named_in(self, text: str) -> list[ValueMention]:
        """Longest first; the same words may be values of several columns."""
        found: list[ValueMention] = []
        words = atoms(text)
        taken = [False] * len(words)
        for size in range(min(LONGEST_NAME, len(words)), 0, -1):
            for at in range(len(words) - size + 1):
                if any(taken[at : at + size]):
                    continue
                mentions = self._at(words[at : at + size], text)
                if mentions:
                    taken[at : at + size] = [True] * size
                    found += mentions
        return sorted(found, key=lambda one: (one.start, -one.score))

    def _at(self, words: list[Atom], text: str) -> list[ValueMention]:
        start, end = words[0].start, words[-1].end
        exact = self._exact.get(tuple(one.text for one in words), [])
        if len(words) == 1 and not _could_be_a_name(text, start, end, exact):
            return []
        near = exact or self._stemmed.get(tuple(stem(one.text) for one in words), [])
        score = AS_WRITTEN if exact else UP_TO_ENDINGS
        return [ValueMention(start, end, *one, score) for one in near]


def _could_be_a_name(text: str, start: int, end: int, exact: list[Place]) -> bool:
    """One small word is a value only in quotes or spelt just as the cell is."""
    written = text[start:end]
    if text[start - 1 : start] in {'"', "'", "“"} and text[end : end + 1] in {'"', "'", "”"}:
        return True
    as_it_is = any(value == written for *_, value in exact)
    if written.casefold() in STOP_WORDS:
        # `IT` is a department where the rest of the question is not in capitals.
        return as_it_is and len(written) > 1 and written.isupper() and not text.isupper()
    return len(written) > 1 or as_it_is


# Columns by meaning: vectors of their names and of their most frequent values.

NOTHING_IN_COMMON = 0.76
"""Cosine of texts that have nothing to do with each other, for the embedder that is shipped
(measured once, over pairs of unrelated column names)."""
SURE = 0.9  # What the same meaning is worth at most: less than the same letters
MOST_TOP = 5


class Meaning:
    """Vectors of the columns, made once."""

    def __init__(self, columns: list[ColumnProfile], embed: Embed) -> None:
        self._embed = embed
        self._texts = []
        for one in columns:
            top = ", ".join(each.value for each in one.top[:MOST_TOP] if one.type == "text")
            self._texts.append(one.name.replace("_", " ") + (f": {top}" if top else ""))
        self._vectors: list[list[float]] | None = None

    def scores(self, phrase: str) -> list[float]:
        """0 to `SURE` per column, in their order."""
        if self._vectors is None:
            self._vectors = self._embed(self._texts)
        (vector,) = self._embed([phrase]) or [[]]
        if not vector or not self._vectors:  # nobody embeds
            return [0.0] * len(self._texts)
        cosines = (sum(map(mul, vector, other)) for other in self._vectors)
        scale = 1 - NOTHING_IN_COMMON
        return [SURE * min(1.0, max(0.0, (one - NOTHING_IN_COMMON) / scale)) for one in cosines]
