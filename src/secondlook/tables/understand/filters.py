"""Conditions on rows, read out of a question: values it names, comparisons, years and dates."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple

from secondlook.reading.numbers import MONTHS as MONTH_NAMES
from secondlook.tables.query import Comparison, Condition, Filter
from secondlook.tables.understand.sentence import Sentence, sentence
from secondlook.tables.words import (
    EMPTY_WORDS,
    FUNCTION_WORDS,
    MONTHS,
    NUMBER_WORDS,
    SCALES,
    is_year,
    number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.tables.resolver import AskedTable
    from secondlook.tables.understand.sentence import ColumnFacts, TableIndex
    from secondlook.tables.words import Token

MOST_SLOTS = 4
MOST_SETS = 14


@dataclass(frozen=True, slots=True)
class Clause:
    """Characters [start, end) of a question say a condition on rows of a table."""

    start: int
    end: int
    condition: Condition
    said: str


@dataclass(frozen=True, slots=True)
class ConditionSet:
    """Conditions that hold together, one for each part of the question that says one."""

    choices: tuple[Choice, ...] = ()
    conflict: bool = False
    """Two of them ask the same column for different values."""
    apart: tuple[Condition, ...] = ()
    """Leave out rows that sum up others."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        named = tuple(one for choice in self.choices for one in choice.conditions)
        return (*named, *self.apart)

    @property
    def used(self) -> frozenset[int]:
        return frozenset(place for choice in self.choices for place in choice.places)

    @property
    def score(self) -> float:
        return sum(choice.score for choice in self.choices) - 2.0 * self.conflict

    @property
    def said(self) -> str:
        return " and ".join(choice.said for choice in self.choices)


def slots(asked: Sentence) -> list[Slot]:
    """Parts of the question that may say a condition, without overlap, in its order."""
    found: list[Slot] = []
    for slot in sorted([*comparison_slots(asked), *value_slots(asked)], key=lambda s: -s.score):
        clash = next((one for one in found if one.places & slot.places), None)
        if clash is None:
            found.append(slot)
        else:
            # Both, of which one can hold.
            both = sorted((*clash.choices, *slot.choices), key=lambda choice: -choice.score)
            found[found.index(clash)] = Slot(clash.places, tuple(both[: MOST_CHOICES + 1]))
    best = sorted(found, key=lambda slot: -slot.score)[:MOST_SLOTS]
    return sorted(best, key=lambda slot: min(slot.places))


def condition_sets(asked: Sentence) -> list[ConditionSet]:
    """Ways to put the conditions together, the likeliest first; one has none of them."""
    choices = [[*slot.choices, None] for slot in slots(asked)]
    sets = [
        _together(tuple(one for one in picked if one is not None), asked)
        for picked in product(*choices)
    ]
    best = sorted(sets, key=lambda one: -one.score)[:MOST_SETS]
    return [*best, ConditionSet(apart=_apart((), asked))]


def _together(choices: tuple[Choice, ...], asked: Sentence) -> ConditionSet:
    joined: list[Choice] = []
    conflict = False
    for choice in choices:
        same = [one for one in joined if one.column == choice.column]
        same = [one for one in same if one.equality and choice.equality]
        if not same:
            joined.append(choice)
            continue
        between = range(max(same[0].places) + 1, min(choice.places))
        words = {asked.words[place].text for place in between}
        if words & {"or", "and"} or len(between) == 0:
            joined[joined.index(same[0])] = same[0].either(choice)
        else:
            conflict = True
            joined.append(choice)
    return ConditionSet(tuple(joined), conflict, _apart(choices, asked))


def _apart(choices: tuple[Choice, ...], asked: Sentence) -> tuple[Condition, ...]:
    """Conditions that leave out rows of sums, unless the question names such a row."""
    named = {(choice.column, value) for choice in choices for value in choice.values}
    return tuple(
        Filter(column=column, comparison="!=", value=value)
        for column, value in asked.table.totals
        if (column, value) not in named
    )


