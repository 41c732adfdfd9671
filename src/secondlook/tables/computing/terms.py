"""Columns, arithmetic on them and groups as SQL. Names are quoted, values are parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.errors import TableError
from secondlook.tables.computing.transforms import plain_number, transformed
from secondlook.tables.table import NUMERIC, TEMPORAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.answer import Scalar
    from secondlook.tables.query import Key, PartOfDate, Term
    from secondlook.tables.table import ColumnType


@dataclass(frozen=True, slots=True)
class Writing:
    """A statement as it is being written: the columns it may name, the values it was given."""

    types: Mapping[str, ColumnType]
    values: list[Scalar] = field(default_factory=list)

    def value(self, value: Scalar) -> str:
        self.values.append(value)
        return f"${len(self.values)}"

    def column(self, name: str) -> str:
        if name not in self.types:
            known = ", ".join(repr(one) for one in list(self.types)[:20])
            raise TableError(f"The table has no column {name!r}.", hint=f"It has {known}.")
        return quoted(name)

    def shown(self, statement: str) -> str:
        """With the values written out, for people."""
        return re.sub(r"\$(\d+)", lambda one: literal(self.values[int(one[1]) - 1]), statement)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: Scalar) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper() if isinstance(value, bool) else repr(value)


def number(writing: Writing, name: str) -> str:
    """A column as numbers: a text that is no number counts as missing, truth as 1 or 0."""
    column, kind = writing.column(name), writing.types[name]
    if kind in NUMERIC:
        return column
    if kind == "boolean":
        return f"CAST({column} AS INTEGER)"
    if kind == "time":
        return f"epoch({column})"
    if kind in TEMPORAL:
        return f"(epoch(CAST({column} AS TIMESTAMP)) / 86400.0)"
    return plain_number(column)


def term(writing: Writing, of: Term, *, numeric: bool) -> str:
    """`numeric`: the statistic needs numbers, and texts must become some."""
    first = _filled(writing, of, numeric=numeric or of.operator is not None)
    steps = list(of.rest)
    if of.operator is not None and of.other is not None:
        steps.insert(0, (of.operator, of.other))
    for operator, other in steps:
        second = number(writing, other) if isinstance(other, str) else writing.value(other)
        first = _arithmetic(first, operator, second)
    return first


def _arithmetic(first: str, operator: str, second: str) -> str:
    if operator == "/":
        return f"({first} / nullif(CAST({second} AS DOUBLE), 0))"
    return f"({first} {operator} {second})"


def _filled(writing: Writing, of: Term, *, numeric: bool) -> str:
    column, kind = writing.column(of.column), writing.types[of.column]
    if of.fill is None and of.transform is not None:
        return transformed(column, kind, of.transform)
    if of.fill is None:
        return number(writing, of.column) if numeric else column
    filled = number(writing, of.column)
    filled = f"coalesce({filled}, {_filling(of.fill, filled)})"
    return transformed(f"({filled})", "number", of.transform) if of.transform else filled


def _filling(fill: str, expression: str) -> str:
    return {
        "mean": f"avg({expression}) OVER ()",
        "median": f"median({expression}) OVER ()",
        "zero": "0",
    }[fill]


def part_of_date(column: str, part: PartOfDate, kind: ColumnType) -> str:
    """Weekdays count from 1, Monday, to 7."""
    if kind in NUMERIC and part == "year":
        return column
    name = "isodow" if part == "weekday" else part
    moment = column if kind in {*TEMPORAL, "time"} else f"TRY_CAST({column} AS TIMESTAMP)"
    return f"date_part('{name}', {moment})"


def key(writing: Writing, of: Key) -> str:
    column = writing.column(of.column)
    if of.part is not None:
        return part_of_date(column, of.part, writing.types[of.column])
    if of.bins:
        return _interval(writing, of)
    return column


def _interval(writing: Writing, of: Key) -> str:
    value, arms = number(writing, of.column), []
    above, below = (">", "<=") if of.right else (">=", "<")
    for at, (low, high) in enumerate(zip(of.bins, of.bins[1:], strict=False)):
        label = of.labels[at] if at < len(of.labels) else interval_name(low, high, right=of.right)
        bounds = [f"{value} {above} {writing.value(low)}" if low != float("-inf") else "TRUE"]
        bounds.append(f"{value} {below} {writing.value(high)}" if high != float("inf") else "TRUE")
        arms.append(f"WHEN {' AND '.join(bounds)} THEN {writing.value(label)}")
    return f"CASE WHEN {value} IS NULL THEN NULL {' '.join(arms)} END"


def interval_name(low: float, high: float, *, right: bool) -> str:
    opening, closing = ("(", "]") if right else ("[", ")")
    return f"{opening}{low:g}, {high:g}{closing}"
