"""Grading passages: by the reader's scores, by a model, by both; and what a bad model costs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import ModelError, ModelTimeout, ModelUnavailable
from secondlook.nodes.grade import Grading, graded, reader_grade
from secondlook.nodes.state import unread
from secondlook.reading.calibration import load_calibration
from tests.support.engine import CALIBRATED, HARBOUR, WordShelf, passages_of
from tests.support.function_model import FunctionModel
from tests.support.grading import (
    asked,
    by_words,
    figures,
    grading_context,
    items_of,
    probed,
    read_item,
    reply,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.models.chat import ChatRequest
    from secondlook.nodes.context import Context

QUESTION = "how deep is berth 4"
PASSAGES = passages_of(HARBOUR)
CALIBRATION = load_calibration(CALIBRATED)
ABOUT = CALIBRATION.min_about
SURE = (ABOUT + 5, ABOUT + 4, ABOUT - 6, ABOUT - 7, ABOUT - 8)
NAMES = [passage.id for passage in PASSAGES]


def berths(question: str, text: str) -> str:
    """A good grader of the harbour's passages."""
    if "7.8 metres" in text:
        return "answers"
    return "about" if "erth" in text else "no"


def run(context: Context, *relevance: float | None) -> Grading:
    found = items_of(PASSAGES, *(relevance or SURE))
    return asyncio.run(graded(context, QUESTION, found))


def grades(grading: Grading) -> list[str]:
    return [item["grade"] for item in grading.found]


def graders(grading: Grading) -> list[str | None]:
    return [item["graded_by"] for item in grading.found]


def by_model(
    function: Callable[[ChatRequest], Any], grader: str = "llm-batch", **options: Any
) -> tuple[FunctionModel, Context]:
    model = FunctionModel(function, context=options.pop("context", 8192))
    return model, grading_context(model, grader=grader, **options)


BY_READER = ["about", "about", "irrelevant", "irrelevant", "irrelevant"]
RIGHT = ["answers", "about", "irrelevant", "irrelevant", "irrelevant"]


# The reader


@pytest.mark.parametrize(
    ("relevance", "margin", "grade"),
    [
        (None, None, "not graded"),
        (ABOUT, 12.0, "irrelevant"),
        (ABOUT + 0.01, None, "about"),  # a glance sees no answer
        (ABOUT + 0.01, -9.0, "about"),
        (ABOUT + 0.01, 14.0, "answers"),
        (float("nan"), 14.0, "irrelevant"),
    ],
)
def test_the_reader_grades_by_two_thresholds(
    relevance: float | None, margin: float | None, grade: str
) -> None:
    item = read_item(unread(PASSAGES[0]), relevance, margin=margin)
    assert reader_grade(item, CALIBRATION) == grade


def test_the_reader_asks_nobody() -> None:
    model = FunctionModel(lambda request: "no")
    grading = run(grading_context(model))
    assert grades(grading) == BY_READER
    assert set(graders(grading)) == {"reader"}
    assert grading.numbers == {
        "graded": 5,
        "about": 2,
        "answers": 0,
        "irrelevant": 3,
        "by_reader": 5,
        "by_model": 0,
        "calls": 0,
        "missing": 0,
        "unknown": 0,
        "grader": "reader",
    }
    assert grading.warnings == []
    assert model.requests == []


def test_a_passage_is_graded_once_and_no_more_than_so_many() -> None:
    found = items_of(PASSAGES, *SURE)
    found[0] = {**found[0], "grade": "irrelevant", "graded_by": "somebody"}
    grading = asyncio.run(graded(grading_context(graded=2), QUESTION, found))
    assert grades(grading) == ["irrelevant", "about", "irrelevant", "not graded", "not graded"]
    assert graders(grading) == ["somebody", "reader", "reader", None, None]
    assert [item["id"] for item in grading.found] == NAMES
    assert grading.numbers["graded"] == 2


# A model, all passages in one call


