"""Conditions that name a value: `from canada`, `"friendly" in the competition column`, `not`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from secondlook.tables.asking.filters_matching import Stored, stored_values
from secondlook.tables.asking.filters_slots import MOST_CHOICES, Choice, Slot
from secondlook.tables.asking.rows_vocabulary import EMPTY_WORDS
from secondlook.tables.asking.rows_words import number
from secondlook.tables.query import Condition, Filter

if TYPE_CHECKING:
    from secondlook.tables.asking.rows_sentence import Sentence

NEGATIONS = frozenset(
    {"not", "never", "without", "except", "excluding", "besides", "n't", "didn't", "wasn't"}
    | {"weren't", "don't", "doesn't", "isn't", "aren't", "hasn't", "haven't", "non"}
)
MOST_SHOWN = 2
NEGATION_REACH = 3


def value_slots(asked: Sentence) -> list[Slot]:
    """Spans of the question that name values; each with the columns that hold them."""
    spans: dict[tuple[int, int], list[Choice]] = defaultdict(list)
    for stored in stored_values(asked.table, asked.words):
        spans[stored.first, stored.last].append(_choice(asked, stored))
    found = []
    for (first, last), choices in spans.items():
        best = sorted(choices, key=lambda choice: -choice.score)[:MOST_CHOICES]
        found.append(Slot(frozenset(range(first, last + 1)), tuple(best)))
    return found


def _choice(asked: Sentence, stored: Stored) -> Choice:
    places = frozenset(range(stored.first, stored.last + 1))
    cue = _cue(asked, stored)
    negation = _negation(asked, stored.first)
    negated = bool(negation)
    said = f"{stored.column.name} {'is not' if negated else 'is'} {_shown(stored)}"
    return Choice(
        conditions=(_condition(stored, negated=negated),),
        column=stored.column.name,
        places=places | cue | negation,
        score=_score(asked, stored) + 0.4 * bool(cue),
        source="exact" if stored.exact else "partial",
        said=said,
        cued=bool(cue),
        equality=True,
        values=stored.values,
        negated=negated,
    )


def _condition(stored: Stored, *, negated: bool) -> Condition:
    name = stored.column.name
    if len(stored.values) == 1:
        return Filter(column=name, comparison="=", value=stored.values[0], negated=negated)
    return Filter(column=name, comparison="in", values=stored.values, negated=negated)


def _shown(stored: Stored) -> str:
    shown = ", ".join(repr(value) for value in stored.values[:MOST_SHOWN])
    more = len(stored.values) - MOST_SHOWN
    return shown + (f" or {more} more" if more > 0 else "")


def _score(asked: Sentence, stored: Stored) -> float:
    words = asked.words[stored.first : stored.last + 1]
    content = sum(word.text not in EMPTY_WORDS for word in words)
    score = 0.6 * content + (0.8 if stored.exact else 0.0)
    if all(number(word.text) is not None for word in words):
        score -= 0.7
    if len(words) == 1 and any(
        one.first == stored.first and one.score >= 0.8  # noqa: PLR2004
        for one in asked.mentions
    ):
        score -= 0.5
    return score - 0.02 * stored.column.place


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
