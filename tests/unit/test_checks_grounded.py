"""Whether a draft stands on its evidence, judge by judge, and where the run goes then."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.nodes.check import check_grounded
from tests.support.checking import (
    DEEPEST,
    INVENTED,
    asked,
    blocks,
    cited,
    draft,
    sentence,
    told,
    visit,
)
from tests.support.engine import WordShelf, context_of, settings_of, words
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest
    from secondlook.nodes.context import Context
    from secondlook.nodes.state import DraftData

RIGHT = sentence("The deepest berth is berth 4, with 7.8 metres.", cited("survey.0", DEEPEST))
WRONG = sentence("Berth 2 is deeper.", cited("survey.1"), support=0.1, supported=False)


def context(model: FunctionModel | None = None, **corrective: Any) -> Context:
    chosen = model or FunctionModel(lambda _: "unasked")
    return context_of(model=chosen, settings=settings_of(corrective=corrective))


def checked(
    made: DraftData, cut: tuple[str, ...] = (), context_: Context | None = None, **state: Any
) -> dict[str, Any]:
    return visit(check_grounded, context_ or context(), draft=made, complaints=list(cut), **state)


def test_a_draft_that_stands_goes_on_and_no_model_is_asked() -> None:
    model = FunctionModel(lambda _: "unasked")
    update = checked(draft(RIGHT), context_=context(model))
    assert (update["route"], update["complaints"], update["drafts"]) == ("check_useful", [], [])
    assert update["regenerations"] == 0
    assert told(update)["grounded"] == 1.0
    assert model.requests == []


def test_what_was_not_measured_is_judged_now() -> None:
    unmeasured = sentence(RIGHT["text"], *RIGHT["cited"], support=None, supported=None)
    invented = sentence("The council burnt down.", cited("minutes.0"), support=None, supported=None)
    update = checked(draft(unmeasured, invented))
    first, second = update["draft"]["sentences"]
    assert (first["supported"], second["supported"]) == (True, False)
    assert first["support"] > 0.6 > second["support"]
    assert update["complaints"] == ["The council burnt down."]


def test_a_judge_that_fails_leaves_the_draft_unchecked_and_says_so() -> None:
    class Broken:
        name = "broken"

        def support(self, *_: Any) -> list[float]:
            raise RuntimeError("no session")

        together = answers = support

    unmeasured = sentence(RIGHT["text"], *RIGHT["cited"], support=None, supported=None)
    update = checked(draft(unmeasured), context_=replace(context(), support=Broken()))
    assert update["warnings"][0]["consequence"] == "the sentences were not checked"
    assert update["draft"]["sentences"][0]["supported"] is None
    assert update["route"] == "check_useful"
    assert told(update)["grounded"] is None


def test_a_draft_that_does_not_stand_is_written_anew_with_what_is_wrong_named() -> None:
    update = checked(draft(RIGHT, WRONG))
    assert (update["route"], update["regenerations"]) == ("answer", 1)
    assert update["complaints"] == ["Berth 2 is deeper."]
    (judged,) = update["drafts"]
    assert (judged["grounded"], judged["is_grounded"]) == (0.5, False)
    assert (judged["useful"], judged["is_useful"]) == (None, None)
    assert update["steps"][0]["route"]["to"] == "answer"


def test_what_was_cut_while_it_was_written_counts() -> None:
    update = checked(draft(RIGHT), (INVENTED,))
    assert (update["route"], update["complaints"]) == ("answer", [INVENTED])
    assert update["drafts"][0]["grounded"] == 0.5
    assert told(update)["cut"] == 1


@pytest.mark.parametrize(
    ("corrective", "regenerations", "way"),
    [
        ({}, 1, "answer"),
        ({}, 2, "check_useful"),
        ({"enable_regeneration": False}, 0, "check_useful"),
        ({"enable_regeneration": False, "enable_useful_check": False}, 0, "settle"),
    ],
)
def test_it_is_written_anew_only_so_often(
    corrective: dict[str, Any], regenerations: int, way: str
) -> None:
    update = checked(
        draft(RIGHT, WRONG), context_=context(**corrective), regenerations=regenerations
    )
    assert update["route"] == way
    assert update["regenerations"] == regenerations + (way == "answer")
    assert len(update["drafts"]) == (way != "check_useful")
    assert bool(update["complaints"]) == (way != "settle")


def test_an_extract_passes_unasked() -> None:
    taken = sentence(DEEPEST, cited("survey.0", DEEPEST), support=1.0)
    update = checked(draft(taken, method="extractive", model=None))
    assert (update["complaints"], told(update)["grounded"]) == ([], 1.0)


def test_a_sentence_that_cites_nothing_that_is_there_is_unsupported() -> None:
    gone = sentence("It is deep.", {"passage": "gone.0", "start": 0, "end": 5})
    nowhere = sentence("It is wide.", {"passage": "survey.0", "start": 900, "end": 950})
    update = checked(draft(RIGHT, gone, nowhere, sentence("It is long.")))
    assert update["complaints"] == ["It is deep.", "It is wide.", "It is long."]


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("Berth 4 is 7.8 metres deep.", True),
        ("Berth 4 is 9.8 metres deep.", False),
        ("Berth 4 of Halmstad is 7.8 metres deep.", False),
        ("The deepest of the 12 berths, as asked, is berth 4.", True),  # 12: in the question
        ("Berth 4 has lost sixty centimetres.", True),
    ],
)
def test_numbers_and_names_must_stand_somewhere_whatever_the_judge_says(
    text: str, stands: bool
) -> None:
    """The judge holds all of them to be supported."""
    made = draft(sentence(text, cited("survey.0"), support=0.99))
    update = checked(made, question="how deep is the deepest of the 12 berths")
    assert (update["complaints"] == []) is stands
    assert told(update)["absent"] == (not stands)


def test_a_name_may_stand_beside_the_quote() -> None:
    """ "She voted against the money", and who she is stands before it."""
    shelf = WordShelf(held=list(WordShelf().held))
    quote = "voted against the money."
    made = draft(sentence("Orr voted against the money.", cited("minutes.0", quote)))
    update = checked(made, context_=context_of(shelf=shelf, model=FunctionModel(lambda _: "")))
    assert update["complaints"] == []


# A model, where the reader is unsure


def _judging(request: ChatRequest) -> str:
    """Says yes where the evidence has most of the sentence's words."""
    said = re.findall(r"^Sentence (\d+): (.*)$", asked(request), re.MULTILINE)
    shown = blocks(request)
    verdicts = [
        {
            "number": int(number),
            "verdict": "yes" if len(words(text) - words(shown[int(number)])) < 2 else "no",
        }
        for number, text in said
    ]
    return json.dumps({"verdicts": verdicts})


