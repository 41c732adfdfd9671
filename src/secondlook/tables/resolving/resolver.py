"""Words of a question to columns and values."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.tables.resolving.likeness import Name, likeness
from secondlook.tables.resolving.meaning import SURE, Meaning
from secondlook.tables.resolving.port import Mention, Resolved
from secondlook.tables.resolving.values import Values
from secondlook.tables.resolving.words import BREAK, STOP_WORDS, Atom, atoms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import ResolvedHow
    from secondlook.tables.resolving.port import AskedTable, Embed, ValueMention

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
