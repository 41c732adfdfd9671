"""Parts are asked in turn, and what they came to is put together from what they cite."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import ModelUnavailable
from secondlook.nodes.ranking import kept
from tests.support.engine import context_of, settings_of
from tests.support.function_model import FunctionModel
from tests.support.parts import BIRTH, FIRST, MOTHER, answered, in_parts, lives

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest
    from secondlook.nodes.context import Context


def context(**given: Any) -> Context:
    return context_of(shelf=given.pop("shelf", None) or lives(), workflow="corrective", **given)


def test_who_was_born_first() -> None:
    answer = answered(FIRST, context())
    assert answer.short == "Bob Reed"
    made = answer.claims[0].computation
    assert made is not None
    assert (made.operation, made.result) == ("least", "Bob Reed")
    assert [(one.text, one.name) for one in made.operands] == [
        ("1981", "Ada Vane"),
        ("4 May 1979", "Bob Reed"),
    ]
    quotes = {one.number: one.quote for one in answer.citations}
    assert all(one.text in quotes[one.citation] for one in made.operands)


def test_an_earlier_answer_stands_in_the_later_question() -> None:
    answer = answered(MOTHER, context())
    assert (answer.short, answer.method) == ("Dora", "extractive")
    assert [(part.question, part.short) for part in answer.parts] == [
        ("Who is the director of Jaws?", "Carl"),
        ("Who is the mother of Carl?", "Dora"),
    ]
    assert [claim.text.split(" is ")[0] for claim in answer.claims] == [
        "The mother of Carl",
        "The director of Jaws",
    ]
    assert {number for part in answer.parts for number in part.citations} == {1, 2}


def test_two_questions_in_one_are_both_answered_and_what_is_nowhere_is_said() -> None:
    answer = answered("When was Ada Vane born and who is the mother of Carl?", context())
    assert (answer.status, answer.short) == ("answered", "1981 in; Dora")
    state = in_parts("Who is the mother of Carl and what is the rent of the quay?", context())
    assert state["draft"]["short"] == "Dora"
    assert state["draft"]["note"] == 'I found no answer to "What is the rent of the quay?"'
    state = in_parts("What is the rent of the quay and who paints the wall?", context())
    assert state["route"] == "retrieve"


def test_values_that_do_not_go_together_send_the_question_the_ordinary_way() -> None:
    state = in_parts("How much taller is the Long Tower than the Old Tower?", context())
    assert state["visited"][-1] == "combine"
    assert (state["route"], state["parts"], state["combining"]) == ("retrieve", [], "")
    assert not state["tokens"]
    assert state["found"]


def test_a_part_without_an_answer_sends_the_question_the_ordinary_way() -> None:
    state = in_parts("Who was born first, Ada Vane or Zed Quill?", context())
    assert state["visited"] == ["split", "ask_part", "ask_part"]
    assert (state["route"], state["parts"]) == ("retrieve", [])
    assert "this part has no answer" in state["steps"][-1]["route"]["why"]
    assert "vane.0" in {item["id"] for item in kept(state["found"])}


def test_the_risk_allowed_holds_for_the_whole() -> None:
    state = in_parts(BIRTH, context(settings=settings_of(answer={"max_risk": 0.001})))
    assert state["route"] == "retrieve"
    assert "the risk allowed" in state["steps"][-1]["route"]["why"]


def test_a_plain_question_costs_nothing() -> None:
    model = FunctionModel(lambda _: "no")
    state = in_parts("When was Ada Vane born?", context(model=model))
    assert state["visited"] == ["split"]
    assert (state["route"], state["parts"], state["combining"]) == ("retrieve", [], "")
    assert model.requests == []


# With a model

COMMON = "What do Ada Vane and Bob Reed have in common?"


def _speaking(plan: Any, answers: dict[str, str]) -> FunctionModel:
    """Plans as told, and answers by the question that it reads in its prompt."""

    def reply(request: ChatRequest) -> str:
        if "You split a question" in request.messages[0].content:
            return plan if isinstance(plan, str) else json.dumps(plan)
        asked = request.messages[-1].content
        return next(said for question, said in answers.items() if question in asked)

    return FunctionModel(reply)


def test_a_model_plans_where_code_only_suspects() -> None:
    plan = {
        "questions": ["When was Ada Vane born?", "When was Bob Reed born?"],
        "combine": "latest",
    }
    born = {
        "When was Ada": "Ada Vane was born in 1981 in Hull [1].",
        "When was Bob": "Bob Reed was born on 4 May 1979 at sea [1].",
    }
    model = _speaking(plan, born)
    state = in_parts(COMMON, context(model=model))
    assert state["steps"][0]["numbers"]["by"] == "a model"
    assert (state["route"], state["draft"]["short"]) == ("settle", "Ada Vane")
    assert (state["draft"]["method"], state["draft"]["model"]) == ("computed", model.spec)
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    "plan",
    [
        "certainly, here is a plan",
        "{}",
        {"questions": ["What is {2}?", "What do Ada Vane and Bob Reed have?"], "combine": "last"},
        {"questions": ["Where is Rome?", "Who lives in Rome?"], "combine": "same"},
        {"questions": [COMMON, COMMON], "combine": "same"},
        {"questions": [f"Is Ada Vane {at}?" for at in range(9)], "combine": "same"},
        {"questions": ["Who is Ada Vane?", "Who is Bob Reed?"], "combine": "guess"},
    ],
)
def test_a_plan_that_cannot_be_used_is_not_used(plan: Any) -> None:
    state = in_parts(COMMON, context(model=_speaking(plan, {})))
    assert (state["route"], state["parts"]) == ("retrieve", [])
    assert state["warnings"][0]["consequence"] == "the question was asked as a whole"


def test_a_model_that_is_away_costs_the_reader_s_own_answers() -> None:
    def away(_: ChatRequest) -> str:
        raise ModelUnavailable("it is away")

    state = in_parts(BIRTH, context(model=FunctionModel(away)))
    assert state["draft"]["short"] == "23 years"
    assert [one["node"] for one in state["warnings"]] == ["ask_part", "ask_part"]
    whole = in_parts(COMMON, context(model=FunctionModel(away)))
    assert whole["route"] == "retrieve"
