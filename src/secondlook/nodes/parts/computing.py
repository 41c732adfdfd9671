"""What follows from cited values: arithmetic, dates and comparisons, done by code alone.

The rules, so that anybody can do it again:

- `years` is the difference of the two calendar years (1981 and 2004: 23 years), with no year zero.
- `difference` is never below zero. It and `sum` need numbers of one unit; people may go without.
- `least` and `most` name the operand with the smaller or greater value: all are dates, or all are
  numbers of one unit. Dates of different precision are compared as far as both go. A tie is
  refused.
- `same` is `yes` where the words of one text are all among those of the other, and `no` where they
  have nothing in common. Anything between is refused. A country and its people count as one.

Whatever cannot be read for sure is refused with None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import TYPE_CHECKING, Final

from secondlook.nodes.parts.values import Counted, Dated, read_date, read_number
from secondlook.retrieval.analyse import query_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Operation
    from secondlook.nodes.parts.values import Day

_PAIR: Final = 2
_ALIKE: Final = 4
"""Letters that two words share at their beginning where one may come from the other."""
_ONE_OF: Final[dict[str, str]] = {"feet": "foot", "inches": "inch", "people": "person"}
_UNCHANGED: Final = frozenset({"mph", "km/h"})
_PEOPLES: Final[tuple[tuple[str, str], ...]] = (
    ("united states of america", "american"),
    ("united states", "american"),
    ("u.s.", "american"),
    ("usa", "american"),
    ("united kingdom", "british"),
    ("great britain", "british"),
    ("britain", "british"),
    ("netherlands", "dutch"),
    ("france", "french"),
    ("switzerland", "swiss"),
    ("spain", "spanish"),
    ("wales", "welsh"),
    ("ireland", "irish"),
    ("poland", "polish"),
    ("denmark", "danish"),
    ("greece", "greek"),
    ("scotland", "scottish"),
    ("england", "english"),
    ("germany", "german"),
    ("sweden", "swedish"),
    ("finland", "finnish"),
    ("turkey", "turkish"),
    ("norway", "norwegian"),
    ("china", "chinese"),
    ("philippines", "filipino"),
    ("thailand", "thai"),
    ("iceland", "icelandic"),
    ("portugal", "portuguese"),
)
_COUNTRY = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name, _ in _PEOPLES))


@dataclass(frozen=True, slots=True)
class Stated:
    """A value as a text has it, and what it is the value of."""

    text: str
    name: str | None = None


def computed(operation: Operation, stated: Sequence[Stated]) -> str | None:
    """The result in words; None where it cannot be told."""
    if len(stated) < _PAIR:
        return None
    if operation == "years":
        return _years([read_date(one.text) for one in stated])
    if operation in {"difference", "sum"}:
        return _reckoned(operation, [read_number(one.text) for one in stated])
    if operation == "same":
        return _same([one.text for one in stated])
    return _extreme(stated, greatest=operation == "most")


def sentence(operation: Operation, stated: Sequence[Stated], result: str) -> str:
    """The computation in words, for people."""
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


def _years(found: Sequence[Dated | None]) -> str | None:
    if len(found) != _PAIR or found[0] is None or found[1] is None:
        return None
    first, last = sorted([found[0].day[0], found[1].day[0]])
    years = last - first - (first < 0 < last)
    return f"{years} year" if years == 1 else f"{years} years"


def _by_the_day(texts: Sequence[str]) -> str:
    """Calendar years may be one more than the full years that passed: then it is said."""
    found = [read_date(text) for text in texts]
    days = sorted(one.day for one in found if one is not None)
    whole = len(days) == _PAIR and all(len(day) > 1 for day in days)
    if not whole or days[0][0] == days[1][0] or days[1][1:] >= days[0][1:]:
        return ""
    return f", counted by calendar year ({days[1][0] - days[0][0] - 1} full)"


def _reckoned(operation: Operation, found: Sequence[Counted | None]) -> str | None:
    numbers = [one.number for one in found if one is not None]
    unit = _common_unit(found)
    if unit is None:
        return None
    if operation == "sum":
        return _written(sum(numbers, Decimal(0)), unit)
    if len(numbers) != _PAIR:
        return None
    return _written(abs(numbers[0] - numbers[1]), "percentage points" if unit == "%" else unit)


def _written(value: Decimal, unit: str) -> str:
    figures = f"{value:,f}"
    if "." in figures:
        figures = figures.rstrip("0").rstrip(".")
    if unit in {"$", "£", "€", "¥"}:
        return f"-{unit}{figures[1:]}" if value < 0 else f"{unit}{figures}"
    if unit == "%":
        return f"{figures}%"
    if value == 1 and unit not in _UNCHANGED:
        unit = _ONE_OF.get(unit, unit.removesuffix("s"))
    return f"{figures} {unit}".strip()


def _extreme(stated: Sequence[Stated], *, greatest: bool) -> str | None:
    order = _order([one.text for one in stated])
    names = [one.name for one in stated]
    if order is None or None in names or len(set(names)) < len(names):
        return None
    return names[order[-1] if greatest else order[0]]


def _order(texts: Sequence[str]) -> list[int] | None:
    """Which text has the least value and so on; None where two cannot be told apart."""
    values = _days(texts) or _sizes(texts)
    if values is None or any(one == other for one, other in combinations(values, 2)):
        return None
    return sorted(range(len(values)), key=lambda at: values[at])


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
    many = len(texts) > _PAIR
    if _days(texts):
        return {"least": "earliest" if many else "earlier", "most": "latest" if many else "later"}[
            operation
        ]
    return {"least": "least" if many else "lesser", "most": "greatest" if many else "greater"}[
        operation
    ]


def _same(texts: Sequence[str]) -> str | None:
    said = [frozenset(query_terms(_people(text))) for text in texts]
    if not all(said):
        return None
    pairs = list(combinations(said, 2))
    if all(one <= other or other <= one for one, other in pairs):
        return "yes"
    apart = any(_unlike(one, other) for one, other in pairs)
    return "no" if apart else None


def _people(text: str) -> str:
    return _COUNTRY.sub(lambda found: dict(_PEOPLES)[found[0]], text.casefold())


def _unlike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Nothing in common, not even where one word may come from the other: Peru, Peruvian."""
    return not any(a[:_ALIKE] == b[:_ALIKE] for a in one for b in other)


def _listed(texts: Sequence[str]) -> str:
    return f"{', '.join(texts[:-1])} and {texts[-1]}"