def conditions(question: str, table: AskedTable) -> list[Clause]:
    """The likeliest conditions that a question sets, in its order."""
    asked = sentence(question, table)
    found: list[Clause] = []
    for choice in condition_sets(asked)[0].choices:
        start = min(asked.words[place].start for place in choice.places)
        end = max(asked.words[place].end for place in choice.places)
        found += [Clause(start, end, one, choice.said) for one in choice.conditions]
    return sorted(found, key=lambda clause: clause.start)


# A part of a question that may say a condition, and what it may say.

Source = Literal["exact", "partial", "compare", "year", "date", "equal"]
MOST_CHOICES = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that the words may say."""

    conditions: tuple[Condition, ...]
    column: str
    places: frozenset[int]
    """Of the words that say it, its column's name included."""
    score: float
    source: Source
    said: str
    cued: bool = False
    """The column is named beside it."""
    equality: bool = False
    values: tuple[str, ...] = ()
    negated: bool = False

    def either(self, other: Choice) -> Choice:
        """One value or the other."""
        values = tuple(dict.fromkeys((*self.values, *other.values)))
        condition = Filter(column=self.column, comparison="in", values=values, negated=self.negated)
        return replace(
            self,
            conditions=(condition,),
            places=self.places | other.places,
            score=self.score + other.score,
            said=f"{self.said} or {other.said.partition(' is ')[2] or other.said}",
            values=values,
        )


@dataclass(frozen=True, slots=True)
class Slot:
    places: frozenset[int]
    choices: tuple[Choice, ...]
    """The likeliest first."""

    @property
    def score(self) -> float:
        return self.choices[0].score if self.choices else 0.0


# Conditions that compare: `at least 3 gold medals`, `after march 2004`, `between 5 and 10`.

_NUMBER = (
    r"(?:-?\d[\d,]*(?:\.\d+)?|" + "|".join(sorted(NUMBER_WORDS, key=len, reverse=True)) + r")\b"
    r"(?: (?:thousand|million|billion)\b)?"
)
_N, _M = rf"(?P<n>{_NUMBER})", rf"(?P<m>{_NUMBER})"
_BIGGER = "more|greater|higher|larger|bigger|longer|older|better|later|taller|heavier"
_SMALLER = "less|fewer|lower|smaller|shorter|younger|worse|earlier|lighter"
_OVER = (
    rf"(?:{_BIGGER}) than|over|above|exceed(?:s|ed|ing)?|surpass(?:es|ed|ing)?"
    r"|(?:more|greater) then"
)
_AND_MORE = "more|above|over|higher|greater|better|later|older|up"
_AND_LESS = "less|fewer|below|under|lower|earlier|before|younger"
_THE_YEAR = "(?: the)?(?: years?)?"
_SIGNS: tuple[tuple[str, tuple[Comparison, ...]], ...] = (
    (rf"\b(?:between|from){_THE_YEAR} {_N} (?:and|to|through|until) {_M}", (">=", "<=")),
    (rf"\b(?:{_OVER}|after) {_N} (?:but|and) (?:under|below|before|less than) {_M}", (">", "<")),
    (rf"\b(?:at least|(?:no|not) (?:less|fewer) than|(?:at |a )?minimum(?: of)?) {_N}", (">=",)),
    (rf"\b(?:at most|(?:no|not) more than|up to|(?:a )?maximum of) {_N}", ("<=",)),
    (rf"\b(?:{_OVER}) {_N}", (">",)),
    (rf"\b(?:(?:{_SMALLER}) than|under|below|less then|fewer then) {_N}", ("<",)),
    (rf"\b{_N}(?: \w+)? (?:or|and) (?:{_AND_MORE})\b", (">=",)),
    (rf"\b{_N}(?: \w+)? (?:or|and) (?:{_AND_LESS})\b", ("<=",)),
    (rf"\b(?:exactly|equal to|equals|precisely|only|just) {_N}", ("=",)),
    (rf"(?:>=|\u2265) {_N}", (">=",)),
    (rf"(?:<=|\u2264) {_N}", ("<=",)),
    (rf"(?<!\S)> {_N}", (">",)),
    (rf"(?<!\S)< {_N}", ("<",)),
    (rf"(?:!=|<>|\u2260) {_N}", ("!=",)),
    (rf"(?<!\S)==? {_N}", ("=",)),
)
_YEARS: tuple[tuple[str, tuple[Comparison, ...]], ...] = (
    (rf"\b(?:after|later than|past|following){_THE_YEAR} (?P<n>\d{{4}})\b", (">",)),
    (rf"\b(?:since|(?:starting|beginning) in|from){_THE_YEAR} (?P<n>\d{{4}})\b", (">=",)),
    (rf"\b(?:before|prior to|earlier than){_THE_YEAR} (?P<n>\d{{4}})\b", ("<",)),
    (rf"\b(?:until|through|by){_THE_YEAR} (?P<n>\d{{4}})\b", ("<=",)),
    (r"\b(?:in|of|during|for|on)(?: the)?(?: year| season)?(?: of)? (?P<n>\d{4})\b", ("=",)),
    (r"\b(?P<n>(?:1[5-9]|20)\d\d)\b", ("=",)),
)
_DATE = re.compile(
    r"\b(?P<sign>after|before|since|until|prior to|in|on|during|by|of)(?: the month of)? "
    rf"(?:(?P<d>\d{{1,2}}) )?(?P<m>{'|'.join(MONTH_NAMES)})\b"
    r"(?: (?P<e>\d{1,2})(?:st|nd|rd|th)?\b)?(?: (?P<y>\d{4})\b)?"
)
_BEFORE_NUMBERS = """with had has have won scored of is was by than lost only were are finished
ranked for in played earned received got week round episode season number volume game stage rank
district group position place lap day pick series class grade route no"""
_EQUAL: tuple[tuple[str, tuple[Comparison, ...]], ...] = (
    (rf"\b(?:{'|'.join(_BEFORE_NUMBERS.split())}) {_N}", ("=",)),
)


