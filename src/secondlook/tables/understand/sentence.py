"""A question about rows beside one table: which words name columns, and facts of the columns."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from secondlook.tables.table import NUMERIC, TEMPORAL
from secondlook.tables.words import (
    EMPTY_WORDS,
    FIRST_YEAR,
    FUNCTION_WORDS,
    LAST_YEAR,
    MONTHS,
    base,
    bases,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.tables.query import Transform
    from secondlook.tables.resolver import AskedTable
    from secondlook.tables.words import Token

MentionHow = Literal["exact", "part", "kin"]
LONGEST_HEADER = 5
LEAST_SHARED = 0.4
KIN = 5
"""Letters that two words share at least to be of one family: `director`, `directed`."""


@dataclass(frozen=True, slots=True)
class ColumnMention:
    column: ColumnFacts
    first: int
    last: int
    score: float
    how: MentionHow

    @property
    def places(self) -> frozenset[int]:
        return frozenset(range(self.first, self.last + 1))


@dataclass(frozen=True)
class Sentence:
    """The question's words, and one table."""

    words: tuple[Token, ...]
    table: TableIndex

    @cached_property
    def joined(self) -> str:
        """The words with one blank between them, for patterns."""
        return " ".join(word.text for word in self.words)

    @cached_property
    def content(self) -> frozenset[int]:
        """Places of the words that a reading should account for."""
        return frozenset(
            place for place, word in enumerate(self.words) if word.text not in EMPTY_WORDS
        )

    @cached_property
    def mentions(self) -> tuple[ColumnMention, ...]:
        """Columns named, the surest first."""
        found = [one for column in self.table.columns for one in _mentions(self.words, column)]
        return tuple(sorted(found, key=lambda one: (-one.score, one.first)))

    def places(self, start: int, end: int) -> frozenset[int]:
        """Of the words within characters of `joined`."""
        found, at = [], 0
        for place, word in enumerate(self.words):
            if at < end and at + len(word.text) > start:
                found.append(place)
            at += len(word.text) + 1
        return frozenset(found)

    def finditer(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], frozenset[int]]]:
        for match in pattern.finditer(self.joined):
            yield match, self.places(match.start(), match.end())

    def search(self, pattern: re.Pattern[str]) -> frozenset[int] | None:
        match = pattern.search(self.joined)
        return self.places(match.start(), match.end()) if match else None

    def mention_within(self, first: int, last: int) -> list[ColumnMention]:
        """Columns named by words that start between two places, the surest first."""
        return [one for one in self.mentions if first <= one.first <= last]


def sentence(text: str, table: AskedTable) -> Sentence:
    return Sentence(tokens(text), index(table))


