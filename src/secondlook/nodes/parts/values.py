"""Dates and numbers as texts state them. What is not read for sure is not read at all.

A text holds a value where it states exactly one. What stands in parentheses is an aside, such as
the same length in feet, and is left out. Units are told apart by their spelling and never
converted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from secondlook.reading.numbers import MONTHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Day: TypeAlias = tuple[int, ...]
"""A year, a year and a month, or all three. Years before Christ are below zero."""


@dataclass(frozen=True, slots=True)
class Dated:
    written: str
    """As the text has it."""
    day: Day


@dataclass(frozen=True, slots=True)
class Counted:
    written: str
    number: Decimal
    unit: str
    """Spelled one way for all its spellings; "" where there is none."""


_LONGEST: Final = 400
"""Characters. A value is stated in fewer."""
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_SPACE = r"[ \t\r\n\u00a0\u202f\u2009]"
_MONTH = "(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?|{name[:4]}" for name in MONTHS) + ")"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_ERA = rf"(?:{_SPACE}*(?P<era>BCE?|B\.C\.(?:E\.)?|AD|A\.D\.|CE)(?!\w))"
_ALONE = r"(?<![\w.,$£€¥/-])(?<![\u2013\u2212])"
_ENDED = r"(?!\w)(?![.,]\d)(?![-\u2013/]\d)(?!['\u2019]s)"
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<!\w){_DAY}{_SPACE}+(?:of{_SPACE}+)?{_MONTH}\.?,?{_SPACE}+{_YEAR}{_ENDED}",
        rf"(?<!\w){_MONTH}\.?{_SPACE}+{_DAY},?{_SPACE}+{_YEAR}{_ENDED}",
        rf"{_ALONE}{_YEAR}-(?P<month_number>\d{{1,2}})-(?P<day>\d{{1,2}}){_ENDED}",
        rf"{_ALONE}(?P<first>\d{{1,2}})(?P<mark>[./])(?P<second>\d{{1,2}})(?P=mark){_YEAR}{_ENDED}",
        rf"(?<!\w){_MONTH}\.?,?{_SPACE}+(?:of{_SPACE}+)?{_YEAR}{_ENDED}",
        rf"{_ALONE}(?P<year>\d{{1,4}}){_ERA}",
        rf"(?<!\w)(?P<era>AD|A\.D\.){_SPACE}*(?P<year>\d{{1,4}}){_ENDED}",
        rf"{_ALONE}(?P<year>1\d{{3}}|20\d\d){_ENDED}",
    )
)
"""The fullest first: what one form has taken is not read again by the next."""

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL: Final[dict[str, int]] = {word: value for value, word in enumerate(_ONES.split())}
_LARGE: Final[dict[str, int]] = {word: 10 * at for at, word in enumerate(_TENS.split(), 2)}
_SCALES: Final[dict[str, int]] = {
    "hundred": 10**2,
    "thousand": 10**3,
    "million": 10**6,
    "mn": 10**6,
    "billion": 10**9,
    "bn": 10**9,
    "trillion": 10**12,
}
_COINS: Final[dict[str, str]] = {"US$": "$", "$": "$", "£": "£", "€": "€", "¥": "¥"}
_UNITS: Final[dict[str, tuple[str, ...]]] = {
    "%": ("%", "percent", "per cent"),
    "$": ("dollars", "dollar", "US dollars", "USD"),
    "€": ("euros", "euro", "EUR"),
    "millimetres": ("mm", "millimetres", "millimeters", "millimetre", "millimeter"),
    "centimetres": ("cm", "centimetres", "centimeters", "centimetre", "centimeter"),
    "metres": ("m", "metres", "meters", "metre", "meter"),
    "kilometres": ("km", "kilometres", "kilometers", "kilometre", "kilometer"),
    "inches": ("inches", "inch"),
    "feet": ("ft", "feet", "foot"),
    "yards": ("yd", "yards", "yard"),
    "miles": ("mi", "miles", "mile"),
    "square metres": ("m2", "m²", "sq m", "square metres", "square meters"),
    "square kilometres": ("km2", "km²", "sq km", "square kilometres", "square kilometers"),
    "square miles": ("sq mi", "square miles", "square mile"),
    "hectares": ("ha", "hectares", "hectare"),
    "acres": ("acres", "acre"),
    "grams": ("grams", "gram", "grammes"),
    "kilograms": ("kg", "kilograms", "kilogram", "kilos"),
    "tonnes": ("tonnes", "tonne", "metric tons"),
    "tons": ("tons", "ton"),
    "pounds": ("lb", "lbs", "pounds", "pound"),
    "litres": ("litres", "liters", "litre", "liter"),
    "gallons": ("gallons", "gallon"),
    "seconds": ("seconds", "second", "secs"),
    "minutes": ("min", "minutes", "minute", "mins"),
    "hours": ("hours", "hour", "hrs"),
    "days": ("days", "day"),
    "weeks": ("weeks", "week"),
    "months": ("months", "month"),
    "years": ("years", "year"),
    "km/h": ("km/h", "kph", "kilometres per hour", "kilometers per hour"),
    "mph": ("mph", "miles per hour"),
    "people": ("people", "inhabitants", "residents", "persons", "citizens"),
}
_SPELLED: Final = {name.casefold(): unit for unit, names in _UNITS.items() for name in names}
_UNIT = "|".join(re.escape(name) for name in sorted(_SPELLED, key=len, reverse=True))
_FIGURES = (
    r"(?P<figures>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:[\u00a0\u202f\u2009]\d{3})+|\d+(?:\.\d+)?)"
)
_WORDS = (
    rf"(?P<words>(?:{'|'.join(_LARGE)})(?:[-{_SPACE[1:-1]}](?:{'|'.join(list(_SMALL)[1:10])}))?"
    rf"|(?:{'|'.join(sorted(_SMALL, key=len, reverse=True))})|an?(?={_SPACE}+hundred))"
)
_NUMBER = re.compile(
    rf"(?<![\w.,:/-])(?<![\u2013])(?P<coin>US\$|[$£€¥])?{_SPACE}?(?P<minus>[-\u2212])?"
    rf"(?:{_FIGURES}(?P<short>k(?!\w))?|(?<![$£€¥]){_WORDS}(?!\w))"
    rf"(?:{_SPACE}?-?(?P<scale>{'|'.join(_SCALES)})(?!\w))?"
    rf"(?:{_SPACE}*-?(?P<unit>{_UNIT})(?!\w))?(?!\w)(?![.,:/]\d)(?![-\u2013]\d)(?!{_SPACE}+of\b)",
    re.IGNORECASE,
)
_MOST_FIGURES: Final = 20
"""What is longer is a code, and would be rounded."""
_RECENT = range(1500, 2100)
"""A bare number that is more likely to be the year of another one."""


def read_date(text: str) -> Dated | None:
    """The date that a text states; None where it states none, or several."""
    return _only(_apart(dates(_plain(text))))


def read_number(text: str) -> Counted | None:
    """The number that a text states, with its unit; None where it states none, or several."""
    found = list(numbers(_plain(text)))
    told = [one for one in found if not _may_be_year(one)] or found
    first = told[0] if told else None
    same = first and all((one.number, one.unit) == (first.number, first.unit) for one in told)
    return first if same else None


def dates(text: str) -> Iterator[Dated]:
    """Every date of a text."""
    taken: list[tuple[int, int]] = []
    for form in _DATES:
        for found in form.finditer(text):
            start, end = found.span()
            if any(start < last and first < end for first, last in taken):
                continue
            taken.append((start, end))
            if day := _day(found):
                yield Dated(found[0], day)


def _plain(text: str) -> str:
    return _ASIDE.sub(" ", text[:_LONGEST])


def _apart(found: Iterable[Dated]) -> list[Dated]:
    """Each date once, the fullest of those that agree."""
    apart: list[Dated] = []
    for one in sorted(found, key=lambda one: -len(one.day)):
        if not any(one.day == other.day[: len(one.day)] for other in apart):
            apart.append(one)
    return apart


def _only(found: list[Dated]) -> Dated | None:
    return found[0] if len(found) == 1 else None


def _day(found: re.Match[str]) -> Day | None:
    given = found.groupdict()
    year = int(given["year"])
    if (given.get("era") or "").upper().startswith("B"):
        return (-year,) if year else None
    if given.get("month"):
        month = _month(given["month"])
        return _valid(year, month, int(given["day"])) if given.get("day") else (year, month)
    if given.get("month_number"):
        return _valid(year, int(given["month_number"]), int(given["day"]))
    if given.get("first"):
        return _either_way(year, int(given["first"]), int(given["second"]), given["mark"])
    return (year,) if year else None


def _month(name: str) -> int:
    return next(at for at, month in enumerate(MONTHS, 1) if month.startswith(name.casefold()[:3]))


def _valid(year: int, month: int, day: int) -> Day | None:
    try:
        date(year, month, day)
    except ValueError:
        return None
    return year, month, day


def _either_way(year: int, first: int, second: int, mark: str) -> Day | None:
    """4.9.1981 begins with the day; of 4/9/1981 only the year is sure."""
    day_first, month_first = _valid(year, second, first), _valid(year, first, second)
    if mark == "." or day_first == month_first or month_first is None:
        return day_first
    return (year,) if day_first else month_first


def numbers(text: str) -> Iterator[Counted]:
    """Every number of a text."""
    for found in _NUMBER.finditer(text):
        if len(found["figures"] or "") > _MOST_FIGURES:
            continue
        value = _figures(found["figures"]) if found["figures"] else _in_words(found["words"])
        value *= _SCALES[found["scale"].casefold()] if found["scale"] else 1
        value *= 1000 if found["short"] else 1
        unit = _SPELLED[" ".join(found["unit"].casefold().split())] if found["unit"] else ""
        coin = _COINS[found["coin"].upper()] if found["coin"] else ""
        yield Counted(found[0].strip(), -value if found["minus"] else value, unit or coin)


def _figures(written: str) -> Decimal:
    return Decimal(re.sub(r"[^\d.]", "", written))


def _in_words(written: str) -> Decimal:
    words = re.split(r"[^a-z]+", written.casefold())
    return Decimal(sum(_SMALL.get(word, _LARGE.get(word, 0)) for word in words) or _an(words))


def _an(words: list[str]) -> int:
    return int(words[0] in {"a", "an"})


def _may_be_year(one: Counted) -> bool:
    bare = one.written.isdigit() and not one.unit
    return bare and int(one.number) in _RECENT