class _Compared(NamedTuple):
    """What the words compare with, before it is known which column they mean."""

    places: frozenset[int]
    signs: tuple[Comparison, ...]
    numbers: tuple[float, ...]
    at: int
    """Place of the (first) number."""


def comparison_slots(asked: Sentence) -> list[Slot]:
    kinds: tuple[Source, ...] = ("compare", "year", "equal")
    patterns = zip((_SIGNS, _YEARS, _EQUAL), kinds, strict=True)
    compared = (slot for some, kind in patterns for slot in _compared(asked, some, kind=kind))
    return [slot for slot in (*_dates(asked), *compared) if slot.choices]


def _compared(
    asked: Sentence, patterns: tuple[tuple[str, tuple[Comparison, ...]], ...], *, kind: Source
) -> Iterator[Slot]:
    for pattern, signs in patterns:
        for match, places in asked.finditer(re.compile(pattern)):
            numbers = []
            for name in ("n", "m") if "m" in match.re.groupindex else ("n",):
                first, _, scale = match[name].partition(" ")
                value = number(first)
                numbers += [] if value is None else [value * SCALES.get(scale, 1.0)]
            if len(numbers) != len(signs):
                continue
            at = min(asked.places(match.start("n"), match.end("n")))
            compared = _Compared(places, signs, tuple(numbers), at)
            yield Slot(places, tuple(_choices(asked, compared, kind)))


def _choices(asked: Sentence, compared: _Compared, kind: Source) -> list[Choice]:
    years = all(is_year(value) for value in compared.numbers)
    found: dict[str, Choice] = {}
    for column, cue, closeness in _columns_for(asked, compared):
        temporal = column.kind in {"year", "date"}
        is_label = column.kind == "label" and compared.signs == ("=",) and cue
        if (
            column.name in found
            or not (column.measurable or is_label)
            or (temporal and not years)
            or (kind == "year" and not temporal)
            or (kind == "equal" and not cue)
        ):
            continue
        transform = "year" if temporal and column.transform else column.transform
        pairs = [
            (sign, int(value) if value == int(value) else value)
            for sign, value in zip(compared.signs, compared.numbers, strict=True)
        ]
        low, high = column.minimum, column.maximum
        outside = (
            low is not None
            and high is not None
            and not any(low <= value <= high for value in compared.numbers)
        )
        base = {"compare": 1.6, "year": 1.2, "equal": 0.7}[kind]
        found[column.name] = Choice(
            conditions=tuple(
                Filter(column=column.name, comparison=sign, value=value, transform=transform)
                for sign, value in pairs
            ),
            column=column.name,
            places=compared.places | cue,
            score=base + closeness - 0.8 * outside,
            source=kind if compared.signs != ("=",) or kind == "year" else "equal",
            said=" and ".join(f"{column.name} {sign} {value}" for sign, value in pairs),
            cued=bool(cue),
        )
    return sorted(found.values(), key=lambda choice: -choice.score)[:MOST_CHOICES]


