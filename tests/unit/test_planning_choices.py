"""Whoever plans, words searches, writes findings and plans on is never told the choices."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, get_type_hints

import pytest
from langgraph.runtime import Runtime

from secondlook.nodes.choices import separate
from secondlook.nodes.plan import plan, replan
from secondlook.nodes.research import evaluate, search_step, synthesise
from tests.support.engine import context_of, settings_of, state_of
from tests.support.function_model import FunctionModel
from tests.support.planning import ASKED, CHOICES, FIRST, SECOND, STORM, prompts, shelf

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest

QUERY = "whether private necessity allows a captain or master to moor at a private pier"
BLIND = (plan, search_step, synthesise, evaluate, replan)


def researcher(request: ChatRequest) -> str:
    """Plans, words, writes and plans on, told by its prompts which of it to do."""
    told = request.messages[0].content
    said: dict[str, Any]
    if told.startswith("You plan research"):
        said = {"phase": "Necessity", "question": FIRST, "queries": [QUERY]}
    elif told.startswith("You write three search queries"):
        said = {"queries": [QUERY]}
    elif told.startswith("You decide what research"):
        said = {"action": "next_step", "phase": "Damage", "question": SECOND, "queries": []}
    else:
        return "Private necessity lets a captain moor at a private pier in a storm [1]."
    return json.dumps(said)


async def researched(model: FunctionModel, calls: str) -> dict[str, Any]:
    context = context_of(
        model=model,
        shelf=shelf(),
        settings=settings_of(research={"calls": calls, "min_confidence": 0.0}),
        question=ASKED,
        workflow="research",
    )
    state = state_of(ASKED, query_type="multi_hop", escalated=False)
    for node in (separate, *BLIND, search_step, synthesise):
        state |= await node(state, Runtime(context=context))  # type: ignore[arg-type]
    return state


@pytest.mark.parametrize("calls", ["merged", "separate"])
def test_no_prompt_holds_a_choice(calls: str) -> None:
    model = FunctionModel(researcher)
    state = asyncio.run(researched(model, calls))
    assert state["question"] == STORM
    assert state["choices"] == CHOICES
    assert [step["question"] for step in state["plan"]] == [FIRST, SECOND]
    asked = {request.messages[0].content.split(".")[0] for request in model.requests}
    assert len(asked) == (3 if calls == "merged" else 4)
    sent = prompts(model)
    for letter, text in CHOICES.items():
        assert text not in sent
        assert f"({letter})" not in sent
        assert not any(text[at : at + 30] in sent for at in range(len(text) - 30))


@pytest.mark.parametrize("node", BLIND)
def test_no_such_node_can_see_them(node: Any) -> None:
    """A node sees the slice that it names, and none of these names the choices."""
    assert "choices" not in get_type_hints(get_type_hints(node)["state"])
