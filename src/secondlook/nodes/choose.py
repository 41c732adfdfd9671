"""Chooses among the options of a multiple-choice question, by what the research found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.aggregate import findings, together
from secondlook.nodes.choosing import chosen, task_of
from secondlook.nodes.choosing.task import NODE
from secondlook.nodes.researching.shown import standing
from secondlook.state import Choices, Chosen, Draft, Plan, Question, Trace, step

if TYPE_CHECKING:
    from secondlook.state import ChoiceData, DraftData


class ToChoose(Question, Choices, Draft, Plan):
    """The question, its options, and what the research found."""


class ChosenUpdate(Chosen, Draft, Trace):
    pass


async def choose(state: ToChoose, runtime: Runtime[Context]) -> ChosenUpdate:
    options = state.get("choices", {})
    if not options:
        told = step(NODE, "The question has no options.", options=0)
        return {"choice": None, "draft": state["draft"], "steps": [told], "warnings": []}
    draft = _to_choose_on(state)
    task = task_of(state["question"], options, draft, state.get("plan", []))
    made = await chosen(runtime.context, task)
    if made.choice["letter"] is None:
        draft = state["draft"]
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
    return {"choice": made.choice, "draft": draft, "steps": [told], "warnings": made.warnings}


def _to_choose_on(state: ToChoose) -> DraftData:
    """The answer; or the findings of the steps where no answer could be read out of them: they may
    speak for an option all the same."""
    done = standing(state.get("plan", []))
    if state["draft"]["sentences"] or not findings(done):
        return state["draft"]
    return together(done)


def _said(choice: ChoiceData) -> str:
    letter, why = choice["letter"], choice["why"]
    return f"No option was chosen: {why}." if letter is None else f"Chosen: ({letter}), for {why}."
