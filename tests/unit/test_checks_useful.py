"""Whether a draft addresses the question, and whether the search goes on."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import ModelUnavailable
from secondlook.nodes.check import check_useful, shipped_head
from secondlook.reading.port import Reading
from tests.support.checking import (
    DEEPEST,
    SevereShelf,
    asked,
    blocks,
    cited,
    draft,
    sentence,
    told,
    visit,
)
from tests.support.engine import CALIBRATED, WordShelf, context_of, settings_of, words
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest
    from secondlook.nodes.context import Context

HEAD = shipped_head()
USEFUL = draft(sentence(DEEPEST, cited("survey.0", DEEPEST)))
BESIDES = draft(sentence("Ms Orr voted against dredging.", cited("minutes.0")))
UNSURE_MARGIN = (-HEAD.bias) / HEAD.weight
"""Where the score is a half."""


class Scoring(WordShelf):
    """A shelf whose reader finds an answer by this margin in everything."""

    margin: float = UNSURE_MARGIN

    def read_text(self, query: str, text: str) -> Reading:
        return Reading(0.0, 0.0, 0, 1, span_score=self.margin, null_score=0.0)


def unsure(model: FunctionModel | None, margin: float = UNSURE_MARGIN) -> Context:
    shelf = Scoring()
    shelf.margin = margin
    settings = settings_of(corrective={"useful_judge": "llm"})
    return context_of(shelf=shelf, model=model, settings=settings)


def weighed(made: Any, context: Context | None = None, **state: Any) -> dict[str, Any]:
    return visit(check_useful, context or context_of(shelf=SevereShelf()), draft=made, **state)


def test_the_shipped_figures_belong_to_the_shipped_reader() -> None:
    assert HEAD.reader == CALIBRATED
    assert 0 < HEAD.grey[0] <= HEAD.threshold < HEAD.grey[1] < 1
    assert HEAD.score(-1e9) < 0.01
    assert HEAD.score(1e9) > 0.99
    made = json.loads(files("secondlook.nodes").joinpath("useful.json").read_text("utf-8"))
    assert made["by"] == "python -m benchmarks.useful --save"


def test_an_answer_to_the_question_is_settled() -> None:
    update = weighed(USEFUL, complaints=[])
    (judged,) = update["drafts"]
    assert (update["route"], judged["is_useful"]) == ("settle", True)
    assert judged["useful"] > 0.9
    assert (judged["grounded"], judged["is_grounded"]) == (1.0, True)
    assert judged["draft"] == USEFUL


def test_an_answer_to_something_else_has_the_search_go_on() -> None:
    update = weighed(BESIDES, complaints=["something cut"])
    (judged,) = update["drafts"]
    assert (update["route"], judged["is_useful"]) == ("rewrite", False)
    assert judged["useful"] < HEAD.threshold
    assert judged["grounded"] == 0.5
    assert update["complaints"] == []
    assert update["steps"][0]["route"]["to"] == "rewrite"


@pytest.mark.parametrize(
    ("corrective", "queries"),
    [({}, list("abcd")), ({"enable_rewriting": False}, ["a"]), ({"max_rewrites": 0}, ["a"])],
)
def test_unless_no_attempt_is_left(corrective: dict[str, Any], queries: list[str]) -> None:
    settings = settings_of(corrective=corrective)
    context = context_of(shelf=SevereShelf(), settings=settings)
    assert weighed(BESIDES, context, queries=queries)["route"] == "settle"


def test_nor_can_it_in_a_language_that_it_was_not_trained_for() -> None:
    german = "Der tiefste Liegeplatz des Hafens ist der vierte, mit einer Tiefe von acht Metern."
    asked_ = "Wie tief ist der tiefste Liegeplatz des Hafens, und welcher ist es?"
    assert weighed(draft(sentence(german)), question=asked_)["drafts"][0]["is_useful"] is None


def _judging(request: ChatRequest) -> str:
    """Yes where the answer has most of the question's words."""
    (answer,) = blocks(request).values()
    question = asked(request).split("\n")[0].removeprefix("Question: ")
    shared = len(words(question) & words(answer)) / len(words(question))
    return json.dumps({"verdict": "yes" if shared >= 0.5 else "no"})


@pytest.mark.parametrize(("made", "useful"), [(USEFUL, True), (BESIDES, False)])
def test_a_model_decides_where_the_reader_is_unsure(made: Any, useful: bool) -> None:
    model = FunctionModel(_judging)
    update = weighed(made, unsure(model))
    assert update["drafts"][0]["is_useful"] is useful
    assert told(update)["by"] == "a model"
    assert len(model.requests) == 1


def test_a_model_that_fails_leaves_the_readers_word() -> None:
    def away(_: ChatRequest) -> str:
        raise ModelUnavailable("away")

    for function in (away, lambda _: "garbage"):
        update = weighed(BESIDES, unsure(FunctionModel(function)))
        assert update["drafts"][0]["is_useful"] is True  # a half is above the threshold
        assert "the reader judged" in update["warnings"][0]["consequence"]
