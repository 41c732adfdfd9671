"""What a research does next: a next step, a failed one in other words, or no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import ModelUnavailable
from tests.support.function_model import FunctionModel
from tests.support.planning import (
    FIRST,
    SECOND,
    after,
    context,
    done,
    lost,
    replanned,
    speaking,
    told,
)

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest

OTHERWISE = "When does private necessity allow a ship's captain to moor at a private pier?"
QUERY = "whether a captain must compensate or repay the owner for damage to a private pier"


def missing(request: ChatRequest) -> dict[str, Any]:
    """Looks at what the steps asked, and asks for what none of them did."""
    steps = request.messages[-1].content
    if "failed" in steps:
        return {"action": "retry", "phase": "Necessity", "question": OTHERWISE, "queries": []}
    if SECOND in steps:
        return {"action": "complete"}
    return {"action": "next_step", "phase": "damages", "question": SECOND, "queries": [QUERY]}


def test_what_no_step_has_asked_comes_next() -> None:
    model = speaking(missing)
    update = replanned(context(model))
    first, step = update["plan"]
    assert first["question"] == FIRST
    assert (step["id"], step["status"], step["question"]) == (2, "pending", SECOND)
    assert (step["phase"], step["retry_of"], step["attempt"]) == ("Damages", None, 1)
    assert step["queries"][0] == QUERY
    assert len(step["queries"]) == 3
    assert (update["route"], update["stopped"], update["warnings"]) == ("search_step", "", [])
    route = told(update).route
    assert route is not None
    assert (route.to, route.why) == ("search_step", "something is still missing")
    assert told(update).numbers["action"] == "next_step"
    assert len(model.requests) == 1


def test_a_failed_step_is_tried_in_other_words() -> None:
    update = replanned(context(speaking(missing)), after(done(SECOND), lost(FIRST, attempt=2)))
    step = update["plan"][2]
    assert (step["question"], step["retry_of"], step["attempt"]) == (OTHERWISE, 2, 3)
    assert told(update).numbers["action"] == "retry"
    assert told(update).said == f"Again: {OTHERWISE}"


def away(_: ChatRequest) -> str:
    raise ModelUnavailable("it is away")


@pytest.mark.parametrize("model", [FunctionModel(away), FunctionModel(lambda _: "no plan")])
def test_a_model_that_fails_ends_the_research_with_what_there_is(model: FunctionModel) -> None:
    update = replanned(context(model))
    assert (len(update["plan"]), update["route"]) == (1, "aggregate")
    assert update["stopped"] == "no model could say what is missing"
    assert update["warnings"][0]["consequence"] == "the research ended with what there was"


@pytest.mark.parametrize(
    ("steps", "limits", "why"),
    [
        ((done(FIRST),), {"max_steps": 1}, "1 steps are done, as many as may be"),
        ((lost(FIRST), lost(SECOND)), {"max_cycles": 2}, "2 steps were tried, as many as may be"),
    ],
)
def test_no_step_is_planned_past_the_caps(
    steps: tuple[Any, ...], limits: dict[str, int], why: str
) -> None:
    model = speaking(missing)
    update = replanned(context(model, research=limits), after(*steps))
    assert (update["route"], update["stopped"]) == ("aggregate", why)
    assert model.requests == []
    assert len(update["plan"]) == len(steps)