def _columns_for(
    asked: Sentence, compared: _Compared
) -> Iterator[tuple[ColumnFacts, frozenset[int], float]]:
    """Columns that a number may belong to: named after it, before it, or any of its kind."""
    after, before = max(compared.places), min(compared.places)
    for mention in asked.mention_within(compared.at + 1, after + 3):
        yield mention.column, mention.places, 0.6 * mention.score - 0.05 * (mention.first - after)
    for mention in asked.mentions:
        if before - 4 <= mention.last < before or before <= mention.first < compared.at:
            yield mention.column, mention.places, 0.5 * mention.score
    for mention in asked.mentions:
        yield mention.column, mention.places, 0.15 * mention.score
    for column in asked.table.columns:
        header = {"year", "date", "season"} & set(column.words)
        yield column, frozenset(), 0.1 * bool(header) - 0.02 * column.place


def _dates(asked: Sentence) -> Iterator[Slot]:
    for match, places in asked.finditer(_DATE):
        # A date with its year that rows are compared with is hardly anything else.
        sure = 2.6
        if match["sign"] in {"in", "on", "of", "during"}:
            sure = 2.1 if match["y"] and not (match["d"] or match["e"]) else 1.5
        choices = []
        for one in asked.table.columns:
            if one.kind == "date":
                made, score = _date_conditions(one, match), sure - 0.05 * one.place
                said = f"{one.name}: {match[0]}"
                choices.append(Choice(made, one.name, places, score, "date", said))
        yield Slot(places, tuple(choices[:MOST_CHOICES]))


def _date_conditions(column: ColumnFacts, match: re.Match[str]) -> tuple[Condition, ...]:
    year, month = int(match["y"] or 0), MONTHS[match["m"]]
    day = int(match["d"] or match["e"] or 0)
    within = match["sign"] in {"in", "on", "during", "of"}
    if not year and not day and within:
        return (Filter(column=column.name, comparison="=", value=month, transform="month"),)
    low = year * 10_000 + month * 100 + day
    high = low if day else low + 99
    comparisons: dict[str, tuple[Comparison, int]] = {"after": (">", high), "since": (">=", low)}
    comparisons |= dict.fromkeys(("before", "prior to"), ("<", low))
    comparisons |= dict.fromkeys(("until", "by"), ("<=", high))
    single = comparisons.get(match["sign"])
    both: list[tuple[Comparison, int]] = [single] if single else [(">=", low), ("<=", high)]
    return tuple(
        Filter(column=column.name, comparison=sign, value=value, transform="date")
        for sign, value in both
    )


# Conditions that name a value: `from canada`, `"friendly" in the competition column`, `not`.

_NEGATIONS = """not never without except excluding besides n't didn't wasn't weren't don't doesn't
isn't aren't hasn't haven't non"""
NEGATIONS = frozenset(_NEGATIONS.split())
MOST_SHOWN = 2
NEGATION_REACH = 3


def value_slots(asked: Sentence) -> list[Slot]:
    """Spans of the question that name values; each with the columns that hold them."""
    spans: dict[tuple[int, int], list[Choice]] = defaultdict(list)
    for stored in stored_values(asked.table, asked.words):
        spans[stored.first, stored.last].append(_value_choice(asked, stored))
    found = []
    for (first, last), choices in spans.items():
        best = sorted(choices, key=lambda choice: -choice.score)[:MOST_CHOICES]
        found.append(Slot(frozenset(range(first, last + 1)), tuple(best)))
    return found