def test_one_call_grades_all() -> None:
    model, context = by_model(by_words(berths))
    grading = run(context)
    assert grades(grading) == RIGHT
    assert set(graders(grading)) == {"ollama:function"}
    assert grading.numbers["by_model"] == 5
    assert grading.numbers["calls"] == len(model.requests) == 1
    assert grading.warnings == []
    request = model.requests[0]
    assert asked(request) == QUESTION
    assert "too general" in request.messages[0].content
    assert shown(request)[3].startswith("Minutes\nThe council voted")
    assert request.schema is not None
    assert request.schema["properties"]["grades"]["minItems"] == 5


@pytest.mark.parametrize("helped", [True, False])
def test_the_probe_says_whether_examples_help(*, helped: bool) -> None:
    model = FunctionModel(by_words(berths))
    known = probed(grading=figures(fit=True, few_shot=helped))
    run(grading_context(model, probe=known, grader="llm-batch"))
    assert (len(model.requests[0].messages) > 2) is helped


# Replies that are not what was asked for


@pytest.mark.parametrize(
    "said",
    [
        "I think passages 1 and 2 are relevant.",
        '{"grades": []}',
        '{"grades": [{"passage": 1, "grade": "maybe"}, 7]}',
        '{"grades": [{"passage": 0, "grade": "about"}, {"passage": 6, "grade": "about"}]}',
    ],
)
def test_garbage_is_sent_back_once_and_then_the_reader_grades(said: str) -> None:
    model, context = by_model(lambda request: said)
    grading = run(context)
    assert grades(grading) == BY_READER
    assert set(graders(grading)) == {"reader"}
    assert len(model.requests) == grading.numbers["calls"] == 2
    assert grading.numbers["missing"] == 5
    told = grading.warnings[0]
    assert (told["error"], told["consequence"]) == (
        "UnusableReply",
        "the reader graded 5 of 5 instead",
    )


def test_what_a_short_reply_leaves_out_the_reader_grades() -> None:
    model, context = by_model(lambda request: reply({1: berths("", shown(request)[1])}))
    grading = run(context)
    assert [len(shown(request)) for request in model.requests] == [5]
    assert graders(grading) == ["ollama:function"] + ["reader"] * 4
    assert (grading.numbers["missing"], grading.numbers["by_reader"]) == (4, 4)


# A model that fails


def failing(error: Exception) -> Callable[[ChatRequest], Any]:
    def function(request: ChatRequest) -> str:
        raise error

    return function


@pytest.mark.parametrize("grader", ["llm-batch", "llm-each"])
@pytest.mark.parametrize(
    "error", [ModelTimeout("too slow"), ModelUnavailable("away"), ModelError("no key")]
)
def test_a_model_that_fails_leaves_the_readers_grades(grader: str, error: Exception) -> None:
    model, context = by_model(failing(error), grader, models={"retries": 0})
    grading = run(context)
    assert grades(grading) == BY_READER
    assert grading.warnings[0]["error"] == type(error).__name__
    assert len(grading.warnings) == 1
    assert len(model.requests) <= 4  # no more than run at once: then nobody is asked any more


# Each passage in a call of its own


def test_each_in_its_own_call_and_no_more_than_four_at_once() -> None:
    running: list[int] = []
    at_once = 0

    async def function(request: ChatRequest) -> str:
        nonlocal at_once
        at_once += 1
        running.append(at_once)
        for _ in range(5):
            await asyncio.sleep(0)
        at_once -= 1
        return by_words(berths)(request)

    many = passages_of([("log", f"Berth {at} is deep.") for at in range(9)])
    model = FunctionModel(function)
    context = grading_context(model, grader="llm-each", shelf=WordShelf(many))
    grading = asyncio.run(graded(context, QUESTION, items_of(many, *[0.0] * 9)))
    assert grades(grading) == ["about"] * 9
    assert [len(shown(request)) for request in model.requests] == [1] * 9
    assert max(running) == 4
    assert grading.numbers["calls"] == 9
