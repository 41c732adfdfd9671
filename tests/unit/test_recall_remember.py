"""What is remembered, and each reason for which it is not."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.runtime import Runtime

from secondlook.nodes.memory import remember
from secondlook.nodes.state import RecalledData, trouble
from secondlook.store.answers import AnswerMemory
from tests.support.answer_memory import draft_of, remembering, researched, step_of
from tests.support.engine import settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator

RECALLED = RecalledData(entry=1, question="?", similarity=1.0, created="", run="")
CHOICE = {
    "letter": "B",
    "options": [],
    "elements": [],
    "model": "m",
    "grounded": True,
    "agreed": None,
    "confidence": 0.7,
    "why": "",
}
SCREEN: dict[str, Any] = {
    "verdict": "unclear",
    "by": None,
    "score": None,
    "where": None,
    "reasons": [],
}


@pytest.fixture
def memory() -> Iterator[AnswerMemory]:
    with AnswerMemory.temporary() as made:
        yield made


def told(memory: AnswerMemory | None, settings: Any = None, **changed: Any) -> dict[str, Any]:
    context = remembering(memory, settings=settings)
    return dict(asyncio.run(remember(researched(**changed), Runtime(context=context))))  # type: ignore[arg-type]


def unsupported(verdict: bool | None) -> dict[str, Any]:
    draft = draft_of()
    draft["sentences"][0]["supported"] = verdict
    return dict(draft)


def uncited() -> dict[str, Any]:
    draft = draft_of()
    draft["sentences"][0]["cited"] = []
    return dict(draft)


def test_research_that_is_answered_checked_and_sure_is_remembered(memory: AnswerMemory) -> None:
    update = told(memory, choice=CHOICE)
    assert update["remembered"] is True
    assert "is remembered" in update["steps"][0]["said"]
    (entry,) = memory.list()
    stored = json.dumps(entry.research)
    assert "letter" not in stored, "a choice is made anew"
    assert "choice" not in stored


REASONS: list[tuple[dict[str, Any], str]] = [
    ({"recalled": RECALLED}, "comes from memory itself"),
    ({"draft": draft_of(stop="no_evidence", sentences=[])}, "no answer (no_evidence)"),
    ({"draft": draft_of(sentences=[])}, "no answer"),
    ({"draft": draft_of(note="A sentence was cut.")}, "has a caveat"),
    ({"draft": unsupported(verdict=False)}, "supported"),
    ({"draft": unsupported(verdict=None)}, "supported"),
    ({"draft": uncited()}, "cites nothing"),
    ({"plan": [step_of(complaints=["It is deep."])]}, "sentences were cut"),
    ({"plan": [step_of(status="weak")]}, "no step was completed"),
    ({"plan": []}, "no step was completed"),
    ({"plan": [step_of(confidence=None)]}, "confidence of a step is unknown"),
    ({"plan": [step_of(confidence=0.6), step_of(confidence=0.3)]}, "not sure enough (0.45"),
    ({"choice": {**CHOICE, "grounded": False}}, "a guess"),
    ({"screen": SCREEN}, "could not be screened"),
    ({"plan": [step_of("page.9")]}, "is gone by now, or is not of the library"),
]


@pytest.mark.parametrize(("changed", "reason"), REASONS, ids=[reason for _, reason in REASONS])
def test_what_falls_short_is_not_remembered(
    memory: AnswerMemory, changed: dict[str, Any], reason: str
) -> None:
    update = told(memory, **changed)
    assert update["remembered"] is False
    assert reason in update["steps"][0]["said"]
    assert memory.list() == []


@pytest.mark.parametrize("error", ["BudgetExceeded", "ModelTimeout", "ModelUnavailable"])
def test_what_was_cut_short_is_not_remembered(memory: AnswerMemory, error: str) -> None:
    kind = type(error, (Exception,), {})
    update = told(memory, warnings=[trouble("plan", kind("no more"), "it ends here")])
    assert update["remembered"] is False
    assert f"{error} in plan" in update["steps"][0]["said"]


def test_nothing_is_remembered_where_that_is_switched_off(memory: AnswerMemory) -> None:
    off = settings_of(research={"enable_memory": False})
    assert not told(memory, off)["remembered"]
    assert memory.list() == []
    assert not told(None)["remembered"]


def test_the_threshold_of_a_step_is_the_one_in_use(memory: AnswerMemory) -> None:
    strict = settings_of(research={"min_confidence": 0.97})
    update = told(memory, strict)
    assert "(0.95, below 0.97)" in update["steps"][0]["said"]
    cosine = settings_of(research={"evaluator": "cosine"})
    assert told(memory, cosine)["remembered"]