def _value_choice(asked: Sentence, stored: Stored) -> Choice:
    name, values = stored.column.name, stored.values
    words = asked.words[stored.first : stored.last + 1]
    cue, negation = _cue(asked, stored), _negation(asked, stored.first)
    score = 0.6 * sum(word.text not in EMPTY_WORDS for word in words) + 0.8 * stored.exact
    score -= 0.7 * all(number(word.text) is not None for word in words)
    named = [one for one in asked.mentions if one.first == stored.first and one.score >= 0.8]  # noqa: PLR2004
    score -= 0.5 * (len(words) == 1 and bool(named))
    shown = ", ".join(repr(value) for value in values[:MOST_SHOWN])
    more = len(values) - MOST_SHOWN
    shown += f" or {more} more" if more > 0 else ""
    several = len(values) > 1
    condition = Filter(
        column=name,
        comparison="in" if several else "=",
        value=None if several else values[0],
        values=values if several else (),
        negated=bool(negation),
    )
    return Choice(
        conditions=(condition,),
        column=name,
        places=frozenset(range(stored.first, stored.last + 1)) | cue | negation,
        score=score - 0.02 * stored.column.place + 0.4 * bool(cue),
        source="exact" if stored.exact else "partial",
        said=f"{name} {'is not' if negation else 'is'} {shown}",
        cued=bool(cue),
        equality=True,
        values=values,
        negated=bool(negation),
    )


def _cue(asked: Sentence, stored: Stored) -> frozenset[int]:
    """Words beside the value that name its column: `region east`, `the east region`."""
    for mention in asked.mentions:
        if mention.column is not stored.column:
            continue
        if mention.last < stored.first <= mention.last + 3 or (
            stored.last < mention.first <= stored.last + 3
        ):
            return mention.places
    return frozenset()


def _negation(asked: Sentence, first: int) -> frozenset[int]:
    """Words before the value that turn it around."""
    words = [word.text for word in asked.words]
    before = first
    while before and words[before - 1] in {"a", "an", "the"}:
        before -= 1
    if words[max(0, before - 2) : before] == ["other", "than"]:
        return frozenset({before - 2, before - 1})
    near = range(max(0, before - NEGATION_REACH), before)
    return frozenset(place for place in near if words[place] in NEGATIONS)


# Which values of a table the words of a question name.

LONGEST_NAME = 9
"""Words of a value that are looked for in a question."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Values of a column that words of a question name."""

    column: ColumnFacts
    values: tuple[str, ...]
    """As stored."""
    exact: bool
    """The words are the whole value."""
    first: int
    last: int
    """Places of the words among the question's, the last included."""


def stored_values(table: TableIndex, question: Sequence[Token]) -> list[Stored]:
    """Every value that words of the question name; within one column the longest words win."""
    found: list[Stored] = []
    taken: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for length in range(min(LONGEST_NAME, len(question)), 0, -1):
        named = [
            one
            for first in range(len(question) - length + 1)
            for one in _named(table, question, first, first + length - 1)
            if not any(a <= one.first and one.last <= b for a, b in taken[one.column.name])
        ]
        found += named
        for one in named:
            taken[one.column.name].append((one.first, one.last))
    return found


def _named(table: TableIndex, question: Sequence[Token], first: int, last: int) -> Iterator[Stored]:
    words = tuple(token.stem for token in question[first : last + 1])
    edges = {question[first].text, question[last].text}
    if first == last and edges <= FUNCTION_WORDS:
        return
    exact: dict[int, list[str]] = defaultdict(list)
    for place, value in table.whole.get(words, ()):
        exact[place].append(value)
    partial: dict[int, list[str]] = defaultdict(list)
    if not edges & FUNCTION_WORDS:
        for place, value in _holding(table, words):
            partial[place].append(value)
    for place in sorted(exact.keys() | partial.keys()):
        column = table.columns[place]
        whole = tuple(exact.get(place, ()))
        if whole:
            yield Stored(column, whole, exact=True, first=first, last=last)
        if place in partial:
            every = tuple(dict.fromkeys((*whole, *partial[place])))
            yield Stored(column, every, exact=False, first=first, last=last)


def _holding(table: TableIndex, words: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Longer values in which the words stand together."""
    postings = [table.postings.get(word, set()) for word in words]
    length = len(words)
    for place, at in sorted(set.intersection(*postings)):
        value, stems = table.cells[table.columns[place].name][at]
        starts = range(len(stems) - length + 1)
        if stems != words and any(stems[start : start + length] == words for start in starts):
            yield place, value
