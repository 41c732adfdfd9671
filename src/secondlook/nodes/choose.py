"""Chooses among the options of a multiple-choice question, by what the research found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.choosing import chosen, task_of
from secondlook.nodes.choosing.task import NODE
from secondlook.state import Choices, Chosen, Draft, Plan, Question, Trace, step

if TYPE_CHECKING:
    from secondlook.state import ChoiceData


class ToChoose(Question, Choices, Draft, Plan):
    """The question, its options, and what the research found."""


class ChosenUpdate(Chosen, Trace):
    pass


async def choose(state: ToChoose, runtime: Runtime[Context]) -> ChosenUpdate:
    options = state.get("choices", {})
    if not options:
        told = step(NODE, "The question has no options.", options=0)
        return {"choice": None, "steps": [told], "warnings": []}
    task = task_of(state["question"], options, state.get("draft"), state.get("plan", []))
    made = await chosen(runtime.context, task)
    told = step(
        NODE,
        _said(made.choice),
        made.numbers,
        options=len(options),
        letter=made.choice["letter"],
        agreed=made.choice["agreed"],
        grounded=made.choice["grounded"],
        confidence=made.choice["confidence"],
    )
    return {"choice": made.choice, "steps": [told], "warnings": made.warnings}


def _said(choice: ChoiceData) -> str:
    letter, why = choice["letter"], choice["why"]
    return f"No option was chosen: {why}." if letter is None else f"Chosen: ({letter}), for {why}."
