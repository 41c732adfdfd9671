"""`analyst` where something breaks: models that say nothing of use, sandboxes that die, time that
runs out, runs that are stopped and taken up."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.record import RunStore
from secondlook.errors import ModelUnavailable
from tests.support.analyst import CUSTOMERS, Script, desk_of, run, sandbox
from tests.support.analyst_engine import MEAN_AGE, Watched, engine_of

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.answer import Answer
    from secondlook.engine.secondlook import Secondlook

QUESTION = "What's the average customer age?"
MEAN = "result = df['age'].mean()"
BY_MODEL: dict[str, Any] = {
    "enable_grammar": False,
    "requirements": "model",
    "remedies": "model",
    "explain": "model",
    "enable_judgement": True,
}
USELESS = {
    "empty": "",
    "refusal": "I'm sorry, but I cannot help with that.",
    "cut JSON": '{"variables": ["age"',
    "other JSON": '[{"variables": {"age": 1}, "action": 7, "valid": "perhaps", "work": "both"}]',
}


def gone(_: str) -> str:
    raise ModelUnavailable("it went away")


@pytest.mark.parametrize("reply", [*USELESS, "gone"])
@pytest.mark.parametrize("step", ["require", "judge", "explain"])
def test_a_model_that_is_of_no_use_costs_a_step_and_not_the_answer(step: str, reply: str) -> None:
    script = Script(code=MEAN, require='{"variables": ["age"]}')
    setattr(script, step, USELESS.get(reply, gone))
    ran = run(QUESTION, script, opened=Watched(), **BY_MODEL)
    assert ran.answer.status in {"answered", "partial"}
    assert ran.answer.values == {"result": MEAN_AGE}
    assert all(check.passed for check in ran.answer.analysis.checks)  # type: ignore[union-attr]


def test_a_model_that_goes_away_is_said_to_be_away() -> None:
    ran = run(QUESTION, Script(code=gone), opened=Watched(), enable_grammar=False)
    assert (ran.answer.status, ran.answer.stop_reason) == ("failed", "model_unavailable")
    assert "it went away" in ran.answer.text
    assert [one.node for one in ran.answer.warnings] == ["code"]


# Sandboxes that die


def test_a_sandbox_that_breaks_in_the_middle_of_a_remedy_ends_the_analysis() -> None:
    script = Script(code=["result = df['age'].mean() * 0 - 5", MEAN])
    ran = run(QUESTION, script, opened=Watched(sandbox, most=1), enable_grammar=False)
    assert ran.nodes.count("remediate") == 1
    assert (ran.answer.status, ran.answer.stop_reason) == ("abstained", "cannot_proceed")
    assert ran.answer.values == {}


# Time


def never(_: Any) -> Any:
    return asyncio.Event().wait()


def test_a_model_that_never_answers_ends_at_the_deadline() -> None:
    with engine_of(
        never, desk_of({"customers": CUSTOMERS}), Watched(), seconds=1.5, **BY_MODEL
    ) as engine:
        answer = engine.ask(QUESTION, workflow="analyst")
    assert (answer.status, answer.stop_reason) == ("failed", "deadline")
    assert answer.values == {}
    assert answer.analysis is not None


def test_a_job_that_outlives_the_deadline_does_not_hold_the_answer_up() -> None:
    released = threading.Event()
    watched = Watched(waits=released)
    with engine_of(
        Script(code=MEAN),
        desk_of({"customers": CUSTOMERS}),
        watched,
        seconds=3.0,
        enable_grammar=False,
    ) as engine:
        answer = engine.ask(QUESTION, workflow="analyst")
        released.set()
    assert watched.jobs == [MEAN]
    assert (answer.status, answer.stop_reason) == ("failed", "deadline")
    assert answer.steps[-1].node != "finish"


# Runs that are stopped


def asked(engine: Secondlook) -> Answer:
    return engine.ask(QUESTION, workflow="analyst")


def stopped_before(engine: Secondlook, node: str) -> str:
    events = engine.stream(QUESTION, workflow="analyst")
    for event in events:
        if event.type == "node_started" and event.node == node:
            events.close()
            return event.run
    raise AssertionError(f"{node} never began")


def told(answer: Answer) -> dict[str, Any]:
    """All that must be the same of two runs."""
    analysis = answer.analysis
    assert analysis is not None
    return {
        "text": answer.text,
        "values": answer.values,
        "analysis": analysis.model_dump(),
        "nodes": [step.node for step in answer.steps],
        "status": answer.status,
    }


def test_a_run_stopped_before_any_node_is_taken_up_to_the_same_answer(tmp_path: Path) -> None:
    """What was written and what it came to is not written or run again."""
    desk = desk_of({"customers": CUSTOMERS})
    options: dict[str, Any] = {"runs": tmp_path / "runs.db", "enable_grammar": False}
    script = Script(code=MEAN)
    first = Watched()
    with engine_of(script, desk, first, **options) as engine:
        whole = asked(engine)
    assert whole.status == "answered"
    for node in [step.node for step in whole.steps][1:]:
        with engine_of(script, desk, Watched(), **options) as engine:
            run_id = stopped_before(engine, node)
        paid, again = len(script.prompts), Watched()
        with (
            engine_of(script, desk, again, **options) as engine,
            RunStore.open(engine.settings.runs.path) as store,
        ):
            resumed = store.get(run_id).answer or engine.resume(run_id)
        assert told(resumed) == told(whole), node
        if node in {"evaluate", "explain", "finish"}:
            assert all(step == "explain" for step, _ in script.prompts[paid:]), node
            assert MEAN not in again.jobs, node
