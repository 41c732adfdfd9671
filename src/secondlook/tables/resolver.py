"""Words of a question to columns and values of the tables at hand, with a score."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import ResolvedHow
    from secondlook.tables.query import Computed, Query
    from secondlook.tables.table import ColumnProfile, Table, TableProfile

# Which column or value a word of a question means: data only.

Embed: TypeAlias = "Callable[[Sequence[str]], list[list[float]]]"
"""Texts to vectors of length one."""
MOST_VALUES = 5000
"""Distinct values of one column that are looked at."""


@dataclass(frozen=True, slots=True)
class AskedTable:
    table: Table
    profile: TableProfile
    values: Callable[[str], Sequence[str]]
    """Distinct values of a text column as stored, at most `MOST_VALUES`; read when called."""
    compute: Callable[[Query], Computed] | None = None
    """Where it is given, a reading that finds nothing can be dropped."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A column, and how sure it is that it was meant."""

    asked: str
    table: str
    """Id of the table."""
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
    """Characters [start, end) of a text name a value of a column."""

    start: int
    end: int
    table: str
    """Id of the table."""
    column: str
    value: str
    """As stored."""
    score: float


# Words of a question to columns and values.

LEAST_SCORE = 0.5
"""What is less alike is not offered."""
LEAST_MENTION = 0.7
"""What is less alike is no mention of a column."""
LEAST_MEANING = 0.45
MOST_WORDS = 8
BY_VALUE = 0.75
"""A phrase that is one of the column's values."""


OPENING = frozenset("\"'`\u201c\u2018")
CLOSING = frozenset("\"'`\u201d\u2019")


@dataclass(frozen=True, slots=True)
class _Column:
    table: str
    name: Name


def _names(columns: Sequence[str]) -> list[Name]:
    """Where two differ in their units alone, the units tell them apart."""
    names = [Name.of(one).with_bare() for one in columns]
    called = Counter(one.bare.squeezed for one in names if one.bare is not None)
    return [
        replace(one, bare=None) if one.bare and called[one.bare.squeezed] > 1 else one
        for one in names
    ]


class Resolver:
    """Over the tables at hand. Keeps what it has worked out about them."""

    def __init__(self, tables: Sequence[AskedTable], *, embed: Embed | None = None) -> None:
        self.tables = tuple(tables)
        self._embed = embed
        self._columns = [
            _Column(one.table.id, name)
            for one in self.tables
            for name in _names([column.name for column in one.table.columns])
        ]
        self._by_squeezed: dict[str, list[_Column]] = {}
        for column in self._columns:
            for name in (column.name, column.name.bare):
                if name is not None:
                    self._by_squeezed.setdefault(name.squeezed, []).append(column)
        profiles = [column for one in self.tables for column in one.profile.columns]
        self._meaning = Meaning(profiles, embed) if embed and profiles else None
        self._values: Values | None = None
        self._alone: dict[str, Resolver] = {}

    def only(self, table: AskedTable) -> Resolver:
        """Of one of the tables alone."""
        if table.table.id not in self._alone:
            self._alone[table.table.id] = Resolver([table], embed=self._embed)
        return self._alone[table.table.id]

    def column(self, phrase: str) -> list[Resolved]:
        """Columns that a phrase may mean, best first."""
        asked = Name.of(phrase)
        found = {(one.table, one.name.text): likeness(asked, one.name) for one in self._columns}
        self._add_by_value(phrase, found)
        if max((score for score, _ in found.values()), default=0) < SURE:
            self._add_by_meaning(phrase, found)
        return sorted(
            (
                Resolved(phrase, table, column, round(score, 3), how)
                for (table, column), (score, how) in found.items()
                if score >= (LEAST_MEANING if how == "meaning" else LEAST_SCORE)
            ),
            key=lambda one: -one.score,
        )

    def mentions(self, question: str) -> list[Mention]:
        """Columns named in a text, in its order, without overlap."""
        found = _Found(question)
        for column in sorted(self._columns, key=lambda one: -len(one.name.text)):
            found.add_literal(column)
        likely = [
            self._likeliest(found, found.words[at : at + size])
            for size in range(1, min(MOST_WORDS, len(found.words)) + 1)
            for at in range(len(found.words) - size + 1)
        ]
        for one in sorted(filter(None, likely), key=lambda one: (-one.resolved.score, -one.end)):
            found.add(one)
        return sorted(found.mentions, key=lambda one: one.start)

    def values(self, question: str) -> list[ValueMention]:
        """Cell values named in a text, in its order; several columns may hold the same value."""
        if self._values is None:
            self._values = Values(self.tables)
        return self._values.named_in(question)

    def _add_by_value(
        self, phrase: str, found: dict[tuple[str, str], tuple[float, ResolvedHow]]
    ) -> None:
        for one in self.values(phrase):
            whole = one.end - one.start >= len(phrase.strip())
            if whole and found[one.table, one.column][0] < BY_VALUE:
                found[one.table, one.column] = (BY_VALUE, "value")

    def _add_by_meaning(
        self, phrase: str, found: dict[tuple[str, str], tuple[float, ResolvedHow]]
    ) -> None:
        if self._meaning is None:
            return
        keys = [
            (one.table.id, column.name) for one in self.tables for column in one.profile.columns
        ]
        for key, score in zip(keys, self._meaning.scores(phrase), strict=True):
            if key in found and score > found[key][0]:
                found[key] = (score, "meaning")

    def _likeliest(self, found: _Found, words: list[Atom]) -> Mention | None:
        start, end = words[0].start, words[-1].end
        edges = {words[0].text, words[-1].text}
        if edges & STOP_WORDS or not found.free(start, end):
            return None
        asked = found.text[start:end]
        if BREAK.search(asked):
            return None
        phrase = Name.of(asked)
        best, chosen = 0.0, None
        for one in self._by_squeezed.get(phrase.squeezed) or self._columns:
            score, how = likeness(phrase, one.name, whole=True)
            if score > best and one.name.text.casefold() not in STOP_WORDS:
                best, chosen = score, Resolved(asked, one.table, one.name.text, score, how)
        return Mention(start, end, chosen) if chosen and best >= LEAST_MENTION else None


