"""The profile as a model reads it: short, the same for the same tables, what matters first. Names
and cells are other people's text. A name is written as a Python literal, which is one line and
exact, whatever is in it; a value is cut."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.tables.profile import (
    ALL_MISSING,
    CONSTANT,
    LONGEST_VALUE,
    cut,
    missing_share,
    percent,
    quoted,
    single_line,
)
from secondlook.tables.table import NUMERIC, TEMPORAL, ColumnProfile, Join, Table, TableProfile
from secondlook.tables.words import STOP_WORDS, atoms, singular

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import Scalar

CHARACTERS_PER_TOKEN = 3
"""Names and numbers are made of short tokens; prose has four characters in one."""
SHARE_OF_LINES = 0.75
"""Of the budget, where not every column gets its line: the rest is for the names of others."""
LONGEST_TITLE = 60
MOST_WARNINGS = 3
MOST_JOINS = 6


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is told: so many columns in a line of their own, the most relevant ones, so many
    others by name, of so many tables."""

    lines: int
    names: int
    tables: int
    joins: int = MOST_JOINS
    warnings: int = MOST_WARNINGS


@dataclass(frozen=True, slots=True)
class _Telling:
    tables: tuple[tuple[Table, TableProfile], ...]
    order: tuple[tuple[int, int], ...]  # Every column as table and place, the most relevant first
    joins: tuple[Join, ...]

    def tell(self, extent: Extent) -> str:
        lines: list[list[int]] = [[] for _ in self.tables]
        named: list[list[int]] = [[] for _ in self.tables]
        for rank, (at, place) in enumerate(self.order[: extent.lines + extent.names]):
            (lines if rank < extent.lines else named)[at].append(place)
        parts = [
            "\n".join(self._table(at, lines[at], named[at], extent))
            for at in range(min(extent.tables, len(self.tables)))
        ]
        more = len(self.tables) - extent.tables
        parts += [f"... and {more:,} more tables"] if more > 0 else []
        joins = self._joins(extent)
        return "\n\n".join([*parts, "\n".join(joins)] if joins else parts)

    def _table(self, at: int, told: list[int], named: list[int], extent: Extent) -> list[str]:
        table, profile = self.tables[at]
        columns = f"{len(profile.columns):,} column{'s' if len(profile.columns) != 1 else ''}"
        rows = f"{profile.rows:,} row{'s' if profile.rows != 1 else ''}"
        known = f'tables["{table.name}"]' + (" = df" if len(self.tables) == 1 else "")
        title = single_line(table.title, LONGEST_TITLE)
        lines = [f"Table {known}: {rows}, {columns} ({title})"]
        lines += [column_line(table, profile, place) for place in told]
        if named:
            listed = ", ".join(shown_name(table, profile, place) for place in sorted(named))
            lines.append(f"Further columns: {listed}")
        more = len(profile.columns) - len(told) - len(named)
        if more:
            lines.append(f"... and {more:,} more column{'s' if more > 1 else ''}")
        lines += [f"Note: {single_line(one, 200)}" for one in profile.warnings[: extent.warnings]]
        return lines

    def _joins(self, extent: Extent) -> list[str]:
        shown = {table.id: (table, profile) for table, profile in self.tables[: extent.tables]}
        known = [join for join in self.joins if join.left in shown and join.right in shown]

        def side(id_: str, column: str) -> str:
            table, profile = shown[id_]
            names = [each.name for each in table.columns]
            known = column in names
            name = shown_name(table, profile, names.index(column)) if known else repr(column)
            return f"{table.name}[{name}]"

        return [
            f"Join: {side(join.left, join.left_column)} = {side(join.right, join.right_column)} "
            f"({percent(join.overlap)} of the values match)"
            for join in known[: extent.joins]
        ]


