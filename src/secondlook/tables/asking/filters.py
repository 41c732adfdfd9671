"""Conditions on rows, read out of a question: values it names, comparisons, years and dates."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from secondlook.tables.asking.filters_comparing import comparison_slots
from secondlook.tables.asking.filters_values import value_slots
from secondlook.tables.asking.rows_index import index
from secondlook.tables.asking.rows_sentence import Sentence, sentence
from secondlook.tables.query import Condition, Filter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.asking.filters_slots import Choice, Slot
    from secondlook.tables.resolving import Resolver
    from secondlook.tables.resolving.port import AskedTable

MOST_SLOTS = 4
MOST_SETS = 14


@dataclass(frozen=True, slots=True)
class Clause:
    """Characters [start, end) of a question say a condition on rows of a table."""

    start: int
    end: int
    condition: Condition
    table: str
    """Id of the table."""
    score: float
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
            found[found.index(clash)] = clash.joined(slot)
    best = sorted(found, key=lambda slot: -slot.score)[:MOST_SLOTS]
    return sorted(best, key=lambda slot: slot.first)


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
        same = next((one for one in joined if _same_column(one, choice)), None)
        if same is None:
            joined.append(choice)
        elif _alternatives(same, choice, asked):
            joined[joined.index(same)] = same.either(choice)
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


def _same_column(one: Choice, other: Choice) -> bool:
    return one.equality and other.equality and one.column == other.column


def _alternatives(one: Choice, other: Choice, asked: Sentence) -> bool:
    between = range(max(one.places) + 1, min(other.places))
    words = {asked.words[place].text for place in between}
    return bool(words & {"or", "and"}) or len(between) == 0


def conditions(
    question: str, tables: Sequence[AskedTable], resolver: Resolver | None = None
) -> list[Clause]:
    """The likeliest conditions that a question sets, over all tables, in its order."""
    del resolver
    found: list[Clause] = []
    for table in tables:
        asked = sentence(question, index(table))
        for choice in condition_sets(asked)[0].choices:
            start = min(asked.words[place].start for place in choice.places)
            end = max(asked.words[place].end for place in choice.places)
            found += [
                Clause(start, end, one, table.table.id, choice.score, choice.said)
                for one in choice.conditions
            ]
    return sorted(found, key=lambda clause: clause.start)


__all__ = ["Clause", "ConditionSet", "Filter", "condition_sets", "conditions", "slots"]