class _Found:
    """The mentions of a text as they are found: none over another."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = atoms(text)
        self.mentions: list[Mention] = []
        self._taken = [False] * len(text)

    def free(self, start: int, end: int) -> bool:
        return not any(self._taken[start:end])

    def add(self, one: Mention) -> None:
        if self.free(one.start, one.end):
            self._taken[one.start : one.end] = [True] * (one.end - one.start)
            self.mentions.append(one)

    def add_literal(self, column: _Column) -> None:
        """The name just as the table has it; a common word or a single letter only in quotes."""
        name = column.name.text
        common = name in STOP_WORDS or len(name) == 1
        for one in re.finditer(re.escape(name), self.text) if name.strip() else ():
            start, end = one.span()
            if self._stands_alone(start, end) and (not common or self.quoted(start, end)):
                resolved = Resolved(name, column.table, name, 1.0, "exact")
                self.add(Mention(start, end, resolved))

    def quoted(self, start: int, end: int) -> bool:
        before, after = self.text[max(0, start - 1) : start], self.text[end : end + 1]
        return before in OPENING and after in CLOSING

    def _stands_alone(self, start: int, end: int) -> bool:
        before, after = self.text[max(0, start - 1) : start], self.text[end : end + 1]
        return not (before.isalnum() and self.text[start].isalnum()) and not (
            after.isalnum() and self.text[end - 1].isalnum()
        )


# How far a phrase names a column, by its letters and words alone.

CASE, STEMS, SHORT, PARTS, LETTERS = 0.98, 0.93, 0.85, 0.9, 0.9
"""What a likeness is worth: up to case and signs, up to endings, an abbreviation, words shared,
letters shared."""
NEARLY = 0.8
GENERIC = frozenset({"pct", "num", "total", "avg", "amt", "value", "rate", "level", "column"})
FEWEST_LETTERS = 0.8
"""Of the letters must agree, in their order, before a name counts as misspelt."""
SHORTEST_PREFIX = 3
LEAST_LEFT = 2
UNIT = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\])\s*$")
"""`Price (USD)`, `Weight [kg]`: a unit is no part of what a column is called."""
WITHOUT_UNIT = 0.99
"""What leaving it out keeps of a likeness: a column of just that name comes first."""


@dataclass(frozen=True, slots=True)
class Name:
    """A column's name, taken apart once."""

    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]
    squeezed: str
    bare: Name | None = None
    """Without its unit, where it has one."""

    @classmethod
    def of(cls, text: str) -> Name:
        words = [atom.text for atom in atoms(text)]
        return cls(text, tuple(words), tuple(content(words) or words), squeezed(text))

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
    parts = 0.0 if whole else _parts(phrase, column)
    found = (_abbreviated(phrase, column), _but_for_generic(phrase, column), parts)
    return max(*found, _letters(phrase, column)), "fuzzy"


