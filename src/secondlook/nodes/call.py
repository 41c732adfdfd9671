"""Puts a question, or a part of it, to another workflow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.answer import Answer
from secondlook.context import Context  # noqa: TC001
from secondlook.state import Asked, Calls, Evidence, Trace, next_call, step

if TYPE_CHECKING:
    from secondlook.state import CallData


class ToCall(Asked, Calls, Trace):
    pass


class Returned(Evidence, Trace):
    answers: list[dict[str, Any]]


async def call(state: ToCall, runtime: Runtime[Context]) -> Returned:
    """The workflow that is next runs as part of this step: its own steps are seen and kept one by
    one, and it goes on where it was stopped."""
    asked = next_call(state)
    assert asked is not None  # noqa: S101 - the router has looked
    name = asked["workflow"]
    context = within(runtime.context, name)
    if state["answers"] and state["both"]:
        runtime.stream_writer({"token": "\n\n"})
    elif state["answers"]:
        runtime.stream_writer({"redraft": "the first try brought no answer"})
    ended = await context.workflows[name].ainvoke(_first_state(asked), context=context)
    answer = Answer.model_validate(ended["answer"])
    inner = [{**told, "workflow": name} for told in ended["steps"]]
    told = step(name, _said(answer), {"status": answer.status, "sure": answer.confidence.value})
    return {
        "answers": [*state["answers"], ended["answer"]],
        "found": ended["found"],
        "steps": [*inner, told],
        "warnings": ended["warnings"],
    }


def within(context: Context, workflow: str) -> Context:
    """The services of the run as another workflow is given them."""
    return replace(context, workflow=workflow, models=replace(context.models, workflow=workflow))


def _first_state(asked: CallData) -> dict[str, Any]:
    return {
        "question": asked["question"],
        "scope": asked["scope"],
        "queries": [asked["question"]],
        "found": [],
        "steps": [],
        "warnings": [],
    }


def _said(answer: Answer) -> str:
    said = {
        "answered": "It gave an answer.",
        "partial": "It gave part of an answer.",
        "abstained": "It found no answer.",
        "refused": "It refused.",
        "failed": "It could not go on.",
    }
    return said[answer.status]
