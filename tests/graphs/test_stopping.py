"""Runs that are told to stop, and questions whose turn never came: all of them are taken up."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import ResultTable
from secondlook.engine.record import RunStore, StoredRun
from secondlook.engine.run import Run
from secondlook.engine.secondlook import Secondlook
from secondlook.engine.services import JournaledSandbox, JournaledWeb
from secondlook.errors import RunStopped
from secondlook.models.journal import Calls, MemoryJournal
from secondlook.retrieval.web.port import WebPassage
from secondlook.roles.follow_up import Turn
from secondlook.sandbox.port import Figure, Frame, Limits, Outcome, Supplied
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
    with RunStore.of(settings.runs, create=False) as store:
        return store.get(run)


def told(request: ChatRequest) -> str:
    return "Berth 4 remains the deepest berth, at 7.8 metres [1]."


@pytest.mark.parametrize("workflow", ["linear", "corrective"])
def test_a_run_that_is_drained_finishes_its_step_and_goes_on_from_there(
    settings: Settings, workflow: str
) -> None:
    with engine_of(settings, told) as engine:
        whole = engine.ask(QUESTION, workflow=workflow)
    asked: list[ChatRequest] = []

    def draining(request: ChatRequest) -> str:
        asked.append(request)
        engine.drain()
        return told(request)

    with engine_of(settings, draining) as engine, pytest.raises(RunStopped) as stopped:
        engine.ask(QUESTION, workflow=workflow, run=RUN)
    assert f"runs resume {RUN}" in (stopped.value.hint or "")
    assert len(asked) == 1, "no further step was begun"
    assert stored(settings).status == "interrupted"
    with engine_of(settings, told) as engine:
        answer = engine.resume(RUN)
    assert (answer.text, answer.status) == (whole.text, whole.status)
    assert [step.node for step in answer.steps] == [step.node for step in whole.steps]
    assert answer.usage.calls == whole.usage.calls


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
    table = ResultTable(columns=("a",), rows=((1,),), total_rows=1)
    asked = Run(
        question="and then?",
        choices=["yes", "no"],
        workflow="research",
        filters={"year": 2021},
        documents=["d1"],
        earlier=(Turn("before?", short="b", titles=("T",), table=table),),
        max_risk=0.1,
        budget={"calls": 3},
        id=RUN,
        caller={"library": "default"},
        created="2026-11-16T10:00:00+00:00",
    ).prepared(Settings())
    request = asked.to_record(Settings())
    kept = StoredRun(
        run=RUN,
        created=asked.created,
        workflow="research",
        status="interrupted",
        stop_reason=None,
        question=asked.question,
        request=json.loads(json.dumps(request)),
        answer=None,
    )
    again = Run.from_record(kept, Settings().runs)
    assert again.resumed
    assert replace(again, resumed=False) == asked
    assert "(A) yes" in again.question


class Counting:
    """A web and a sandbox that count how often they are asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked = 0

    async def find(self, query: str) -> list[WebPassage]:
        self.asked += 1
        return [WebPassage("web-1.0", "web-1", "ab", "http://x", "T", query, 0, 1, "now")]

    def run(self, code: str, tables: Any = (), **options: Any) -> Outcome:
        self.asked += 1
        frame = Frame(("a",), ((1.5,), (None,)), 2)
        return Outcome("ok", result=[float("inf")], frame=frame, figures=(Figure("png", "x"),))


def test_a_page_that_was_read_is_not_read_again() -> None:
    web: Any = Counting()
    journal = MemoryJournal()

    def found(visit: str) -> list[WebPassage]:
        return asyncio.run(JournaledWeb(web, Calls("r", journal, lambda: visit)).find("q"))

    assert found("search_web 2") == found("search_web 2")
    assert web.asked == 1
    found("search_web 3")
    assert web.asked == 2, "another visit looks again"


def test_code_that_was_run_is_not_run_again(tmp_path: Path) -> None:
    sandbox: Any = Counting()
    journal = MemoryJournal()
    tables = [Supplied("t", tmp_path / "t.parquet")]

    def run(**options: Any) -> Outcome:
        one = JournaledSandbox(lambda: sandbox, Calls("r", journal, lambda: "code 4"))
        return one().run("result = 1", tables, **options)

    assert run() == run()
    assert sandbox.asked == 1
    assert run(limits=Limits(seconds=1)) == run(limits=Limits(seconds=1))
    assert sandbox.asked == 2
