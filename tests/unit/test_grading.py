"""Grading passages: by the reader's scores, by a model, by both; and what a bad model costs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest
from langgraph.runtime import Runtime

from secondlook.errors import ModelError, ModelTimeout, ModelUnavailable
from secondlook.nodes import ranking
from secondlook.nodes.grade import Grading, graded, reader_grade
from secondlook.nodes.retrieve import follow, rerank, retrieve
from secondlook.nodes.state import unread
from secondlook.reading.calibration import load_calibration
from tests.support.engine import CALIBRATED, HARBOUR, WordShelf, context_of, passages_of, state_of
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
    from collections.abc import Callable, Sequence

    from secondlook.models.chat import ChatRequest
    from secondlook.nodes.context import Context
    from secondlook.passage import Hit, Passage
    from secondlook.reading.port import Reading


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
    return asyncio.run(graded(context, QUESTION, items_of(PASSAGES, *(relevance or SURE))))


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


# Following: what the best passage names is looked up where the question asks beyond it.

BEYOND = "What government position did the director of the film Harbour Lights hold?"
FILM = "Harbour Lights is a film of 1953. Its director was Maren Holt, a former pilot."
HOLT = "Maren Holt was chief of protocol from 1961. She kept bees."
OTHERS = [
    (f"lights {at}", f"The film on harbour lights number {at} had a director who hold a position.")
    for at in range(6)
]


def pieces() -> list[Passage]:
    return passages_of([("harbour lights", FILM), ("maren holt", HOLT), *OTHERS])


@dataclass(slots=True)
class _Shelf(WordShelf):
    """The first search does not find who is named; a search for the name does."""

    held: list[Passage] = field(default_factory=pieces)
    asked: list[str] = field(default_factory=list)

    def find(self, query: str, options: Any, where: Any) -> list[Hit]:
        self.asked.append(query)
        hits = WordShelf.find(self, query, options, where)
        if query == BEYOND:
            return sorted(
                (hit for hit in hits if hit.passage.document != "maren holt"),
                key=lambda hit: hit.passage.document != "harbour lights",
            )
        return hits

    def read(self, query: str, passages: Sequence[Passage], **_choice: Any) -> list[Reading]:
        """The film fits the question best; who is named fits once the name is said."""
        return [
            _with(reading, 9.0 if one.text == FILM else 3.0 if "Holt" in query else -4.0)
            for one, reading in zip(passages, WordShelf.read(self, query, passages), strict=True)
        ]


def _with(reading: Reading, relevance: float) -> Reading:
    from dataclasses import replace

    return replace(reading, relevance=relevance)


def followed(context: Context, question: str = BEYOND) -> dict[str, Any]:
    runtime = cast("Any", Runtime(context=context))

    async def go() -> dict[str, Any]:
        state: Any = state_of(question)
        for node in (retrieve, rerank, follow):
            state |= await node(state, runtime)
        return cast("dict[str, Any]", state)

    return asyncio.run(go())


def test_who_is_named_takes_the_last_of_the_kept_places() -> None:
    state = followed(context_of(shelf=_Shelf(), question=BEYOND))
    kept = ranking.kept(state["found"])
    assert len(kept) == 5
    assert [item["document"] for item in kept if item["pinned"]] == ["maren holt"]
    assert next(item["why"] for item in kept if item["pinned"]) == "the best passage names it"
    (told,) = state["steps"]
    assert told["numbers"]["followed"] is True
    assert "'Harbour lights' leads to 'Maren holt'" in told["said"]


def test_a_passage_that_covers_the_question_is_not_followed() -> None:
    shelf = _Shelf()
    question = "What is the film Harbour Lights?"
    state = followed(context_of(shelf=shelf, question=question), question)
    assert shelf.asked == [question]
    assert state["steps"][0]["numbers"] == {"linked": 0, "followed": False}