UNSURE = sentence("The council voted 7 to 2 on dredging.", cited("minutes.0"), support=0.7)
DOUBTED = sentence("Small boats lie there.", cited("survey.1"), support=0.5, supported=False)
PLAIN_WRONG = sentence("Dogs may swim.", cited("log.0"), support=0.05, supported=False)


def test_a_model_judges_what_the_reader_is_unsure_of_in_one_call() -> None:
    model = FunctionModel(_judging)
    made = draft(RIGHT, UNSURE, DOUBTED, PLAIN_WRONG)
    update = checked(made, context_=context(model, grounded_judge="llm"))
    assert len(model.requests) == 1
    assert len(blocks(model.requests[0])) == 2  # neither the sure one nor the plainly wrong one
    assert [one["supported"] for one in update["draft"]["sentences"]] == [True, True, True, False]
    numbers = told(update)
    assert (numbers["asked_of_model"], numbers["overruled"], numbers["missing"]) == (2, 1, 0)


@pytest.mark.parametrize("reply", ["garbage", "", '{"verdicts": []}', '{"verdicts": ["yes"]}'])
def test_a_reply_without_verdicts_leaves_the_readers(reply: str) -> None:
    model = FunctionModel(lambda _: reply)
    update = checked(draft(UNSURE, DOUBTED), context_=context(model, grounded_judge="llm"))
    assert update["complaints"] == ["Small boats lie there."]
    assert "the reader judged" in update["warnings"][0]["consequence"]