def profile_text(
    tables: Sequence[tuple[Table, TableProfile]],
    *,
    question: str,
    budget: int,
    joins: Sequence[Join] = (),
) -> str:
    """Within `budget` tokens; columns that share words with the question come first."""
    order = ranked(tables, question)
    telling = _Telling(tuple(tables), tuple(order), tuple(joins))

    def fits(extent: Extent, limit: float = budget) -> bool:
        return estimated_tokens(telling.tell(extent)) <= limit

    def with_columns(extent: Extent) -> Extent:
        def grown(lines: int, names: int = 0) -> Extent:
            return replace(extent, lines=lines, names=names)

        columns = len(order)
        lines = _most(columns, lambda some: fits(grown(some), budget * SHARE_OF_LINES))
        names = _most(columns - lines, lambda some: fits(grown(lines, some)))
        # Where every name fitted there may be room for more lines in their stead.
        more = _most(names, lambda some: fits(grown(lines + some, names - some)))
        return grown(lines + more, names - more)

    everything = Extent(len(order), 0, len(tables))
    if fits(everything):
        # Whatever is asked, it is told in the same order: a provider can cache it.
        return replace(telling, order=tuple(ranked(tables, ""))).tell(everything)
    least = Extent(0, 0, len(tables), joins=0, warnings=0)
    for bare in (Extent(0, 0, len(tables)), least):
        if fits(bare):
            return telling.tell(with_columns(bare))
    shown = _most(len(tables), lambda some: fits(replace(least, tables=some)))
    return telling.tell(replace(least, tables=shown)) if shown else ""


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
COLUMN_WARNINGS = 2
LARGEST_WHOLE = 10_000_000
DIGITS = 4
FEW_NUMBERS = 5  # Numbers with so few values are codes: each is told


def column_line(table: Table, profile: TableProfile, place: int) -> str:
    column = profile.columns[place]
    told = [pandas_type(column), *_values(column)]
    if column.missing:
        whole = column.missing == column.rows
        told.append(ALL_MISSING if whole else missing_share(column.missing / column.rows))
    new = [one for one in column.warnings if one not in told and one != CONSTANT]
    warnings = [single_line(one, LONGEST_WARNING) for one in new[:COLUMN_WARNINGS]]
    warned = f" (careful: {'; '.join(warnings)})" if warnings else ""
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


def _values(column: ColumnProfile) -> list[str]:
    if column.missing == column.rows:
        return []
    if column.type == "boolean":
        share = column.mean or 0.0
        return [f"True {percent(share)}, False {percent(1 - share)}"]
    if column.type in NUMERIC and column.top and column.distinct <= FEW_NUMBERS:
        return _texts(column)
    if column.type in NUMERIC or column.type in TEMPORAL:
        told = []
        constant = column.minimum == column.maximum
        if column.minimum is not None:
            low, high = shown_value(column.minimum), shown_value(column.maximum)
            told.append(f"always {low}" if constant else f"{low} to {high}")
        if column.mean is not None and not column.key and not constant:
            told.append(f"mean {number(column.mean)}")
            if column.quantiles:
                told.append(f"median {number(column.quantiles[len(column.quantiles) // 2])}")
        return [*told, "different in every row"] if column.key else told
    if column.distinct == 1 and column.top:
        return [f"always {quoted(column.top[0].value)}"]
    about = "" if column.exact else "about "
    different = f"{about}{column.distinct:,} value{'s' if column.distinct != 1 else ''}"
    return ["different in every row" if column.key else different, *_texts(column)]


def _texts(column: ColumnProfile) -> list[str]:
    if column.top:
        present = max(1, column.rows - column.missing)
        write = str if column.type in NUMERIC else quoted
        shown = column.top[:SHOWN_VALUES]
        return ["; ".join(f"{write(one.value)} {percent(one.count / present)}" for one in shown)]
    if column.examples:
        return [f"such as {', '.join(map(quoted, column.examples[:SHOWN_EXAMPLES]))}"]
    return []


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

SHORTEST_VALUE = 3  # A value of one or two letters is in every question by chance


def ranked(tables: Sequence[tuple[Table, TableProfile]], question: str) -> list[tuple[int, int]]:
    """Every column as table and place: first those that share words with the question in their
    name, then in their values, then keys; in the file's order otherwise."""
    words = {singular(one.text) for one in atoms(question) if one.text not in STOP_WORDS}
    spoken = f" {_plain(question)} "

    def rank(each: tuple[int, int]) -> tuple[float, bool, bool]:
        column = tables[each[0]][1].columns[each[1]]
        mine = {singular(one.text) for one in atoms(column.name)}
        shared = len(mine & words)
        # Share of the name's words that the question has, a little more for longer names.
        score = shared / len(mine) + shared / 100 if shared else 0.0
        values = (_plain(one.value) for one in column.top)
        said = any(len(value) >= SHORTEST_VALUE and f" {value} " in spoken for value in values)
        return (-score, not said, not column.key)

    places = [
        (at, place)
        for at, (_, profile) in enumerate(tables)
        for place in range(len(profile.columns))
    ]
    return sorted(places, key=rank)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
