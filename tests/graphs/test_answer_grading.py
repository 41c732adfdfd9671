"""`linear` with a model that judges the finished answer."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer
from secondlook.errors import ModelUnavailable
from secondlook.graphs.registry import workflow
from tests.support.checking import DEEPEST, asked, blocks
from tests.support.engine import QUESTION, context_of, settings_of, state_of
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.models.chat import ChatRequest

GRADING = settings_of(answer={"enable_answer_grading": True, "enable_sentence_check": False})
BESIDES = "Small boats lie there in winter."


def is_grading(request: ChatRequest) -> bool:
    return "You judge an answer" in request.messages[0].content


def is_strict(request: ChatRequest) -> bool:
    return "was refused" in request.messages[0].content


def writing(request: ChatRequest) -> str:
    """At first beside the point, though the evidence says it."""
    said = DEEPEST if is_strict(request) else BESIDES
    number = next(number for number, text in blocks(request).items() if said in text)
    return f"{said} [{number}]"


def judging(request: ChatRequest) -> str:
    """Yes where the answer that it is shown tells a depth."""
    return json.dumps({"verdict": "yes" if "metres" in asked(request).split("\n\n")[1] else "no"})


def model_of(judge: Callable[[ChatRequest], str] = judging) -> FunctionModel:
    return FunctionModel(lambda request: (judge if is_grading(request) else writing)(request))


def run(
    model: FunctionModel | None, settings: Any = GRADING, **given: Any
) -> tuple[Answer, list[dict[str, Any]], list[Any]]:
    """The answer, the steps of the grader and what was streamed."""
    context = context_of(model=model, settings=settings, **given)
    graph = workflow("linear").build(settings).compile()
    emitted: list[Any] = []

    async def go() -> dict[str, Any]:
        last: Any = {}
        async for kind, data in graph.astream(
            state_of(QUESTION), context=context, stream_mode=["custom", "values"]
        ):
            if kind == "custom":
                emitted.append(data)
            else:
                last = data
        return dict(last)

    state = asyncio.run(go())
    graded = [step for step in state["steps"] if step["node"] == "grade_answer"]
    return Answer.model_validate(state["answer"]), graded, emitted


def kinds(model: FunctionModel) -> list[str]:
    return [
        "grade" if is_grading(request) else "strict" if is_strict(request) else "answer"
        for request in model.requests
    ]


def test_a_refused_answer_is_written_once_more_and_strictly() -> None:
    model = model_of()
    answer, graded, emitted = run(model)
    assert kinds(model) == ["answer", "grade", "strict", "grade"]
    assert [step["numbers"]["verdict"] for step in graded] == ["no", "yes"]
    assert [step["route"]["to"] for step in graded] == ["answer", "finish"]
    assert (answer.status, answer.claims[0].text) == ("answered", DEEPEST)
    assert emitted == [
        {"token": f"{BESIDES} "},
        {"redraft": "the answer was refused"},
        {"token": f"{DEEPEST} "},
    ]


def _away(_: ChatRequest) -> str:
    raise ModelUnavailable("away")


@pytest.mark.parametrize("judge", [lambda _: "What a fine answer!", lambda _: "{}", _away])
def test_a_judge_without_a_verdict_leaves_the_answer_and_that_is_told(
    judge: Callable[[ChatRequest], str],
) -> None:
    answer, graded, _ = run(model_of(judge))
    assert [step["numbers"]["verdict"] for step in graded] == ["not graded"]
    (warning,) = answer.warnings
    assert (warning.node, warning.consequence) == ("grade_answer", "the answer was not graded")
    assert answer.claims[0].text == BESIDES
