"""What a research does next: a next step, a failed one in other words, or no more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import ModelUnavailable
from secondlook.nodes.state import unread
from tests.support.function_model import FunctionModel
from tests.support.planning import (
    CHOICES,
    FIRST,
    SECOND,
    STORM,
    after,
    context,
    done,
    last_prompt,
    lost,
    prompts,
    replanned,
    sentence,
    shelf,
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


def test_the_model_is_told_records_between_marks_and_no_choices() -> None:
    held = shelf()
    found = [unread(passage) for passage in held.held]
    steps = (
        done(FIRST, sentence("It does in a storm.")),
        lost(SECOND, "damage.0", "trespass.0"),
    )
    model = speaking(missing)
    given = context(model, research={"vocabulary": "Say privilege."})
    replanned(given, after(*steps, found=found))
    prompt = last_prompt(model)
    assert prompt.startswith(f"Field: Say privilege.\nQuestion: {STORM}\n")
    blocks = re.findall(r"<<evidence-\w{8} (\d)>> (.*)\n(.*)", prompt)
    assert blocks == [
        ("1", f"Necessity: {FIRST}", "completed (0.80): It does in a storm."),
        (
            "2",
            f"Necessity: {SECOND}",
            "failed (0.21): found no answer, best passages: Damage; Trespass",
        ),
    ]
    assert not any(text in prompts(model) for text in CHOICES.values())


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
