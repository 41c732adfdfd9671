"""One column in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.tables.profiling.quality import ALL_MISSING, CONSTANT, missing_share
from secondlook.tables.profiling.wording import LONGEST_VALUE, cut, percent, quoted, single_line
from secondlook.tables.table import NUMERIC, TEMPORAL

if TYPE_CHECKING:
    from secondlook.answer import Scalar
    from secondlook.tables.table import ColumnProfile, Table, TableProfile

LONGEST_NAME = 80
LONGEST_WARNING = 120
SHOWN_VALUES = 5
SHOWN_EXAMPLES = 3
MOST_WARNINGS = 2
LARGEST_WHOLE = 10_000_000
DIGITS = 4
FEW_NUMBERS = 5
"""Numbers with so few values are codes: each is told."""


def column_line(table: Table, profile: TableProfile, place: int) -> str:
    column = profile.columns[place]
    told = [pandas_type(column), *_unit(column), *_values(column), *_gaps(column)]
    new = [one for one in column.warnings if one not in told and one != CONSTANT]
    warnings = [single_line(one, LONGEST_WARNING) for one in new]
    warned = f" (careful: {'; '.join(warnings[:MOST_WARNINGS])})" if warnings else ""
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
