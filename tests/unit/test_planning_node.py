"""The first step of a research: by a model in one call or in two, and by code where that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.planning import FIRST, STORM, context, planned, question_in, speaking, told

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest

QUERY = "when private necessity allows a captain to moor or berth at a private pier"


def good(request: ChatRequest) -> dict[str, Any]:
    """A plan made of what the prompt asks."""
    assert question_in(request) == STORM
    return {"phase": "necessity", "question": FIRST, "queries": [QUERY]}


def test_one_call_gives_the_step_and_its_searches() -> None:
    model = speaking(good)
    update = planned(context(model))
    (step,) = update["plan"]
    assert (step["id"], step["status"], step["phase"]) == (1, "pending", "Necessity")
    assert step["question"] == FIRST
    assert step["queries"][0] == QUERY
    assert len(step["queries"]) == 3
    assert (update["cycles"], update["stopped"], update["warnings"]) == (0, "", [])
    assert len(model.requests) == 1
    numbers = told(update).numbers
    assert {"by": "a model", "refused": None, "wordings": 3, "by_model": 1}.items() <= (
        numbers.items()
    )


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Is he liable?", "leans"),
        ("", "empty"),
        ("When must the owner of a ferry pay for damage to a moored yacht?", "example"),
    ],
)
def test_an_unusable_question_gives_way_to_the_users_own(question: str, reason: str) -> None:
    model = speaking({"phase": "Law", "question": question, "queries": []})
    update = planned(context(model))
    (step,) = update["plan"]
    assert (step["question"], step["phase"]) == (STORM, "The question")
    assert step["queries"][0] == STORM
    assert (told(update).numbers["by"], told(update).numbers["refused"]) == ("code", reason)
    assert len(model.requests) == 1
