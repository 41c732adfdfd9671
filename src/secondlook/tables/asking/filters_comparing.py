"""Conditions that compare: `at least 3 gold medals`, `after march 2004`, `between 5 and 10`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from secondlook.tables.asking.filters_slots import MOST_CHOICES, Choice, Slot, Source
from secondlook.tables.asking.rows_vocabulary import (
    MONTH_NAMES,
    MONTHS,
    NUMBER_WORDS,
    ORDINALS,
    RANKS,
    SCALES,
)
from secondlook.tables.asking.rows_words import is_year, number
from secondlook.tables.query import Comparison, Condition, Filter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.tables.asking.rows_columns import ColumnFacts
    from secondlook.tables.asking.rows_sentence import Sentence

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
_DECADE = re.compile(r"\b(?:in |during )?the (?P<n>(?:1[5-9]|20)\d0) ?s\b")
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
_RANKED = re.compile(
    r"\b(?:in|finish(?:ed|es)?|placed|ranked|received|came|come|won|got|took|place|position)"
    rf"(?: in)?(?: the)? (?P<n>{'|'.join(ORDINALS)}|\d+(?=st|nd|rd|th))(?:st|nd|rd|th)?"
    r"(?: place| position)?\b"
)
_GONE = re.compile(r"\b(?:missing|empty|blank|unknown|not (?:known|given|recorded|available))\b")


SURE = 0.8
BESIDE = 3
"""Words between a column and that it is missing."""


class _Compared(NamedTuple):
    """What the words compare with, before it is known which column they mean."""

    places: frozenset[int]
    signs: tuple[Comparison, ...]
    numbers: tuple[float, ...]
    at: int
    """Place of the (first) number."""


def comparison_slots(asked: Sentence) -> list[Slot]:
    slots = [*_dates(asked), *_decades(asked), *_missing(asked), *_ranked(asked)]
    slots += _compared(asked, _SIGNS, kind="compare")
    slots += _compared(asked, _YEARS, kind="year")
    slots += _compared(asked, _EQUAL, kind="equal")
    return [slot for slot in slots if slot.choices]


def _compared(
    asked: Sentence, patterns: tuple[tuple[str, tuple[Comparison, ...]], ...], *, kind: Source
) -> Iterator[Slot]:
    for pattern, signs in patterns:
        for match, places in asked.finditer(re.compile(pattern)):
            numbers = tuple(
                value
                for name in ("n", "m")
                if name in match.re.groupindex and (value := _value(match[name])) is not None
            )
            if len(numbers) != len(signs):
                continue
            at = min(asked.places(match.start("n"), match.end("n")))
            compared = _Compared(places, signs, numbers, at)
            yield Slot(places, tuple(_choices(asked, compared, kind)))


def _value(words: str) -> float | None:
    first, _, scale = words.partition(" ")
    value = number(first)
    return value * SCALES.get(scale, 1.0) if value is not None else None


def _choices(asked: Sentence, compared: _Compared, kind: Source) -> list[Choice]:
    years = all(is_year(value) for value in compared.numbers)
    found: dict[str, Choice] = {}
    for column, cue, closeness in _columns_for(asked, compared):
        if column.name in found or not (column.measurable or column.kind == "label"):
            continue
        if column.kind == "label" and (compared.signs != ("=",) or not cue):
            continue
        temporal = column.kind in {"year", "date"}
        if kind == "year" and not (years and temporal):
            continue
        if temporal and not years:
            continue
        if kind == "equal" and not cue:
            continue
        found[column.name] = _choice(column, compared, cue, kind, closeness)
    return sorted(found.values(), key=lambda choice: -choice.score)[:MOST_CHOICES]


def _choice(
    column: ColumnFacts, compared: _Compared, cue: frozenset[int], kind: Source, closeness: float
) -> Choice:
    transform = "year" if column.kind in {"year", "date"} and column.transform else column.transform
    conditions: tuple[Condition, ...] = tuple(
        Filter(column=column.name, comparison=sign, value=_whole(value), transform=transform)
        for sign, value in zip(compared.signs, compared.numbers, strict=True)
    )
    said = " and ".join(
        f"{column.name} {sign} {_whole(value)}"
        for sign, value in zip(compared.signs, compared.numbers, strict=True)
    )
    base = {"compare": 1.6, "year": 1.2, "equal": 0.7}[kind]
    inside = _inside(column, compared.numbers)
    return Choice(
        conditions=conditions,
        column=column.name,
        places=compared.places | cue,
        score=base + closeness + (0.0 if inside else -0.8),
        source=kind if compared.signs != ("=",) or kind == "year" else "equal",
        said=said,
        cued=bool(cue),
    )


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _inside(column: ColumnFacts, numbers: tuple[float, ...]) -> bool:
    if column.minimum is None or column.maximum is None:
        return True
    return any(column.minimum <= value <= column.maximum for value in numbers)


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
        choices = []
        for column in asked.table.columns:
            if column.kind == "date":
                conditions = _date_conditions(column, match)
                said = f"{column.name}: {match[0]}"
                score = _sureness(match) - 0.05 * column.place
                choices.append(Choice(conditions, column.name, places, score, "date", said))
        yield Slot(places, tuple(choices[:MOST_CHOICES]))


def _sureness(match: re.Match[str]) -> float:
    """A date with its year that rows are compared with is hardly anything else."""
    if match["sign"] in {"in", "on", "of", "during"}:
        return 2.1 if match["y"] and not (match["d"] or match["e"]) else 1.5
    return 2.6


def _date_conditions(column: ColumnFacts, match: re.Match[str]) -> tuple[Condition, ...]:
    year, month = int(match["y"] or 0), MONTHS[match["m"]]
    day = int(match["d"] or match["e"] or 0)
    sign = match["sign"]
    if not year and not day and sign in {"in", "on", "during", "of"}:
        return (Filter(column=column.name, comparison="=", value=month, transform="month"),)
    low = year * 10_000 + month * 100 + day
    high = low if day else low + 99

    def compare(comparison: Comparison, value: int) -> Filter:
        return Filter(column=column.name, comparison=comparison, value=value, transform="date")

    signs: dict[str, tuple[Filter, ...]] = {
        "after": (compare(">", high),),
        "since": (compare(">=", low),),
        "before": (compare("<", low),),
        "prior to": (compare("<", low),),
        "until": (compare("<=", high),),
        "by": (compare("<=", high),),
    }
    return signs.get(sign, (compare(">=", low), compare("<=", high)))


def _decades(asked: Sentence) -> Iterator[Slot]:
    for match, places in asked.finditer(_DECADE):
        first = float(match["n"])
        compared = _Compared(places, (">=", "<="), (first, first + 9), max(places))
        yield Slot(places, tuple(_choices(asked, compared, "year")))


def _missing(asked: Sentence) -> Iterator[Slot]:
    """`the age is missing`, `rows with missing ages`: the column is named beside it."""
    for _, places in asked.finditer(_GONE):
        choices = []
        for mention in asked.mentions:
            beside = min(abs(mention.last - min(places)), abs(mention.first - max(places)))
            if mention.score >= SURE and beside <= BESIDE and not mention.places & places:
                condition = Filter(column=mention.column.name, comparison="missing")
                said = f"{mention.column.name} is missing"
                used = places | mention.places
                score = 1.0 + mention.score
                choices.append(
                    Choice((condition,), mention.column.name, used, score, "missing", said, True)  # noqa: FBT003
                )
        yield Slot(places, tuple(choices[:MOST_CHOICES]))


def _ranked(asked: Sentence) -> Iterator[Slot]:
    """`finished third`, `in 2nd place`: a column of ranks is meant."""
    for match, places in asked.finditer(_RANKED):
        rank = ORDINALS.get(match["n"]) or int(match["n"])
        choices = tuple(
            Choice(
                conditions=(
                    Filter(
                        column=column.name,
                        comparison="=",
                        value=rank,
                        transform=column.transform,
                    ),
                ),
                column=column.name,
                places=places,
                score=1.3 - 0.05 * column.place,
                source="rank",
                said=f"{column.name} = {rank}",
            )
            for column in asked.table.columns
            if column.kind == "number" and set(column.words) & RANKS
        )
        yield Slot(places, choices[:MOST_CHOICES])
