"""The profile as a model reads it: short, the same for the same tables, what matters first.

Names and cells are other people's text. A name is written as a Python literal, which is one line
and exact, whatever is in it; a value is cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.tables.profiling.column_text import column_line, shown_name
from secondlook.tables.profiling.relevance import ranked
from secondlook.tables.profiling.wording import percent, single_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from secondlook.tables.table import Join, Table, TableProfile

CHARACTERS_PER_TOKEN = 3
"""Names and numbers are made of short tokens; prose has four characters in one."""
SHARE_OF_LINES = 0.75
"""Of the budget, where not every column gets its line: the rest is for the names of others."""
LONGEST_TITLE = 60
MOST_WARNINGS = 3
MOST_JOINS = 6


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is told."""

    lines: int
    """Of the columns, so many in a line of their own, the most relevant ones."""
    names: int
    """Of the others, so many by name."""
    tables: int
    joins: int = MOST_JOINS
    warnings: int = MOST_WARNINGS


@dataclass(frozen=True, slots=True)
class _Telling:
    tables: tuple[tuple[Table, TableProfile], ...]
    order: tuple[tuple[int, int], ...]
    """Every column as table and place, the most relevant first."""
    joins: tuple[Join, ...]

    def tell(self, extent: Extent) -> str:
        told, named = self._chosen(extent)
        parts = [
            "\n".join(self._table(at, told[at], named[at], extent))
            for at in range(min(extent.tables, len(self.tables)))
        ]
        more = len(self.tables) - extent.tables
        parts += [f"... and {more:,} more tables"] if more > 0 else []
        joins = self._joins(extent)
        return "\n\n".join([*parts, "\n".join(joins)] if joins else parts)

    def _chosen(self, extent: Extent) -> tuple[list[list[int]], list[list[int]]]:
        told: list[list[int]] = [[] for _ in self.tables]
        named: list[list[int]] = [[] for _ in self.tables]
        for rank, (at, place) in enumerate(self.order):
            if rank < extent.lines:
                told[at].append(place)
            elif rank < extent.lines + extent.names:
                named[at].append(place)
        return told, named

    def _table(self, at: int, told: list[int], named: list[int], extent: Extent) -> list[str]:
        table, profile = self.tables[at]
        lines = [self._heading(table, profile)]
        lines += [column_line(table, profile, place) for place in told]
        if named:
            listed = ", ".join(shown_name(table, profile, place) for place in sorted(named))
            lines.append(f"Further columns: {listed}")
        more = len(profile.columns) - len(told) - len(named)
        if more:
            lines.append(f"... and {more:,} more column{'s' if more > 1 else ''}")
        lines += [f"Note: {single_line(one, 200)}" for one in profile.warnings[: extent.warnings]]
        return lines

    def _heading(self, table: Table, profile: TableProfile) -> str:
        columns = f"{len(profile.columns):,} column{'s' if len(profile.columns) != 1 else ''}"
        rows = f"{profile.rows:,} row{'s' if profile.rows != 1 else ''}"
        known = f'tables["{table.name}"]' + (" = df" if len(self.tables) == 1 else "")
        return f"Table {known}: {rows}, {columns} ({single_line(table.title, LONGEST_TITLE)})"

    def _joins(self, extent: Extent) -> list[str]:
        shown = {table.id: (table, profile) for table, profile in self.tables[: extent.tables]}
        known = [join for join in self.joins if join.left in shown and join.right in shown]
        return [
            f"Join: {_joined(*shown[join.left], join.left_column)} = "
            f"{_joined(*shown[join.right], join.right_column)} "
            f"({percent(join.overlap)} of the values match)"
            for join in known[: extent.joins]
        ]


def _joined(table: Table, profile: TableProfile, column: str) -> str:
    names = [each.name for each in table.columns]
    shown = shown_name(table, profile, names.index(column)) if column in names else repr(column)
    return f"{table.name}[{shown}]"


def profile_text(
    tables: Sequence[tuple[Table, TableProfile]],
    *,
    question: str,
    budget: int,
    relevant: Collection[tuple[str, str]] = (),
    count: Callable[[str], int] | None = None,
    joins: Sequence[Join] = (),
) -> str:
    """Within `budget` tokens, as `count` counts them. `relevant` are tables (by id or name) with
    columns that come first; then those that share words with the question."""
    order = ranked(tables, question=question, relevant=relevant)
    telling = _Telling(tuple(tables), tuple(order), tuple(joins))
    tokens = count or estimated_tokens

    def fits(extent: Extent, limit: float = budget) -> bool:
        return tokens(telling.tell(extent)) <= limit

    everything = Extent(len(order), 0, len(tables))
    if fits(everything):
        return telling.tell(everything)
    return _fitted(telling, fits, budget)


def _fitted(telling: _Telling, fits: Callable[..., bool], budget: int) -> str:
    tables = len(telling.tables)
    for bare in (Extent(0, 0, tables), Extent(0, 0, tables, joins=0, warnings=0)):
        if fits(bare):
            return telling.tell(_filled(bare, len(telling.order), fits, budget))
    shown = _most(tables, lambda some: fits(Extent(0, 0, some, joins=0, warnings=0)))
    return telling.tell(Extent(0, 0, shown, joins=0, warnings=0)) if shown else ""


def _filled(bare: Extent, columns: int, fits: Callable[..., bool], budget: int) -> Extent:
    lines = _most(columns, lambda some: fits(_with(bare, some), budget * SHARE_OF_LINES))
    names = _most(columns - lines, lambda some: fits(_with(bare, lines, some)))
    # Where every name fitted there may be room for more lines in their stead.
    more = _most(names, lambda some: fits(_with(bare, lines + some, names - some)))
    return _with(bare, lines + more, names - more)


def _with(extent: Extent, lines: int, names: int = 0) -> Extent:
    return replace(extent, lines=lines, names=names)


def _most(limit: int, holds: Callable[[int], bool]) -> int:
    """The greatest number up to `limit` for which it holds, where it holds up to some number."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def estimated_tokens(text: str) -> int:
    """More than a tokenizer would count, for most: every character beyond ASCII counts as one."""
    plain = sum(map(str.isascii, text))
    return math.ceil(plain / CHARACTERS_PER_TOKEN) + len(text) - plain
