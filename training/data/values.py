"""Values that templates of documents draw: names, dates, amounts, codes, in the usual spellings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_FILE = Path(__file__).parents[1] / "files" / "names.json"
_NAMES: dict[str, list[str]] = json.loads(_FILE.read_text("utf-8"))
FIRST, LAST, TOWNS, STREETS = (_NAMES[key] for key in ("first", "last", "towns", "streets"))
WAYS, COUNTRIES, STEMS, TRADES = (_NAMES[key] for key in ("ways", "countries", "stems", "trades"))
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
CURRENCIES = ("€", "£", "$", "EUR ", "GBP ", "USD ", "CHF ")
SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
DRAWN = frozenset(
    (
        *(
            "person",
            "first",
            "firm",
            "town",
            "street",
            "country",
            "date",
            "day",
            "month",
            "weekday",
        ),
        *("time", "year", "int", "decimal", "money", "percent", "code", "email", "phone", "pick"),
    )
)


def value_of(kind: str, draw: Random, style: int = 0) -> str:  # noqa: PLR0911, PLR0912, C901 one line for each kind
    """`style` is how a document writes dates and amounts; 0: in no one way."""
    name, _, rest = kind.partition(" ")
    match name:
        case "person":
            return f"{_title(draw)}{draw.choice(FIRST)} {draw.choice(LAST)}"
        case "first":
            return draw.choice(FIRST)
        case "firm":
            return _firm(draw)
        case "town":
            return draw.choice(TOWNS)
        case "street":
            return f"{draw.randint(1, 240)} {draw.choice(STREETS)} {draw.choice(WAYS)}"
        case "country":
            return draw.choice(COUNTRIES)
        case "date":
            return _date(draw, draw.randint(2015, 2031), style)
        case "day":
            return _day(draw)
        case "month":
            return draw.choice(MONTHS)
        case "weekday":
            return draw.choice(WEEKDAYS)
        case "time":
            return _time(draw)
        case "year":
            return str(draw.randint(1950, 2031))
        case "int":
            return _whole(draw, *_bounds(rest))
        case "decimal":
            low, high = _bounds(rest)
            return f"{draw.uniform(low, high):.{draw.choice((1, 1, 2))}f}"
        case "money":
            return _money(draw, *_bounds(rest), style)
        case "percent":
            low, high = _bounds(rest)
            number = draw.choice((f"{draw.randint(low, high)}", f"{draw.uniform(low, high):.1f}"))
            return number + draw.choice(("%", "%", " %", " percent"))
        case "code":
            return _code(rest, draw)
        case "email":
            return _email(draw)
        case "phone":
            return _code(draw.choice(("+## ## ### ####", "0### ### ####", "(###) ###-####")), draw)
        case "pick":
            return draw.choice(rest.split("/")).strip()
    raise ValueError(f"no kind of value: {kind!r}")


def _bounds(text: str) -> tuple[int, int]:
    low, _, high = text.replace(",", "").partition("-")
    return int(low), int(high)


def _title(draw: Random) -> str:
    return draw.choice(("Mr ", "Ms ", "Mrs ", "Dr ")) if draw.random() < 0.1 else ""  # noqa: PLR2004


def _firm(draw: Random) -> str:
    stem = draw.choice(STEMS) if draw.random() < 0.6 else draw.choice(LAST)  # noqa: PLR2004
    return f"{stem} {draw.choice(TRADES)}"


def _date(draw: Random, year: int, style: int) -> str:
    month, day = draw.randint(1, 12), draw.randint(1, 28)
    name = MONTHS[month - 1]
    ways = (
        f"{day} {name} {year}",
        f"{name} {day}, {year}",
        f"{day} {name[:3]} {year}",
        f"{year}-{month:02}-{day:02}",
        f"{day:02}/{month:02}/{year}",
        f"{day:02}.{month:02}.{year}",
    )
    return ways[style % len(ways)] if style else draw.choice(ways)


def _day(draw: Random) -> str:
    day, name = draw.randint(1, 28), draw.choice(MONTHS)
    last = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")  # noqa: PLR2004
    return draw.choice(
        (f"{day} {name}", f"{name} {day}", f"{day}{last} {name}", f"{day}{last} of {name}")
    )


def _time(draw: Random) -> str:
    hour, minute = draw.randint(6, 21), draw.choice((0, 0, 15, 30, 30, 45))
    noon = "am" if hour < 12 else "pm"  # noqa: PLR2004
    plain = f"{(hour - 1) % 12 + 1}{f':{minute:02}' if minute else ''} {noon}"
    return draw.choice(
        (f"{hour:02}:{minute:02}", plain, plain.replace(" ", ""), f"{hour}.{minute:02}")
    )


def _whole(draw: Random, low: int, high: int) -> str:
    number = draw.randint(low, high)
    if number < len(SMALL) and draw.random() < 0.3:  # noqa: PLR2004
        return SMALL[number]
    return f"{number:,}" if number > 9_999 and draw.random() < 0.6 else str(number)  # noqa: PLR2004


def _money(draw: Random, low: int, high: int, style: int) -> str:
    way = style or draw.randint(1, 1_000)
    number = f"{draw.uniform(low, high):,.2f}" if way % 2 else f"{draw.randint(low, high):,}"
    sign = CURRENCIES[way % len(CURRENCIES)]
    return f"{number} {sign.strip()}" if way % 5 == 0 else sign + number


def _code(pattern: str, draw: Random) -> str:
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    draws = {"#": lambda: str(draw.randint(0, 9)), "@": lambda: draw.choice(letters)}
    return "".join(draws[sign]() if sign in draws else sign for sign in pattern)


def _email(draw: Random) -> str:
    host = draw.choice(STEMS).lower().replace(" ", "")
    who = draw.choice(
        (draw.choice(FIRST).lower(), "office", "info", "hello", "help", "bookings", "accounts")
    )
    return f"{who}@{host}.{draw.choice(('example', 'com', 'org', 'net', 'co.uk'))}"