def _but_for_generic(phrase: Name, column: Name) -> float:
    """`discount` for `discount_pct`: words such as these tell no columns apart."""
    left = [one for one in column.stems if one not in GENERIC]
    return NEARLY if left and left != list(column.stems) and left == list(phrase.stems) else 0.0


def is_short_for(short: str, long: str) -> bool:
    """`temp` for `temperature`."""
    return (
        len(short) >= SHORTEST_PREFIX
        and len(long) >= len(short) + LEAST_LEFT
        and long.startswith(short)
    )


def same_word(one: str, other: str) -> bool:
    return one == other or is_short_for(one, other) or is_short_for(other, one)


def _abbreviated(phrase: Name, column: Name) -> float:
    """Each word short for the other's, initials, or an initial and the last word (`pclass`)."""
    if len(phrase.stems) == len(column.stems) and all(
        same_word(one, other) for one, other in zip(phrase.stems, column.stems, strict=True)
    ):
        return SHORT
    words = phrase.stems
    if len(words) > 1:
        initials = "".join(word[0] for word in words)
        if initials == column.squeezed and len(initials) >= SHORTEST_PREFIX:
            return SHORT
        if initials[:-1] + words[-1] == column.squeezed:
            return SHORT
    return 0.0


def _parts(phrase: Name, column: Name) -> float:
    """By the words that both have: all of one of them must be among the other's."""
    if not phrase.stems or not column.stems:
        return 0.0
    in_column = sum(any(same_word(a, b) for b in phrase.stems) for a in column.stems)
    in_phrase = sum(any(same_word(a, b) for b in column.stems) for a in phrase.stems)
    shares = in_column / len(column.stems), in_phrase / len(phrase.stems)
    return PARTS * (0.6 * max(shares) + 0.4 * min(shares)) * min(1.0, sum(shares))


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

VALUES_MOST_WORDS = 12
LONGEST_VALUE = 120
"""Longer cells are texts, not names."""
AS_WRITTEN, UP_TO_ENDINGS = 1.0, 0.9
Place = tuple[str, str, str]
"""Table, column and value."""


class Values:
    """Which columns hold a value, by its words."""

    def __init__(self, tables: Sequence[AskedTable]) -> None:
        self._exact: dict[tuple[str, ...], list[Place]] = {}
        self._stemmed: dict[tuple[str, ...], list[Place]] = {}
        for table in tables:
            for column in table.table.columns:
                if column.type == "text":
                    self._add(table, column.name)

    def _add(self, table: AskedTable, column: str) -> None:
        for value in list(table.values(column))[:MOST_VALUES]:
            words = tuple(atom.text for atom in atoms(value)) if len(value) <= LONGEST_VALUE else ()
            if words and len(words) <= VALUES_MOST_WORDS:
                place = (table.table.id, column, value)
                self._exact.setdefault(words, []).append(place)
                self._stemmed.setdefault(tuple(map(stem, words)), []).append(place)

    def named_in(self, text: str) -> list[ValueMention]:
        """Longest first; the same words may be values of several columns."""
        found: list[ValueMention] = []
        words = atoms(text)
        taken = [False] * len(words)
        for size in range(min(VALUES_MOST_WORDS, len(words)), 0, -1):
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
        if exact:
            return [ValueMention(start, end, *one, AS_WRITTEN) for one in exact]
        near = self._stemmed.get(tuple(stem(one.text) for one in words), [])
        return [ValueMention(start, end, *one, UP_TO_ENDINGS) for one in near]


def _could_be_a_name(text: str, start: int, end: int, exact: list[Place]) -> bool:
    """One small word is a value only in quotes or spelt just as the cell is."""
    written = text[start:end]
    if text[start - 1 : start] in {'"', "'", "“"} and text[end : end + 1] in {'"', "'", "”"}:
        return True
    if written.casefold() in STOP_WORDS:
        return is_in_capitals(text, written) and any(value == written for *_, value in exact)
    return len(written) > 1 or any(value == written for *_, value in exact)


def is_in_capitals(text: str, written: str) -> bool:
    """`IT` is a department where the rest of the question is not in capitals."""
    return len(written) > 1 and written.isupper() and not text.isupper()


# Columns by meaning: vectors of their names and of their most frequent values.

