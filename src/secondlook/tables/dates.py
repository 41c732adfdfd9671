"""Dates and times as people write them; day and month are told apart by the data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from secondlook.tables.forms import Form

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.tables.table import ColumnType

_TIME = "(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?"
_HALF_DAY = "(?:0?[1-9]|1[0-2]):[0-5][0-9](?::[0-5][0-9])? ?(?:AM|PM|am|pm)"
_HALF_DAY_FORMATS = ("%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p")
_DAY_FORMATS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f")
_ZONE = "(?:Z| ?UTC| ?[+-][0-9]{2}(?::?[0-9]{2})?)"
_ISO_DAY = "[0-9]{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12][0-9]|3[01])"
_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    "|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_ANY_CASE = "(?i:{})"
_DAY = "(?:0?[1-9]|[12][0-9]|3[01])"

# What is written back the same was no 2020/01/05 and has lost no time or zone; of that length it is
# also no "infinity", no year before Christ and none of five digits.
_AS_WRITTEN = "CAST({{v}} AS VARCHAR) = {{x}} AND strlen({{x}}) = {length}"

ISO_DATE = Form(
    "date", _ISO_DAY, "TRY_CAST({x} AS DATE)", plainly=_AS_WRITTEN.format(length=len("2020-01-05"))
)
ISO_DATETIME = Form(
    "datetime",
    f"{_ISO_DAY}(?:[ T]{_TIME})?",
    "TRY_CAST({x} AS TIMESTAMP)",
    plainly=_AS_WRITTEN.format(length=len("2020-01-05 10:30:00")),
)
ISO_WITH_ZONE = Form(
    "datetime",
    f"{_ISO_DAY}[ T]{_TIME}{_ZONE}",
    "timezone('UTC', TRY_CAST(replace({x}, ' UTC', 'Z') AS TIMESTAMPTZ))",
    "{column}: times carry a time zone and were turned into UTC",
)
TIME_OF_DAY = Form("time", _TIME, "TRY_CAST({x} AS TIME)")
HALF_DAY_TIME = Form(
    "time", _HALF_DAY, "CAST(try_strptime({x}, " + repr(list(_HALF_DAY_FORMATS)) + ") AS TIME)"
)

Order = Literal["DMY", "MDY"]


@dataclass(frozen=True, slots=True)
class _Written:
    """One way to write a day."""

    pattern: str
    formats: tuple[str, ...]


_NAMED = tuple(
    _Written(_ANY_CASE.format(pattern), formats)
    for pattern, formats in (
        (f"{_DAY}[.]? {_MONTH}[.]?,? [0-9]{{4}}", ("%d %B %Y", "%d %b %Y")),
        (f"{_MONTH}[.]? {_DAY},? [0-9]{{4}}", ("%B %d %Y", "%b %d %Y")),
        (f"{_DAY}-{_MONTH}-[0-9]{{4}}", ("%d-%B-%Y", "%d-%b-%Y")),
        (f"{_DAY}-{_MONTH}-[0-9]{{2}}", ("%d-%B-%y", "%d-%b-%y")),
        (f"{_DAY}/{_MONTH}/[0-9]{{4}}", ("%d/%B/%Y", "%d/%b/%Y")),
        (f"[0-9]{{4}}-{_MONTH}-{_DAY}", ("%Y-%B-%d", "%Y-%b-%d")),
    )
)
_YEAR_FIRST = tuple(
    _Written(f"[0-9]{{4}}[{sep}](?:0?[1-9]|1[0-2])[{sep}]{_DAY}", (f"%Y{sep}%m{sep}%d",))
    for sep in "/."
)
_UNNAMED = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?:(?:, ?|[ T])(.+))?", re.ASCII)


def iso_form(cells: Sequence[str]) -> Form | None:
    forms = (ISO_DATE, ISO_DATETIME, ISO_WITH_ZONE, TIME_OF_DAY, HALF_DAY_TIME)
    return _first_that_fits(cells, forms)


def written_form(cells: Sequence[str]) -> Form | None:
    """Days with the year first or the month by name: nothing to assume."""
    for written in (*_YEAR_FIRST, *_NAMED):
        form = _first_that_fits(cells, _with_times(written, note=""))
        if form is not None:
            return form
    return None


def local_form(cells: Sequence[str]) -> Form | None:
    """31.12.2020, 12/31/2020: all with the same sign between, in one order."""
    found = [_UNNAMED.fullmatch(cell) for cell in cells]
    parts = [one for one in found if one is not None]
    if len(parts) < len(cells) or not parts:
        return None
    signs = {one.group(2) for one in parts}
    lengths = {len(one.group(4)) for one in parts}
    if len(signs) > 1 or len(lengths) > 1:
        return None
    sign, is_short = signs.pop(), lengths.pop() == 2  # noqa: PLR2004 - digits of a year
    if is_short and sign == "." and not all(re.match(r"\d\d\.\d\d\.", cell) for cell in cells):
        return None  # version numbers
    order, is_sure = _order(parts, sign)
    if order is None or (is_short and not is_sure and sign == "-"):
        return None
    note = _order_note(order, sign, cells[0], is_sure=is_sure)
    return _first_that_fits(cells, _with_times(_unnamed(order, sign, is_short=is_short), note=note))


def _order(parts: Iterable[re.Match[str]], sign: str) -> tuple[Order | None, bool]:
    """Which comes first, and whether the data say so."""
    days = [(int(one.group(1)), int(one.group(3))) for one in parts]
    first_is_month = all(first <= 12 for first, _ in days)  # noqa: PLR2004
    second_is_month = all(second <= 12 for _, second in days)  # noqa: PLR2004
    if first_is_month and second_is_month:
        return ("MDY" if sign == "/" else "DMY"), False
    if second_is_month:
        return "DMY", True
    return ("MDY", True) if first_is_month else (None, True)


def _unnamed(order: Order, sign: str, *, is_short: bool) -> _Written:
    month = "(?:0?[1-9]|1[0-2])"
    first, second = (_DAY, month) if order == "DMY" else (month, _DAY)
    year, year_format = ("[0-9]{2}", "%y") if is_short else ("[0-9]{4}", "%Y")
    formats = ("%d", "%m") if order == "DMY" else ("%m", "%d")
    return _Written(f"{first}[{sign}]{second}[{sign}]{year}", (sign.join((*formats, year_format)),))


def _order_note(order: Order, sign: str, example: str, *, is_sure: bool) -> str:
    said = "day, month, year" if order == "DMY" else "month, day, year"
    why = "" if is_sure else f"; no date in it tells, {sign!r} is taken to mean so"
    return f"{{column}}: dates such as {_shown(example)} were read as {said}{why}"


def _shown(example: str) -> str:
    return repr(example[:40]).replace("{", "{{").replace("}", "}}")


def _with_times(written: _Written, *, note: str) -> tuple[Form, ...]:
    """The day alone, or with a time behind it."""
    return (
        _parsed("date", written.pattern, written.formats, note),
        _parsed(
            "datetime", f"{written.pattern}{_TIME_BEHIND}", _joined(written, _DAY_FORMATS), note
        ),
        _parsed(
            "datetime",
            f"{written.pattern}{_HALF_DAY_BEHIND}",
            _joined(written, _HALF_DAY_FORMATS),
            note,
        ),
    )


_TIME_BEHIND = f"(?:,? |T){_TIME}"
_HALF_DAY_BEHIND = f",? {_HALF_DAY}"


def _joined(written: _Written, times: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{day} {time}" for day in written.formats for time in times)


def _parsed(kind: ColumnType, pattern: str, formats: tuple[str, ...], note: str) -> Form:
    # Signs that carry no meaning are taken out, so that fewer formats do.
    cell = "regexp_replace({x}, '[.]?,? |([0-9])T([0-9])', '\\1 \\2', 'g')"
    cell = f"regexp_replace({cell}, '(?i)sept([ /-])', 'Sep\\1')"
    listed = "[" + ", ".join(f"'{one}'" for one in formats) + "]"
    value = f"try_strptime({cell}, {listed})"
    return Form(kind, pattern, f"CAST({value} AS DATE)" if kind == "date" else value, note)


def _first_that_fits(cells: Sequence[str], forms: Iterable[Form]) -> Form | None:
    return next((form for form in forms if all(form.fits(cell) for cell in cells)), None)
