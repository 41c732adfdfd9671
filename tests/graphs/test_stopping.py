"""Runs that are told to stop, and questions whose turn never came: all of them are taken up."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.record import RunStore, StoredRun
from secondlook.engine.run import Run
from secondlook.engine.secondlook import Secondlook
from secondlook.errors import RunStopped
from secondlook.roles.follow_up import Turn
from secondlook.settings.sections import Settings
from tests.support.engine import QUESTION, WordShelf, settings_of
from tests.support.function_model import FunctionModel, models_of
from tests.support.research import FakeLibrary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secondlook.models.chat import ChatRequest

RUN = "20261116-0123456789ab"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_of(runs={"path": tmp_path / "runs.db", "keep": 20})


def engine_of(settings: Settings, reply: Callable[[ChatRequest], str]) -> Secondlook:
    library: Any = FakeLibrary(settings, WordShelf())
    return Secondlook(library, settings=settings, models=models_of(FunctionModel(reply)))


def stored(settings: Settings, run: str = RUN) -> StoredRun:
    with RunStore(settings.runs, create=False) as store:
        return store.get(run)


def told(request: ChatRequest) -> str:
    return "Berth 4 remains the deepest berth, at 7.8 metres [1]."


def test_what_was_refused_before_is_told_by_who_takes_the_run_up(tmp_path: Path) -> None:
    settings = settings_of(
        runs={"path": tmp_path / "runs.db", "keep": 20}, corrective={"grader": "llm-batch"}
    )
    asked: dict[str, Any] = {"workflow": "corrective", "budget": {"calls": 1}}
    with engine_of(settings, told) as engine:
        whole = engine.ask(QUESTION, **asked)
    assert (whole.status, whole.stop_reason) == ("partial", "budget")

    def draining(request: ChatRequest) -> str:
        engine.drain()
        return told(request)

    with engine_of(settings, draining) as engine, pytest.raises(RunStopped):
        engine.ask(QUESTION, run=RUN, **asked)
    with engine_of(settings, told) as engine:
        answer = engine.resume(RUN)
    assert (answer.text, answer.status) == (whole.text, whole.status)
    assert (answer.stop_reason, answer.usage.calls) == ("budget", 1)


def test_a_question_whose_turn_never_came_is_resumed(settings: Settings) -> None:
    with engine_of(settings, told) as engine:
        engine.note(QUESTION, run=RUN, workflow="linear", caller={"after": "x"})
        assert stored(settings).question == QUESTION
        engine.unnote(RUN)
    assert stored(settings).status == "interrupted"
    with engine_of(settings, told) as engine:
        answer = engine.resume(RUN)
    assert (answer.run, answer.status, answer.workflow) == (RUN, "answered", "linear")
    assert stored(settings).request["caller"] == {"after": "x"}


def test_what_was_asked_is_read_back_as_it_was() -> None:
    asked = Run(
        question="and then?",
        choices=["yes", "no"],
        workflow="research",
        filters={"year": 2021},
        documents=["d1"],
        earlier=(Turn("before?", short="b", titles=("T",)),),
        max_risk=0.1,
        budget={"calls": 3},
        id=RUN,
        caller={"library": "default"},
        created="2026-11-16T10:00:00+00:00",
    ).prepared(Settings())
    kept = StoredRun(
        run=RUN,
        created=asked.created,
        workflow="research",
        status="interrupted",
        stop_reason=None,
        question=asked.question,
        request=json.loads(json.dumps(asked.to_record(Settings()))),
        answer=None,
    )
    again = Run.from_record(kept, Settings().runs)
    assert again.resumed
    assert replace(again, resumed=False) == asked
    assert "(A) yes" in again.question
