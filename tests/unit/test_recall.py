"""Research taken up again: only for the same question, and only while what it cites still holds."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.runtime import Runtime

from secondlook.models.journal import MemoryJournal
from secondlook.nodes.memory import KEPT, recall, remember
from secondlook.nodes.state import RecalledData, trouble
from secondlook.settings.sections import RunSettings
from secondlook.store.answers import AnswerMemory
from tests.support.answer_memory import (
    ASKED,
    PASSAGE,
    REWORDED,
    draft_of,
    remembering,
    researched,
    step_of,
)
from tests.support.engine import WordShelf, settings_of, state_of
from tests.support.function_model import FunctionModel, models_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.nodes.context import Context


LOOSE = {"memory_similarity": 0.5, "min_confidence": 0.5}


@pytest.fixture
def memory() -> Iterator[AnswerMemory]:
    with AnswerMemory.temporary() as made:
        yield made


def kept(context: Context, **changed: Any) -> dict[str, Any]:
    earlier = Runtime(context=replace(context, run="an-earlier-run"))
    return dict(asyncio.run(remember(researched(**changed), earlier)))  # type: ignore[arg-type]


def recalled(context: Context, question: str = REWORDED, **more: Any) -> dict[str, Any]:
    state = state_of(question, **{"choices": {}, **more})
    return dict(asyncio.run(recall(state, Runtime(context=context))))  # type: ignore[arg-type]


def why(update: dict[str, Any]) -> str:
    return str(update["steps"][0]["route"]["why"])


# Taking up


def test_the_same_question_in_other_words_takes_up_the_research(memory: AnswerMemory) -> None:
    context = remembering(memory)
    assert kept(context)["remembered"]
    found = recalled(context)
    done = researched()
    assert found["route"] == "hit"
    assert {name: found[name] for name in KEPT if name != "found"} == {
        name: done[name] for name in KEPT if name != "found"
    }
    assert [item["id"] for item in found["found"]] == [PASSAGE], "what is cited, and no more"
    assert found["recalled"]["question"] == ASKED
    assert found["recalled"]["created"] == context.created
    assert found["recalled"]["run"] == "an-earlier-run"
    assert found["warnings"] == []
    for part in ("From memory", ASKED, "2026-01-02", "similarity", "--fresh"):
        assert part in found["steps"][0]["said"]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("How deep is berth 5 of the north quay?", "other numbers"),
        ("How deep is berth 4 of the north dock?", "other words"),
        ("How deep is berth 4 not, of the north quay?", "denies"),
    ],
)
def test_another_question_is_researched(memory: AnswerMemory, question: str, reason: str) -> None:
    context = remembering(memory)
    kept(context)
    found = recalled(context, question)
    assert found["route"] == "miss"
    assert found["recalled"] is None
    assert reason in why(found)
    assert "plan" not in found


def test_a_run_that_is_taken_up_again_does_not_recall_itself(memory: AnswerMemory) -> None:
    context = remembering(memory)
    kept(context)
    assert recalled(replace(context, run="an-earlier-run"))["route"] == "miss"
    assert len(memory.list()) == 1


# What it must share


def test_other_documents_or_another_model_or_profile_research_anew(memory: AnswerMemory) -> None:
    context = remembering(memory)
    kept(context)
    assert recalled(context, scope={"documents": ["survey"], "labels": []})["route"] == "miss"
    other = settings_of(research={**LOOSE, "memory_similarity": 0.6, "guess": True})
    assert recalled(remembering(memory, settings=other))["route"] == "hit"
    other = settings_of(research={**LOOSE, "structure": ["Rule"]})
    assert recalled(remembering(memory, settings=other))["route"] == "miss"
    context = remembering(memory)
    asker = models_of(FunctionModel(lambda _: "")).asker(
        run="r", workflow="research", ledger=context.ledger, journal=MemoryJournal()
    )
    assert recalled(replace(context, models=asker))["route"] == "miss"


# While it holds


def test_a_cited_passage_that_changed_ends_the_entry(memory: AnswerMemory) -> None:
    kept(remembering(memory))
    shelf = WordShelf()
    shelf.held = [
        replace(item, text=item.text.replace("7.8", "7.2")) if item.id == PASSAGE else item
        for item in shelf.held
    ]
    found = recalled(remembering(memory, shelf=shelf))
    assert found["route"] == "miss"
    assert why(found) == "a passage that it cites has changed"
    assert found["steps"][0]["numbers"]["forgotten"] == 1
    assert "forgotten" in found["steps"][0]["said"]
    assert memory.list() == []


# Where it is switched off or fails


@pytest.mark.parametrize("off", ["enable_memory", "enable_recall"])
def test_nothing_is_recalled_where_that_is_switched_off(memory: AnswerMemory, off: str) -> None:
    kept(remembering(memory))
    found = recalled(remembering(memory, settings=settings_of(research={**LOOSE, off: False})))
    assert found["route"] == "miss"
    assert "switch" in why(found)


def test_asked_afresh_the_new_research_takes_the_old_ones_place(memory: AnswerMemory) -> None:
    kept(remembering(memory))
    fresh = remembering(memory, settings=settings_of(research={**LOOSE, "enable_recall": False}))
    assert kept(fresh, cycles=3)["remembered"]
    assert [entry.research["cycles"] for entry in memory.list()] == [3]
    assert recalled(remembering(memory))["cycles"] == 3


def test_a_damaged_file_costs_the_memory_and_not_the_answer(tmp_path: Path) -> None:
    (tmp_path / "runs-memory.db").write_bytes(b"this is no database, whatever its name says " * 50)
    context = remembering(AnswerMemory(RunSettings(path=tmp_path / "runs.db")))
    found = recalled(context)
    assert found["route"] == "miss"
    assert found["warnings"][0]["consequence"] == "the question is researched again"
    stored = kept(context)
    assert stored["remembered"] is False
    assert stored["warnings"][0]["node"] == "remember"
    assert "damaged" in stored["warnings"][0]["message"]


RECALLED = RecalledData(entry=1, question="?", similarity=1.0, created="", run="")

CHOICE = {
    "letter": "B",
    "options": [],
    "elements": [],
    "model": "m",
    "grounded": True,
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
    assert not told(memory, settings_of(research={"enable_memory": False}))["remembered"]
    assert memory.list() == []
    assert not told(None)["remembered"]
