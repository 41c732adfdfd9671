"""Steps of a research that need no model: the question's own parts, or the question itself and then
what its best passages name and do not tell of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from secondlook.nodes import ranking
from secondlook.nodes.follow import leads
from secondlook.nodes.meaning.unclear import unresolved
from secondlook.nodes.parts.forms import split_by_form
from secondlook.nodes.researching.shown import PART, of_step, standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import QueryType
    from secondlook.context import Context
    from secondlook.passage import Passage
    from secondlook.state import Researched, StepData

FIRST: Final = "The question"
"""Phase of a step that asks what was asked."""
FOLLOWED: Final = "What it leads to"
_BEST = 2
"""Passages whose names are followed."""
_SHORTEST: Final = 3
"""Words of a question that can stand by itself."""
_LONG: Final = 60
"""Words of a question that also tells a story."""
_ENOUGH: Final = 12
_SENTENCE: Final = re.compile(r"(?<=[.?!])\s+")
_ASKS = r"(?:who|whom|whose|what|when|where|why|which|how)\b"
_JOINT: Final = re.compile(rf"[,;?]?\s+and\s+(?={_ASKS})|\?\s+(?={_ASKS})", re.IGNORECASE)
_LEANS: Final = re.compile(
    r"\b(?:it|its|he|she|him|her|his|they|them|their|this|that|these|those|there|then|so|such)\b",
    re.IGNORECASE,
)
_SEVERAL: Final = "both"
"""How the answers of parts combine that were only joined by "and"."""


@dataclass(frozen=True, slots=True)
class StepPlanned:
    question: str
    phase: str
    queries: tuple[str, ...] = ()
    """Where it is known already what to search for."""


def first_step(question: str, query_type: QueryType) -> StepPlanned:
    """The first of two questions in one, else the question itself."""
    parts = joined_parts(question) if query_type == "multi_hop" else ()
    return StepPlanned(parts[0], PART) if parts else StepPlanned(question, FIRST)


async def next_step(context: Context, state: Researched) -> StepPlanned | None:
    """What to look into after the steps so far; None where nothing is left to ask."""
    plan, question = state["plan"], state["question"]
    if is_in_parts(plan):
        return next_part(state)
    if itself := unasked(state):
        return itself
    if any(one["phase"] == FOLLOWED for one in plan):
        return None
    best = await _best(context, state)
    names = _names(question, best)
    if not names:
        return None
    # The title says what "it" is in a passage that the question does not name.
    return StepPlanned(f"{question} ({best[0].title})", FOLLOWED, (question, *names))


def is_in_parts(plan: Sequence[StepData]) -> bool:
    return any(one["phase"] == PART for one in plan)


def next_part(state: Researched) -> StepPlanned | None:
    """The first part of the question that no step has asked."""
    asked = {one["question"] for one in state["plan"]}
    left = [part for part in joined_parts(state["question"]) if part not in asked]
    return StepPlanned(left[0], PART) if left else None


def unasked(state: Researched) -> StepPlanned | None:
    """The question itself, where all that a model asked in its place failed."""
    question = asking(state["question"])
    asked = {one["question"].casefold() for one in state["plan"]}
    if standing(state["plan"]) or question.casefold() in asked:
        return None
    # Searched for as it is: whoever could word it otherwise has had a say.
    return StepPlanned(question, FIRST, (question,))


def asking(question: str) -> str:
    """What a long question ends with: its facts would only lead the search astray."""
    if len(question.split()) <= _LONG:
        return question
    sentences = _SENTENCE.split(question.strip())
    asked = sentences[-1]
    for sentence in reversed(sentences[:-1]):
        if len(asked.split()) >= _ENOUGH:
            break
        asked = f"{sentence} {asked}"
    return asked


def joined_parts(question: str) -> tuple[str, ...]:
    """Questions that are only joined; a later one that leans on the first ("and when was it")
    stays with it."""
    made = split_by_form(question)
    if made is not None:
        return tuple(made.parts) if made.combining == _SEVERAL else ()
    parts = [part.strip(" ,;?") for part in _JOINT.split(question.strip())]
    whole = len(parts) > 1 and all(len(part.split()) >= _SHORTEST for part in parts)
    if not whole or any(unresolved(part) or _LEANS.search(part) for part in parts[1:]):
        return ()
    return tuple(f"{part[:1].upper()}{part[1:]}?" for part in parts)


async def _best(context: Context, state: Researched) -> list[Passage]:
    kept = ranking.kept(of_step(state["found"], state["plan"][-1]))[:_BEST]
    held = await ranking.texts(context, [item["id"] for item in kept])
    return [held[item["id"]] for item in kept if item["id"] in held]


def _names(question: str, best: list[Passage]) -> list[str]:
    titles = [passage.title for passage in best]
    named = [name for passage in best for name in leads(question, passage, titles)]
    return list({name.casefold(): name for name in reversed(named)}.values())[::-1]
