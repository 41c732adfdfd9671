"""The budget of one question: what it is, what is kept of it for the answer, and what is said when
it is used up."""

from __future__ import annotations

import asyncio
import math
import random
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.request import with_budget
from secondlook.engine.secondlook import Secondlook
from secondlook.errors import UsageError
from secondlook.models.calls import Models
from secondlook.settings.sections import BudgetSettings
from tests.support.analyst_wild import WildDesk, WildOpening
from tests.support.budgets import _Library, _none
from tests.support.corrective_hostile import REPLIES
from tests.support.engine import QUESTION, WordShelf, settings_of
from tests.support.function_model import FunctionModel, no_pause
from tests.support.research import CodeShelf
from tests.support.research_clerk import honest
from tests.support.research_world import SIMPLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.answer import Answer
    from secondlook.models.chat import ChatRequest

SPEC = "openai:gpt-4o-mini"
"""One whose price is known."""
FEW = "To allow more: --max-calls or budget.calls."


def _asked(
    reply: Callable[[ChatRequest], Any],
    question: str = QUESTION,
    *,
    workflow: str = "linear",
    shelf: Any = None,
    budget: dict[str, float] | None = None,
    spec: str = SPEC,
    **sections: dict[str, Any],
) -> tuple[Answer, FunctionModel]:
    settings = settings_of(
        runs={"keep": 0},
        models={"default": spec, "retries": 0},
        **{"research": {"enable_memory": False}, **sections},
    )
    model = FunctionModel(reply, spec=spec)
    library: Any = _Library(settings, shelf or WordShelf())
    library.laid_out = WildDesk("customers", random.Random(1), ("",))
    models = Models(settings, open_chat=lambda _: model, probes=_none, pause=no_pause)
    engine = Secondlook(library, settings=settings, models=models)
    engine._sandbox = WildOpening(random.Random(1))  # type: ignore[assignment]
    return asyncio.run(engine.aask(question, workflow=workflow, budget=budget)), model


async def never(_: ChatRequest) -> str:
    await asyncio.Event().wait()
    raise AssertionError("nobody ever sets it")


def _honest(request: ChatRequest) -> Any:
    return REPLIES["honest"](request, random.Random(3))


# What it is


@pytest.mark.parametrize(
    ("own", "asked", "holds"),
    [
        ({"calls": 2}, {"calls": 3}, {"calls": 2}),
        ({"calls": 5, "seconds": 9.0}, {"calls": 3}, {"calls": 3, "seconds": 9.0}),
        ({"money": 0.5}, {"money": 0.1, "seconds": 1e9}, {"money": 0.1, "seconds": 1e9}),
    ],
)
def test_a_question_may_take_less_than_the_settings_allow_and_never_more(
    own: dict[str, float], asked: dict[str, float], holds: dict[str, float]
) -> None:
    settings = with_budget(settings_of(budget=own), asked)
    assert settings.budget == BudgetSettings.model_validate(holds)


@pytest.mark.parametrize(
    "wrong",
    [
        {"calls": 1.5},
        {"money": math.nan},
        {"seconds": math.inf},
    ],
)
def test_what_is_no_budget_is_told(wrong: Any) -> None:
    with pytest.raises(UsageError, match="this is no budget") as caught:
        with_budget(settings_of(), wrong)
    assert "calls, tokens, money and seconds" in (caught.value.hint or "")


# What is kept for the answer


@pytest.mark.parametrize(
    ("workflow", "question", "shelf", "reply", "node"),
    [
        ("linear", QUESTION, None, _honest, "answer"),
        ("adaptive", QUESTION, None, _honest, "answer"),
        ("corrective", QUESTION, None, _honest, "answer"),
        ("research", SIMPLE, CodeShelf(), honest, "answer"),
        ("summary", "summarise the survey", None, _honest, "summarise"),
        ("auto", QUESTION, None, _honest, "answer"),
    ],
)
def test_the_only_call_is_the_one_that_answers(
    workflow: str,
    question: str,
    shelf: Any,
    reply: Callable[[ChatRequest], Any],
    node: str,
) -> None:
    """Whatever else a workflow would ask a model before or after it."""
    answer, model = _asked(
        reply,
        question,
        workflow=workflow,
        shelf=shelf,
        budget={"calls": 1},
        corrective={"grader": "llm-batch", "grounded_judge": "llm", "useful_judge": "llm"},
    )
    assert [line.node for line in answer.usage.by_node] == [node]
    assert len(model.requests) == 1
    assert answer.claims
    if answer.stop_reason != "answered":
        assert (answer.status, answer.stop_reason) == ("partial", "budget")
        assert FEW in answer.text


# What is said


def test_a_price_that_is_unknown_is_told_with_what_to_do() -> None:
    answer, model = _asked(_honest, spec="openai:nobody-knows", budget={"money": 0.5})
    assert model.requests == []
    assert (answer.status, answer.stop_reason, answer.method) == ("partial", "budget", "extractive")
    assert "a price is unknown, so a cap of 0.5 US dollars cannot be kept" in answer.text
    assert "models.prices" in answer.text


def test_a_model_that_never_answers_leaves_the_reader_time() -> None:
    _asked(never, budget={"seconds": 2.0})  # what is loaded at first takes its time
    answer, _ = _asked(never, budget={"seconds": 2.0})
    assert (answer.status, answer.method) == ("partial", "extractive")
    assert answer.stop_reason == "deadline"
    assert "a question may take 2 seconds. To allow more: --timeout" in answer.text
    assert answer.warnings[0].error == "BudgetExceeded"
    assert answer.usage.seconds < 2.0
