"""What a cell is turned into before it is compared, sorted by or measured, as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.tables.table import NUMERIC, TEMPORAL

if TYPE_CHECKING:
    from secondlook.tables.query import Transform
    from secondlook.tables.table import ColumnType

SIGN = "[-\u2212+]?"
NUMBER_IN_TEXT = rf"({SIGN}(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?|{SIGN}\.\d+)"
"""With or without thousands commas."""
CLOCK = r"^(?:(\d+):)?(\d{1,3}):(\d{2}(?:\.\d+)?)$"
YEAR = r"\b(1[0-9]{3}|20[0-9]{2})\b"
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH_NAME = rf"\b({'|'.join(MONTHS)})[a-z]*\b"
ISO_DATE = r"\b\d{4}-(\d{1,2})(?:-(\d{1,2}))?\b"
DAY = r"(?:^|[^\d:.])(\d{1,2})(?:st|nd|rd|th)?(?:[^\d:.]|$)"


def transformed(column: str, kind: ColumnType, transform: Transform) -> str:
    """`column` is quoted; NULL where the cell holds no such thing."""
    if transform in {"date", "year", "month"}:
        return _of_date(column, kind, transform)
    text = f"CAST({column} AS VARCHAR)"
    if transform == "length":
        return f"length({text})"
    if transform == "letters":
        return f"length(regexp_replace({text}, '\\s', '', 'g'))"
    number = _number(column, kind)
    if transform == "log":
        return f"CASE WHEN {number} > 0 THEN ln({number}) END"
    return f"abs({number})" if transform == "abs" else number


def _number(column: str, kind: ColumnType) -> str:
    if kind in NUMERIC:
        return column
    return f"CAST({column} AS INTEGER)" if kind == "boolean" else number_in_text(column)


def plain_number(column: str) -> str:
    """A text that is a number and nothing else, or a time such as 1:02:03, in seconds."""
    text = f"trim(CAST({column} AS VARCHAR))"
    alone = f"TRY_CAST(replace({text}, ',', '') AS DOUBLE)"
    return f"CASE WHEN regexp_matches({text}, '{CLOCK}') THEN {_clock(text)} ELSE {alone} END"


def number_in_text(column: str) -> str:
    """The first number; of a time such as 1:02:03 the seconds."""
    text = f"trim(CAST({column} AS VARCHAR))"
    first = _first(text)
    return f"CASE WHEN regexp_matches({text}, '{CLOCK}') THEN {_clock(text)} ELSE {first} END"


def _clock(text: str) -> str:
    hours, minutes, seconds = (_extracted(text, CLOCK, at) for at in (1, 2, 3))
    return f"coalesce({hours}, 0) * 3600 + {minutes} * 60 + {seconds}"


def _first(text: str) -> str:
    found = f"regexp_extract({text}, '{NUMBER_IN_TEXT}', 1)"
    return f"TRY_CAST(replace(replace({found}, ',', ''), '\u2212', '-') AS DOUBLE)"


def _extracted(text: str, pattern: str, group: int) -> str:
    return f"TRY_CAST(regexp_extract({text}, '{pattern}', {group}) AS DOUBLE)"


def _of_date(column: str, kind: ColumnType, transform: Transform) -> str:
    if kind in TEMPORAL:
        year, month, day = (f"date_part('{one}', {column})" for one in ("year", "month", "day"))
    else:
        text = f"lower(CAST({column} AS VARCHAR))"
        year, month, day = _extracted(text, YEAR, 1), _month(text), _day(text)
    if transform != "date":
        return year if transform == "year" else month
    sortable = f"coalesce({year}, 0) * 10000 + coalesce({month}, 0) * 100 + coalesce({day}, 0)"
    return f"CASE WHEN coalesce({year}, {month}) IS NOT NULL THEN {sortable} END"


def _month(text: str) -> str:
    names = ", ".join(f"'{one}'" for one in MONTHS)
    named = f"list_position([{names}], regexp_extract({text}, '{MONTH_NAME}', 1))"
    return f"coalesce(nullif({named}, 0), {_extracted(text, ISO_DATE, 1)})"


def _day(text: str) -> str:
    """A number of one or two digits beside the name of a month."""
    beside = f"CASE WHEN regexp_matches({text}, '{MONTH_NAME}') THEN {_extracted(text, DAY, 1)} END"
    return f"coalesce({_extracted(text, ISO_DATE, 2)}, {beside})"
