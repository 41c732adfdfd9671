"""One column in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.tables.table import NUMERIC, TEMPORAL

if TYPE_CHECKING:
    from secondlook.answer import Scalar
    from secondlook.tables.table import ColumnProfile, Table, TableProfile

LONGEST_VALUE = 40
LONGEST_NAME = 80
LONGEST_WARNING = 120
SHOWN_VALUES = 5
SHOWN_EXAMPLES = 3
MOST_WARNINGS = 2
LARGEST_WHOLE = 10_000_000
DIGITS = 4


def column_line(table: Table, profile: TableProfile, place: int) -> str:
    column = profile.columns[place]
    told = [pandas_type(column), *_unit(column), *_values(column), *_gaps(column)]
    warnings = [single_line(one, LONGEST_WARNING) for one in column.warnings[:MOST_WARNINGS]]
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
        return [*_range(column), *_middle(column), *_keyness(column)]
    if column.type in TEMPORAL:
        return [*_range(column), *_keyness(column)]
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
        told = [f"{quoted(one.value)} {percent(one.count / present)}" for one in shown]
        return ["; ".join(told)]
    if column.examples:
        return [f"such as {', '.join(map(quoted, column.examples[:SHOWN_EXAMPLES]))}"]
    return []


def _gaps(column: ColumnProfile) -> list[str]:
    if not column.missing:
        return []
    if column.missing == column.rows:
        return ["all missing"]
    return [f"{percent(column.missing / column.rows)} missing"]


def shown_value(value: Scalar) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return single_line(str(value), LONGEST_VALUE)
    return number(value)


def number(value: float) -> str:
    """Short, and whole numbers as they are."""
    if float(value).is_integer() and abs(value) < LARGEST_WHOLE:
        return str(int(value))
    return f"{value:.{DIGITS}g}"


def percent(share: float) -> str:
    if 0 < share < 0.01:  # noqa: PLR2004
        return "<1 %"
    if 0.99 < share < 1:  # noqa: PLR2004
        return ">99 %"
    return f"{share:.0%}".replace("%", " %")


def quoted(text: str) -> str:
    return repr(cut(text, LONGEST_VALUE))


def single_line(text: str, longest: int) -> str:
    """Without quotes around it. Control characters and line breaks are blanks."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    return cut(" ".join(shown.split()), longest)


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