NOTHING_IN_COMMON = 0.76
"""Cosine of texts that have nothing to do with each other, for the embedder that is shipped
(measured once, over pairs of unrelated column names)."""
SURE = 0.9
"""What the same meaning is worth at most: less than the same letters."""
MOST_TOP = 5


class Meaning:
    """Vectors of the columns, made once."""

    def __init__(self, columns: list[ColumnProfile], embed: Embed) -> None:
        self._embed = embed
        self._columns = columns
        self._vectors: list[list[float]] | None = None

    def scores(self, phrase: str) -> list[float]:
        """0 to `SURE` per column, in their order."""
        if self._vectors is None:
            self._vectors = self._embed([described(one) for one in self._columns])
        (vector,) = self._embed([phrase])
        return [_score(vector, other) for other in self._vectors]


def described(column: ColumnProfile) -> str:
    top = ", ".join(one.value for one in column.top[:MOST_TOP])
    name = column.name.replace("_", " ")
    return f"{name}: {top}" if top and column.type == "text" else name


def _score(one: list[float], other: list[float]) -> float:
    cosine = sum(a * b for a, b in zip(one, other, strict=True))
    return SURE * min(1.0, max(0.0, (cosine - NOTHING_IN_COMMON) / (1 - NOTHING_IN_COMMON)))


# The words of names and questions: atoms with their places, stems, words that mean the same.

ATOM = re.compile(r"[^\W\d_]+|\d+")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
BREAK = re.compile(r"[\"“”;:!?()\n]|[.,]\s")
"""What no name is written across."""

_STOP = """a an the of in on at by for from to with without within into and or nor not no but if
then than that this these those there their its his her our your my it he she they we you i is are
was were be been being am do does did done has have had having can could will would shall should
may might must what which who whom whose when where why how each every all any some per as so such
also only just about over under between among out up down off until while during before after above
below again further here both few more most other same own too very s t please me us them him"""
STOP_WORDS = frozenset(_STOP.split())
_SAME: tuple[tuple[str, ...], ...] = (
    ("avg", "average", "mean"),
    ("num", "number", "count", "no", "nr"),
    ("max", "maximum", "highest"),
    ("min", "minimum", "lowest"),
    ("std", "sd", "stdev", "deviation"),
    ("pct", "percent", "percentage", "perc"),
    ("qty", "quantity"),
    ("amt", "amount"),
    ("yr", "year"),
    ("mo", "month"),
    ("hr", "hour"),
    ("dept", "department"),
    ("lat", "latitude"),
    ("lon", "lng", "longitude"),
    ("tel", "telephone", "phone"),
    ("addr", "address"),
    ("dob", "birthdate"),
    ("sex", "gender"),
    ("len", "length"),
    ("wt", "weight"),
    ("ht", "height"),
    ("vol", "volume"),
    ("diff", "difference"),
    ("sib", "sibling"),
    ("kid", "child"),
    ("salary", "wage"),
    ("revenue", "sale"),
    ("client", "customer"),
    ("item", "product"),
    ("nation", "country"),
)
MEANS = {word: group[0] for group in _SAME for word in group}
IRREGULAR = {"children": "child", "people": "person", "men": "man", "women": "woman"}
SHORTEST_STEM = 4


@dataclass(frozen=True, slots=True)
class Atom:
    start: int
    end: int
    text: str
    """In small letters."""


def atoms(text: str) -> list[Atom]:
    """Runs of letters or of digits, camel case taken apart."""
    found = []
    for run in ATOM.finditer(text):
        cuts = [0, *(one.start() for one in CAMEL.finditer(run[0])), len(run[0])]
        for low, high in pairwise(cuts):
            piece = run[0][low:high]
            found.append(Atom(run.start() + low, run.start() + high, piece.casefold()))
    return found


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Without the endings of English plurals and verbs; words that mean the same made one."""
    word = IRREGULAR.get(word, word)
    if word in MEANS:
        return MEANS[word]
    for ending, put in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return _known(word[: -len(ending)] + put)
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) >= SHORTEST_STEM:
        return _known(word[:-1])
    return _verb(word)


def _known(word: str) -> str:
    return MEANS.get(word, word)


def _verb(word: str) -> str:
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            root = word[: -len(ending)]
            return root[:-1] if root[-1] == root[-2] and root[-1] not in "ls" else root
    return word


def content(words: list[str]) -> list[str]:
    """Stems of the words that carry meaning."""
    return [stem(word) for word in words if word not in STOP_WORDS]


def squeezed(text: str) -> str:
    return "".join(atom.text for atom in atoms(text))
