"""Cell values that a question names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.tables.resolving.port import MOST_VALUES, ValueMention
from secondlook.tables.resolving.words import STOP_WORDS, Atom, atoms, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.resolving.port import AskedTable

MOST_WORDS = 12
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
            if words and len(words) <= MOST_WORDS:
                place = (table.table.id, column, value)
                self._exact.setdefault(words, []).append(place)
                self._stemmed.setdefault(tuple(map(stem, words)), []).append(place)

    def named_in(self, text: str) -> list[ValueMention]:
        """Longest first; the same words may be values of several columns."""
        found: list[ValueMention] = []
        words = atoms(text)
        taken = [False] * len(words)
        for size in range(min(MOST_WORDS, len(words)), 0, -1):
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