def _mentions(words: tuple[Token, ...], column: ColumnFacts) -> list[ColumnMention]:
    header = [word for word in column.words if word not in FUNCTION_WORDS] or list(column.words)
    found: list[ColumnMention] = []
    for length in range(min(LONGEST_HEADER, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            last = first + length - 1
            if header and not any(one.first <= first and last <= one.last for one in found):
                rated = _rate([word.stem for word in words[first : last + 1]], header, words[first])
                if rated:
                    found.append(ColumnMention(column, first, last, *rated))
    return found


def _rate(window: list[str], header: list[str], first: Token) -> tuple[float, MentionHow] | None:
    if len(window) == len(header) and set(window) == set(header):
        return (1.0, "exact")
    shared = set(window) & set(header)
    if shared and {window[0], window[-1]} <= shared:
        score = 2 * len(shared) / (len(window) + len(set(header)))
        says_nothing = shared <= FUNCTION_WORDS and len(header) > len(shared)
        return (score * 0.9, "part") if score >= LEAST_SHARED and not says_nothing else None
    if len(window) > 1 or first.text in FUNCTION_WORDS:
        return None
    kin = any(len(one) >= KIN and window[0][:KIN] == one[:KIN] for one in header)
    return (0.5, "kin") if kin else None


# A table as questions about its rows see it: where words stand in its cells.

SUMMING_COLUMNS = 3
"""A row of sums says so in one of the first columns."""
MOST_CELLS = 20_000
"""Different texts of a table that are looked at, over all of its columns."""
_SUMS = frozenset({"career", "all", "overall", "average", "sum"})


@dataclass(frozen=True)
class TableIndex:
    asked: AskedTable
    columns: tuple[ColumnFacts, ...]
    cells: dict[str, tuple[tuple[str, tuple[str, ...]], ...]]
    """Per column its texts and their stems."""
    whole: dict[tuple[str, ...], list[tuple[int, str]]] = field(repr=False)
    """Stems of a text to columns and texts."""
    postings: dict[str, set[tuple[int, int]]] = field(repr=False)
    """A stem to columns and places of texts."""

    def column(self, name: str) -> ColumnFacts:
        return next(one for one in self.columns if one.name == name)

    @cached_property
    def totals(self) -> tuple[tuple[str, str], ...]:
        """Cells that mark a row as the sum of others: their column and value."""
        return tuple(
            (column.name, value)
            for column in self.columns[:SUMMING_COLUMNS]
            for value, words in self.cells[column.name]
            if 0 < len(words) <= SUMMING_COLUMNS
            and (
                words[0] in {"total", "subtotal"}
                or words[-1] == "total"
                or (len(words) == 1 and words[0] in _SUMS)
            )
        )


def index(asked: AskedTable) -> TableIndex:
    """Of one table; a column of numbers is known by its profile alone."""
    texts = [column.name for column in asked.table.columns if column.type == "text"]
    most = MOST_CELLS // max(1, len(texts))
    values = {name: list(asked.values(name))[:most] for name in texts}
    facts = [
        facts_of(asked, place, values.get(column.name, []))
        for place, column in enumerate(asked.table.columns)
    ]
    cells = {
        one.name: tuple((value, bases(value)) for value in values.get(one.name, []))
        for one in facts
    }
    whole: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
    postings: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for place, fact in enumerate(facts):
        for at, (value, words) in enumerate(cells[fact.name]):
            if words:
                whole[words].append((place, value))
            for word in set(words):
                postings[word].add((place, at))
    return TableIndex(asked, tuple(facts), cells, dict(whole), dict(postings))


# What a question about rows needs to know of a column: its kind, the words of its name.

_SHORT = """pts:point pt:point pos:position att:attendance no:number num:number pop:population
avg:average pct:percentage gp:game yr:year w:win l:loss d:draw t:tie g:goal gf:goal pld:match
ep:episode alt:altitude elev:elevation dept:department min:minute qty:quantity amt:amount
temp:temperature lbs:pound ft:foot nat:nation opp:opponent"""
ABBREVIATIONS = dict(pair.split(":") for pair in _SHORT.split())
_TEMPORAL = """year season date term reign release released founded opened built established
completed born died launched elected introduced entered closed active served commissioned"""
TEMPORAL_WORDS = frozenset(_TEMPORAL.split())
Kind = Literal["number", "year", "date", "label", "text"]
"""A label is a number that only names a row."""
TRANSFORMS: dict[Kind, Transform] = {"number": "number", "year": "year", "date": "date"}
MOSTLY, NUMBERS_SHARE, YEARS_SHARE = 0.6, 0.7, 0.9
"""Shares of the values that make a column of texts one of dates, of numbers, of years."""
LONGEST_DATED, LONGEST_YEAR, LONGEST_NUMBER = 25, 12, 16
"""Characters of a text that is still a dated one, a year, or a number."""
EARLIEST, SPAN = 1700, 300
"""Whole numbers from then on, no further apart, are years whatever they are called."""
SAMPLE = 500
"""Values that are looked at to tell the kind of a column."""
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
_LEADING_NUMBER = re.compile(r"^\W*(?:[a-z]{1,3}\W{0,2})?[-+]?[\d.,]*\d", re.IGNORECASE)
_MONTH = re.compile(rf"\b(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b", re.IGNORECASE)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_LABELS = frozenset({"id", "code", "key", "index", "uuid", "zip", "isbn"})


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


def header_words(name: str) -> tuple[str, ...]:
    if name.strip() in {"#", "\u2116"}:
        return ("number",)
    words = bases(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name))
    return tuple(base(ABBREVIATIONS.get(one, one)) for one in words)


def facts_of(asked: AskedTable, place: int, values: Sequence[str]) -> ColumnFacts:
    """`values` are the texts of the column, empty for one of numbers or dates."""
    column = asked.table.columns[place]
    profile = asked.profile.column(column.name)
    rows = max(1, asked.table.rows)
    words, sample = header_words(column.name), values[:SAMPLE]
    ends = (profile.minimum, profile.maximum) if profile else (None, None)
    low, high = (float(one) if isinstance(one, int | float) else None for one in ends)
    if column.type in TEMPORAL:
        kind: Kind = "date"
    elif column.type in NUMERIC:
        within = low is not None and high is not None and FIRST_YEAR <= low <= high <= LAST_YEAR
        narrow = within and low >= EARLIEST and high - low < SPAN  # type: ignore[operator]
        years = narrow or (within and set(words) & TEMPORAL_WORDS)
        kind = "label" if set(words) & _LABELS else "year" if years else "number"
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
    )


def _share(values: Sequence[str], holds: Callable[[str], object]) -> float:
    return sum(bool(holds(value)) for value in values) / max(1, len(values))


def _kind_of_texts(words: tuple[str, ...], values: Sequence[str]) -> Kind:
    filled = [one for one in values if one.strip() not in {"", "-", "\u2013", "\u2014"}]
    if not filled:
        return "text"
    if _share(filled, _is_date) >= MOSTLY:
        return "date"
    if _share(values, lambda one: bases(one)[:1] in {("w",), ("l",), ("t",), ("d",)}) >= MOSTLY:
        return "text"  # results of games: `W 28-21`
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
    named = _MONTH.search(value) and any(one.isdigit() for one in value)
    return bool(named or _ISO.match(value))
