"""A table as questions about its rows see it: facts of its columns, and where words stand."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from secondlook.tables.asking.rows_columns import ColumnFacts, facts_of, stems

if TYPE_CHECKING:
    from secondlook.tables.resolving.port import AskedTable

LONGEST_TOTAL = 4
SUMMING_COLUMNS = 3
"""A row of sums says so in one of the first columns."""
MOST_CELLS = 20_000
"""Different texts of a table that are looked at, over all of its columns."""
_SUMS = frozenset({"career", "all", "overall", "average", "sum"})
_ABOUT = frozenset({"name", "player", "title", "team", "nation", "country", "driver"})
_SIDE = frozenset({"rank", "position", "number", "note", "result", "date", "year", "score"})


@dataclass(frozen=True)
class TableIndex:
    asked: AskedTable
    columns: tuple[ColumnFacts, ...]
    cells: dict[str, tuple[tuple[str, tuple[str, ...]], ...]]
    """Per column its texts and their stems."""
    whole: dict[tuple[str, ...], list[tuple[int, str]]] = field(repr=False)
    """Stems of a text to columns and texts."""
    postings: dict[str, set[tuple[int, int]]] = field(repr=False)
    """A stem to columns and places of texts."""

    def column(self, name: str) -> ColumnFacts:
        return next(one for one in self.columns if one.name == name)

    @cached_property
    def totals(self) -> tuple[tuple[str, str], ...]:
        """Cells that mark a row as the sum of others: their column and value."""
        return tuple(
            (column.name, value)
            for column in self.columns[:SUMMING_COLUMNS]
            for value, words in self.cells[column.name]
            if _sums(words)
        )

    @cached_property
    def subject(self) -> ColumnFacts:
        """The column that says what a row is about."""
        return max(self.columns, key=_subjectness)


def _subjectness(column: ColumnFacts) -> float:
    score = 2.0 * (column.kind == "text") + column.wordy + column.distinct - column.missing
    score -= 0.15 * column.place
    words = set(column.words)
    return score - bool(words & _SIDE) + 0.6 * bool(words & _ABOUT)


def _sums(words: tuple[str, ...]) -> bool:
    if not words or len(words) >= LONGEST_TOTAL:
        return False
    alone = len(words) == 1 and words[0] in _SUMS
    return alone or words[0] in {"total", "subtotal"} or words[-1] == "total"


def index(asked: AskedTable) -> TableIndex:
    """Of one table; a column of numbers is known by its profile alone."""
    texts = [column.name for column in asked.table.columns if column.type == "text"]
    most = MOST_CELLS // max(1, len(texts))
    values = {name: list(asked.values(name))[:most] for name in texts}
    facts = [
        facts_of(asked, place, values.get(column.name, []))
        for place, column in enumerate(asked.table.columns)
    ]
    cells = {
        one.name: tuple((value, stems(value)) for value in values.get(one.name, []))
        for one in facts
    }
    return TableIndex(asked, tuple(facts), cells, *_places(facts, cells))


def _places(
    facts: list[ColumnFacts], cells: dict[str, tuple[tuple[str, tuple[str, ...]], ...]]
) -> tuple[dict[tuple[str, ...], list[tuple[int, str]]], dict[str, set[tuple[int, int]]]]:
    whole: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
    postings: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for place, fact in enumerate(facts):
        for at, (value, words) in enumerate(cells[fact.name]):
            if words:
                whole[words].append((place, value))
            for word in set(words):
                postings[word].add((place, at))
    return dict(whole), dict(postings)
