"""What a question about rows needs to know of a column: its kind, the words of its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from secondlook.tables.asking.rows_vocabulary import ABBREVIATIONS, MONTHS, TEMPORAL_WORDS
from secondlook.tables.asking.rows_words import FIRST_YEAR, LAST_YEAR, stem, tokens
from secondlook.tables.table import NUMERIC, TEMPORAL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.tables.query import Transform
    from secondlook.tables.resolving.port import AskedTable

Kind = Literal["number", "year", "date", "label", "text"]
"""A label is a number that only names a row."""
TRANSFORMS: dict[Kind, Transform] = {"number": "number", "year": "year", "date": "date"}
MOSTLY = 0.6
"""Share of the values that make a column of texts one of dates, or of results."""
NUMBERS_SHARE = 0.7
YEARS_SHARE = 0.9
LONGEST_DATED = 25
LONGEST_YEAR = 12
LONGEST_NUMBER = 16
"""Characters of a text that is still a dated one, a year, or a number."""
EARLIEST, SPAN = 1700, 300
"""Whole numbers from then on, no further apart, are years whatever they are called."""
SAMPLE = 500
"""Values that are looked at to tell the kind of a column."""
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
_LEADING_NUMBER = re.compile(r"^\W*(?:[a-z]{1,3}\W{0,2})?[-+]?[\d.,]*\d", re.IGNORECASE)
_MONTH = re.compile(
    r"\b(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b", re.IGNORECASE
)
_ISO = re.compile(r"^\d{4}-\d{2}-\d{2}")
_DIGIT = re.compile(r"\d")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_LABELS = frozenset({"id", "code", "key", "index", "uuid", "zip", "isbn"})
_NOTHING = frozenset({"-", "\u2013", "\u2014"})


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    name: str
    kind: Kind
    typed: bool
    """Numbers or dates by type, not texts that hold them."""
    words: tuple[str, ...]
    """Stems of its name."""
    place: int
    distinct: float
    """Share of different values."""
    minimum: float | None = None
    maximum: float | None = None
    wordy: float = 0.0
    """Share of values with letters."""
    missing: float = 0.0
    outcomes: bool = False
    """Results of games: `W 28-21`."""

    @property
    def measurable(self) -> bool:
        """Whether its values are more or less than each other."""
        return self.kind in TRANSFORMS

    @property
    def transform(self) -> Transform | None:
        """To compare its values as numbers or dates."""
        if not self.measurable or (self.typed and self.kind != "date"):
            return None
        return TRANSFORMS[self.kind]


def stems(value: str) -> tuple[str, ...]:
    return tuple(token.stem for token in tokens(value))


def header_words(name: str) -> tuple[str, ...]:
    if name.strip() in {"#", "\u2116"}:
        return ("number",)
    words = [ABBREVIATIONS.get(one, one) for one in stems(_CAMEL.sub(" ", name))]
    return tuple(stem(word) for word in words)


def facts_of(asked: AskedTable, place: int, values: Sequence[str]) -> ColumnFacts:
    """`values` are the texts of the column, empty for one of numbers or dates."""
    column = asked.table.columns[place]
    profile = asked.profile.column(column.name)
    rows = max(1, asked.table.rows)
    words = header_words(column.name)
    low = _numeric(profile.minimum if profile else None)
    high = _numeric(profile.maximum if profile else None)
    sample = values[:SAMPLE]
    if column.type in TEMPORAL:
        kind: Kind = "date"
    elif column.type in NUMERIC:
        kind = "year" if _are_years(words, low, high) else "number"
        kind = "label" if set(words) & _LABELS else kind
    else:
        kind = _kind_of_texts(words, sample)
    return ColumnFacts(
        name=column.name,
        kind=kind,
        typed=column.type in NUMERIC or column.type in TEMPORAL,
        words=words,
        place=place,
        distinct=profile.distinct / rows if profile else 0.0,
        minimum=low,
        maximum=high,
        wordy=_share(sample, lambda value: any(one.isalpha() for one in value)),
        missing=profile.missing / rows if profile else 0.0,
        outcomes=_are_outcomes(sample),
    )


def _numeric(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _share(values: Sequence[str], holds: Callable[[str], object]) -> float:
    return sum(bool(holds(value)) for value in values) / max(1, len(values))


def _are_years(words: tuple[str, ...], low: float | None, high: float | None) -> bool:
    if low is None or high is None or not FIRST_YEAR <= low <= high <= LAST_YEAR:
        return False
    return bool(set(words) & TEMPORAL_WORDS) or (low >= EARLIEST and high - low < SPAN)


def _are_outcomes(values: Sequence[str]) -> bool:
    begin = [words[0] for value in values if (words := stems(value))]
    letters = {"w", "l", "t", "d"}
    return len(begin) > 1 and sum(one in letters for one in begin) >= MOSTLY * len(begin)


def _kind_of_texts(words: tuple[str, ...], values: Sequence[str]) -> Kind:
    filled = [one for one in values if one.strip() and one.strip() not in _NOTHING]
    if not filled or _share(filled, _is_date) >= MOSTLY:
        return "date" if filled else "text"
    if _are_outcomes(values):
        return "text"
    numbers = _share(filled, _LEADING_NUMBER.match)
    years = _share(filled, lambda one: _YEAR.search(one) and len(one) < LONGEST_DATED)
    if years >= MOSTLY and TEMPORAL_WORDS & set(words):
        return "year"
    short = max(len(one) for one in filled) < LONGEST_YEAR
    if years >= YEARS_SHARE and numbers >= MOSTLY and short:
        return "year"
    brief = sum(len(one) for one in filled) < LONGEST_NUMBER * len(filled)
    return "number" if numbers >= NUMBERS_SHARE and brief else "text"


def _is_date(value: str) -> bool:
    return bool((_MONTH.search(value) and _DIGIT.search(value)) or _ISO.match(value))
