"""The profile as a model reads it: short, the same for the same tables, what matters first.

Names and cells are other people's text. A name is written as a Python literal, which is one line
and exact, whatever is in it; a value is cut.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.retrieval.terms import STOP_WORDS
from secondlook.tables.joins import (
    LONGEST_VALUE,
    cut,
    name_words,
    percent,
    quoted,
    single_line,
    singular,
)
from secondlook.tables.profile import ALL_MISSING, CONSTANT, missing_share
from secondlook.tables.table import NUMERIC, TEMPORAL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from secondlook.answer import Scalar
    from secondlook.tables.table import ColumnProfile, Join, Table, TableProfile

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


# One column in one line.

LONGEST_NAME = 80
LONGEST_WARNING = 120
SHOWN_VALUES = 5
SHOWN_EXAMPLES = 3
COLUMN_TEXT_MOST_WARNINGS = 2
LARGEST_WHOLE = 10_000_000
DIGITS = 4
FEW_NUMBERS = 5
"""Numbers with so few values are codes: each is told."""


def column_line(table: Table, profile: TableProfile, place: int) -> str:
    column = profile.columns[place]
    told = [pandas_type(column), *_unit(column), *_values(column), *_gaps(column)]
    new = [one for one in column.warnings if one not in told and one != CONSTANT]
    warnings = [single_line(one, LONGEST_WARNING) for one in new]
    warned = f" (careful: {'; '.join(warnings[:COLUMN_TEXT_MOST_WARNINGS])})" if warnings else ""
    return f"- {shown_name(table, profile, place)}: {', '.join(told)}{warned}"


def shown_name(table: Table, profile: TableProfile, place: int) -> str:
    """As code must write it. A name too long to show is reached by its place, and so is one that
    somebody has put something else for."""
    name = profile.columns[place].name
    if place < len(table.columns) and table.columns[place].name != name:
        return single_line(name, LONGEST_NAME)
    if len(name) > LONGEST_NAME:
        return f"df.columns[{place}] ({cut(name, LONGEST_VALUE)!r})"
    return repr(name)


def pandas_type(column: ColumnProfile) -> str:
    """What the frame that the code is given has."""
    if column.type == "integer":
        return "float64" if column.missing else "int64"
    if column.type == "boolean":
        return "object" if column.missing else "bool"
    if column.type in TEMPORAL:
        return "datetime64"
    others = {"number": "float64", "text": "str", "time": "object of datetime.time"}
    return others.get(column.type, "object")


def _unit(column: ColumnProfile) -> list[str]:
    return [" ".join(filter(None, (column.currency, column.unit)))] if _has_unit(column) else []


def _has_unit(column: ColumnProfile) -> bool:
    return bool(column.currency or column.unit)


def _values(column: ColumnProfile) -> list[str]:
    if column.missing == column.rows:
        return []
    if column.type == "boolean":
        share = column.mean or 0.0
        return [f"True {percent(share)}, False {percent(1 - share)}"]
    if column.type in NUMERIC:
        few = column.top and column.distinct <= FEW_NUMBERS
        return _texts(column) if few else [*_range(column), *_middle(column), *_keyness(column)]
    if column.type in TEMPORAL:
        return [*_range(column), *_keyness(column)]
    if column.distinct == 1 and column.top:
        return [f"always {quoted(column.top[0].value)}"]
    return [*_keyness(column), *_texts(column)]


def _range(column: ColumnProfile) -> list[str]:
    if column.minimum is None:
        return []
    if column.minimum == column.maximum:
        return [f"always {shown_value(column.minimum)}"]
    return [f"{shown_value(column.minimum)} to {shown_value(column.maximum)}"]


def _middle(column: ColumnProfile) -> list[str]:
    if column.mean is None or column.key or column.minimum == column.maximum:
        return []
    median = column.quantiles[len(column.quantiles) // 2] if column.quantiles else None
    told = [f"mean {number(column.mean)}"]
    return [*told, f"median {number(median)}"] if median is not None else told


def _keyness(column: ColumnProfile) -> list[str]:
    if column.key:
        return ["different in every row"]
    if column.type in NUMERIC or column.type in TEMPORAL:
        return []
    about = "" if column.exact else "about "
    return [f"{about}{column.distinct:,} value{'s' if column.distinct != 1 else ''}"]


def _texts(column: ColumnProfile) -> list[str]:
    if column.top:
        present = max(1, column.rows - column.missing)
        shown = column.top[:SHOWN_VALUES]
        write = str if column.type in NUMERIC else quoted
        told = [f"{write(one.value)} {percent(one.count / present)}" for one in shown]
        return ["; ".join(told)]
    if column.examples:
        return [f"such as {', '.join(map(quoted, column.examples[:SHOWN_EXAMPLES]))}"]
    return []


def _gaps(column: ColumnProfile) -> list[str]:
    if not column.missing:
        return []
    if column.missing == column.rows:
        return [ALL_MISSING]
    return [missing_share(column.missing / column.rows)]


def shown_value(value: Scalar) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return single_line(str(value), LONGEST_VALUE)
    return number(value)


def number(value: float) -> str:
    """Short, and whole numbers as they are."""
    size = abs(value)
    if size < LARGEST_WHOLE and (float(value).is_integer() or size >= 10**DIGITS):
        return f"{value:.0f}"
    return f"{value:.{DIGITS}g}"


# Which columns a question is about, as far as words tell.

SHORTEST_VALUE = 3
"""A value of one or two letters is in every question by chance."""


def ranked(
    tables: Sequence[tuple[Table, TableProfile]],
    *,
    question: str,
    relevant: Collection[tuple[str, str]] = (),
) -> list[tuple[int, int]]:
    """Every column as table and place: those given, then those that share words with the
    question in their name, then in their values, then keys; in the file's order otherwise."""
    wanted = set(relevant)
    words, spoken = question_words(question), f" {' '.join(_plain(question))} "

    def rank(at: int, place: int) -> tuple[bool, float, bool, bool]:
        table, profile = tables[at]
        column = profile.columns[place]
        given = not wanted.isdisjoint({(table.id, column.name), (table.name, column.name)})
        return (not given, -name_score(column, words), not _said(column, spoken), not column.key)

    places = [
        (at, place)
        for at, (_, profile) in enumerate(tables)
        for place in range(len(profile.columns))
    ]
    return sorted(places, key=lambda each: rank(*each))


def question_words(question: str) -> frozenset[str]:
    return frozenset(map(singular, set(name_words(question)) - STOP_WORDS["english"]))


def name_score(column: ColumnProfile, words: frozenset[str]) -> float:
    """Share of the name's words that the question has, with a little more for longer names."""
    mine = {singular(word) for word in name_words(column.name)}
    shared = len(mine & words)
    return shared / len(mine) + shared / 100 if shared else 0.0


def _said(column: ColumnProfile, spoken: str) -> bool:
    values = (" ".join(_plain(one.value)) for one in column.top)
    return any(len(value) >= SHORTEST_VALUE and f" {value} " in spoken for value in values)


def _plain(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
