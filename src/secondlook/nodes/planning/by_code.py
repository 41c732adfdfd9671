"""Steps of a research that need no model: the question's own parts, then what its best passage
names and does not tell of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.nodes.parts.forms import split_by_form

if TYPE_CHECKING:
    from secondlook.answer import QueryType
    from secondlook.context import Context
    from secondlook.state import Researched

FIRST = "The question"
"""Phase of a step that asks what was asked."""


@dataclass(frozen=True, slots=True)
class StepPlanned:
    question: str
    phase: str
    queries: tuple[str, ...] = ()
    """Where it is known already what to search for."""


def first_step(question: str, query_type: QueryType) -> StepPlanned:
    """The first part of a question that can be taken apart, else the question itself."""
    made = split_by_form(question) if query_type == "multi_hop" else None
    if made is None or "{" in made.parts[0]:
        return StepPlanned(question, FIRST)
    return StepPlanned(made.parts[0], "First part")


async def next_step(context: Context, state: Researched) -> StepPlanned | None:  # noqa: ARG001
    """What to look into after the steps so far; None where nothing is left to ask."""
    return None
