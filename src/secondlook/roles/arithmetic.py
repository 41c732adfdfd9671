"""What follows from cited values: arithmetic, dates and comparisons, done by code alone.

- `years` is the difference of the two calendar years (1981 and 2004: 23 years), with no year zero.
- `difference` is never below zero. It and `sum` need numbers of one unit; people may go without.
- `least` and `most` name the operand with the smaller or greater value: all are dates, compared as
  far as all go, or all are numbers of one unit. A tie is refused.
- `same` is `yes` where the words of one text are all among those of the other, and `no` where they
  have nothing in common; a country and its people count as one.

Whatever cannot be read for sure is refused with None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from secondlook.reading.numbers import MONTHS
from secondlook.retrieval.terms import query_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.answer import Operation

_PAIR: Final = 2
_DATED_RANKS: Final = (("earlier", "earliest"), ("later", "latest"))
_RANKS: Final = (("lesser", "least"), ("greater", "greatest"))
_ALIKE: Final = 4
"""Letters that two words share at their beginning where one may come from the other."""
_ONE_OF: Final[dict[str, str]] = {"feet": "foot", "inches": "inch", "people": "person"}
_UNCHANGED: Final = frozenset({"mph", "km/h"})
_PEOPLES: Final = {
    "united states of america": "american", "united states": "american", "u.s.": "american",
    "usa": "american", "united kingdom": "british", "great britain": "british",
    "britain": "british", "netherlands": "dutch", "france": "french", "switzerland": "swiss",
    "spain": "spanish", "wales": "welsh", "ireland": "irish", "poland": "polish",
    "denmark": "danish", "greece": "greek", "scotland": "scottish", "england": "english",
    "germany": "german", "sweden": "swedish", "finland": "finnish", "turkey": "turkish",
    "norway": "norwegian", "china": "chinese", "philippines": "filipino", "thailand": "thai",
    "iceland": "icelandic", "portugal": "portuguese",
}  # fmt: skip
_COUNTRY = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in _PEOPLES))


@dataclass(frozen=True, slots=True)
class Stated:
    text: str
    name: str | None = None


def computed(operation: Operation, stated: Sequence[Stated]) -> str | None:  # noqa: PLR0911
    texts = [one.text for one in stated]
    if len(stated) < _PAIR:
        return None
    if operation == "same":
        return _same(texts)
    if operation in {"least", "most"}:
        # The name of the greatest or the least; None where two cannot be told apart.
        texts, names = [one.text for one in stated], [one.name for one in stated]
        values = _days(texts) or _sizes(texts)
        if values is None or None in names or len(set(names)) < len(names):
            return None
        order = sorted(range(len(values)), key=lambda at: values[at])
        if any(values[one] == values[other] for one, other in pairwise(order)):
            return None
        return names[order[-1] if (operation == "most") else order[0]]
    if operation == "years":
        days = [one.day[0] for one in map(read_date, texts) if one is not None]
        if len(days) != _PAIR or len(texts) != _PAIR:
            return None
        first, last = sorted(days)
        years = last - first - (first < 0 < last)
        return f"{years} year" if years == 1 else f"{years} years"
    counted = [read_number(text) for text in texts]
    unit, numbers = _common_unit(counted), [one.number for one in counted if one is not None]
    if unit is None or (operation == "difference" and len(numbers) != _PAIR):
        return None
    apart = operation == "difference"
    value = abs(numbers[0] - numbers[1]) if apart else sum(numbers, Decimal(0))
    return written(value, "percentage points" if apart and unit == "%" else unit)


def sentence(operation: Operation, stated: Sequence[Stated], result: str) -> str:
    texts = [one.text for one in stated]
    if operation == "years":
        return f"From {texts[0]} to {texts[1]} it is {result}{_by_the_day(texts)}."
    if operation == "difference":
        return f"The difference between {texts[0]} and {texts[1]} is {result}."
    if operation == "sum":
        return f"{_listed(texts)} make {result} in all."
    told = [f"{one.text} ({one.name})" if one.name else one.text for one in stated]
    if operation == "same":
        same = "the same" if result == "yes" else "not the same"
        return f"{result.capitalize()}: {_listed(told)} are {same}."
    return f"{result} is the {_degree(texts, operation)}: {_listed(told)}."


def _by_the_day(texts: Sequence[str]) -> str:
    """Calendar years may be one more than the full years that passed: then it is said."""
    found = [read_date(text) for text in texts]
    days = sorted(one.day for one in found if one is not None)
    whole = len(days) == _PAIR and all(len(day) > 1 for day in days)
    if not whole or days[0][0] == days[1][0] or days[1][1:] >= days[0][1:]:
        return ""
    return f", counted by calendar year ({days[1][0] - days[0][0] - 1} full)"


def written(value: Decimal, unit: str) -> str:
    figures = f"{value:,f}"
    if "." in figures:
        figures = figures.rstrip("0").rstrip(".")
    if unit in {"$", "£", "€", "¥"}:
        figures = f"{value:,.2f}" if "." in figures else figures
        return f"-{unit}{figures[1:]}" if value < 0 else f"{unit}{figures}"
    if unit == "%":
        return f"{figures}%"
    if value == 1 and unit not in _UNCHANGED:
        unit = _ONE_OF.get(unit, unit.removesuffix("s"))
    return f"{figures} {unit}".strip()


def _days(texts: Sequence[str]) -> list[Day] | None:
    found = [read_date(text) for text in texts]
    days = [one.day for one in found if one is not None]
    if len(days) < len(texts):
        return None
    common = min(map(len, days))
    return [day[:common] for day in days]


def _sizes(texts: Sequence[str]) -> list[Day] | list[tuple[Decimal]] | None:
    found = [read_number(text) for text in texts]
    if _common_unit(found) is None:
        return None
    return [(one.number,) for one in found if one is not None]


def _common_unit(found: Sequence[Counted | None]) -> str | None:
    """The unit that all have; None where they differ or one was not read. A population is often
    given without "people"."""
    units = {None if one is None else one.unit for one in found}
    if units == {"", "people"}:
        return "people"
    return units.pop() if len(units) == 1 else None


def _degree(texts: Sequence[str], operation: Operation) -> str:
    several = len(texts) > _PAIR
    ranks = _DATED_RANKS if _days(texts) else _RANKS
    return ranks[operation == "most"][several]


def _same(texts: Sequence[str]) -> str | None:
    said = [
        frozenset(query_terms(_COUNTRY.sub(lambda found: _PEOPLES[found[0]], text.casefold())))
        for text in texts
    ]
    if not all(said):
        return None
    pairs = list(combinations(said, 2))
    if all(one <= other or other <= one for one, other in pairs):
        return "yes"
    # Nothing in common, not even where one word may come from the other: Peru, Peruvian.
    apart = any(
        (not any(a[:_ALIKE] == b[:_ALIKE] for a in one for b in other)) for one, other in pairs
    )
    return "no" if apart else None


def _listed(texts: Sequence[str]) -> str:
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


# Dates and numbers as texts state them. What is not read for sure is not read at all.

Day: TypeAlias = tuple[int, ...]
"""A year, a year and a month, or all three. Years before Christ are below zero."""


@dataclass(frozen=True, slots=True)
class Dated:
    written: str
    day: Day


@dataclass(frozen=True, slots=True)
class Counted:
    written: str
    number: Decimal
    unit: str  # Spelled one way for all its spellings; "" where there is none


_LONGEST: Final = 400
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
_SCALES: Final = {
    "hundred": 10**2, "thousand": 10**3, "million": 10**6, "mn": 10**6, "billion": 10**9,
    "bn": 10**9, "trillion": 10**12,
}  # fmt: skip
# Each unit as it is spelled for all its spellings, and those.
_UNITS: Final = """
%: %, percent, per cent
$: dollars, dollar, us dollars, usd
€: euros, euro, eur
millimetres: mm, millimetres, millimeters, millimetre, millimeter
centimetres: cm, centimetres, centimeters, centimetre, centimeter
metres: m, metres, meters, metre, meter
kilometres: km, kilometres, kilometers, kilometre, kilometer
inches: inches, inch
feet: ft, feet, foot
yards: yd, yards, yard
miles: mi, miles, mile
square metres: m2, m², sq m, square metres, square meters
square kilometres: km2, km², sq km, square kilometres, square kilometers
square miles: sq mi, square miles, square mile
hectares: ha, hectares, hectare
acres: acres, acre
grams: grams, gram, grammes
kilograms: kg, kilograms, kilogram, kilos
tonnes: tonnes, tonne, metric tons
tons: tons, ton
pounds: lb, lbs, pounds, pound
litres: litres, liters, litre, liter
gallons: gallons, gallon
seconds: seconds, second, secs
minutes: min, minutes, minute, mins
hours: hours, hour, hrs
days: days, day
weeks: weeks, week
months: months, month
years: years, year
km/h: km/h, kph, kilometres per hour, kilometers per hour
mph: mph, miles per hour
people: people, inhabitants, residents, persons, citizens
"""
_SPELLED: Final = {
    name: unit
    for unit, names in (line.split(": ") for line in _UNITS.strip().splitlines())
    for name in names.split(", ")
}
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
_MOST_FIGURES: Final = 20  # What is longer is a code, and would be rounded
_RECENT = range(1500, 2100)  # A bare number that is more likely to be the year of another one


def read_date(text: str) -> Dated | None:
    """The date that a text states; None where it states none, or several."""
    # Each date once, the fullest of those that agree.
    found = dates(_plain(text))
    apart: list[Dated] = []
    for one in sorted(found, key=lambda one: -len(one.day)):
        if not any(one.day == other.day[: len(one.day)] for other in apart):
            apart.append(one)
    return apart[0] if len(apart) == 1 else None


def read_number(text: str) -> Counted | None:
    """The number that a text states, with its unit; None where it states none, or several."""
    found = list(numbers(_plain(text)))
    told = [one for one in found if not (one.written.isdigit() and one.number in _RECENT)] or found
    first = told[0] if told else None
    same = first and all((one.number, one.unit) == (first.number, first.unit) for one in told)
    return first if same else None


def dates(text: str) -> Iterator[Dated]:
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


def _day(found: re.Match[str]) -> Day | None:
    given = found.groupdict()
    year = int(given["year"])
    if (given.get("era") or "").upper().startswith("B"):
        return (-year,) if year else None
    if given.get("month"):
        short = given["month"].casefold()[:3]
        month = next(at for at, name in enumerate(MONTHS, 1) if name.startswith(short))
        return _valid(year, month, int(given["day"])) if given.get("day") else (year, month)
    if given.get("month_number"):
        return _valid(year, int(given["month_number"]), int(given["day"]))
    if given.get("first"):
        # 4.9.1981 begins with the day; of 4/9/1981 only the year is sure.
        first = int(given["first"])
        second = int(given["second"])
        day_first, month_first = _valid(year, second, first), _valid(year, first, second)
        if given["mark"] == "." or day_first == month_first or month_first is None:
            return day_first
        return (year,) if day_first else month_first
    return (year,) if year else None


def _valid(year: int, month: int, day: int) -> Day | None:
    try:
        date(year, month, day)
    except ValueError:
        return None
    return year, month, day


def numbers(text: str) -> Iterator[Counted]:
    for found in _NUMBER.finditer(text):
        if len(found["figures"] or "") > _MOST_FIGURES:
            continue
        if found["figures"]:
            value = Decimal(re.sub(r"[^\d.]", "", found["figures"]))
        else:  # in words; "a hundred" is one of them
            words = re.split(r"[^a-z]+", found["words"].casefold())
            value = Decimal(sum((_SMALL | _LARGE).get(word, 0) for word in words))
            value = value or Decimal(words[0] in {"a", "an"})
        value *= _SCALES[found["scale"].casefold()] if found["scale"] else 1
        value *= 1000 if found["short"] else 1
        unit = _SPELLED[" ".join(found["unit"].casefold().split())] if found["unit"] else ""
        coin = (found["coin"] or "").upper().removeprefix("US")
        yield Counted(found[0].strip(), -value if found["minus"] else value, unit or coin)
