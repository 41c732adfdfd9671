"""Parts are asked in turn, and what they came to is put together from what they cite."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.errors import ModelUnavailable
from secondlook.nodes.combine import combined
from secondlook.nodes.ranking import kept
from secondlook.nodes.state import Cited, DraftData, PartData, Sentence
from secondlook.roles.arithmetic import Stated, computed, read_date, read_number, sentence
from tests.support.engine import context_of, passages_of, settings_of
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
    assert in_parts(COMMON, context(model=FunctionModel(away)))["route"] == "retrieve"


# Values are taken from where they are cited, as they are written there.


def part(question: str, short: str | None, passage: Any, **more: Any) -> PartData:
    place = Cited(passage=passage.id, start=passage.start, end=passage.end)
    values: dict[str, Any] = {
        "method": "generative",
        "model": "m",
        "sentences": [Sentence(text=passage.text, cited=[place], support=1.0, supported=True)],
        "short": short,
        "stop": "answered",
        "confidence": 0.5,
        "reasons": [],
        "note": None,
        **more,
    }
    return PartData(question=question, asked=question, draft=DraftData(**values))  # type: ignore[typeddict-item]


def pair(
    texts: tuple[str, str], shorts: tuple[str | None, str | None], asks: str = "When was {} born?"
) -> tuple[list[PartData], dict[str, Any]]:
    passages = passages_of([("a", texts[0]), ("b", texts[1])])
    questions = [asks.format(name) for name in ("Ada Vane", "Bo Reed")]
    parts = [part(*one) for one in zip(questions, shorts, passages, strict=True)]
    return parts, {passage.id: passage for passage in passages}


def test_a_value_is_quoted_as_its_place_writes_it() -> None:
    texts = ("Born\nSeptember 4,\n1981.", "Born in 1979.")
    draft = combined(*_with("earliest", *pair(texts, ("4 September 1981", "1979"))))
    assert draft is not None
    made = draft["sentences"][0]["computation"]
    assert made is not None
    assert made["operands"][0]["text"].split() == ["September", "4,", "1981"]
    assert draft["short"] == "Bo Reed"


def _with(combining: Any, parts: Any, held: Any) -> Any:
    return parts, combining, held


@pytest.mark.parametrize(
    "shorts", [("1999", "1979"), ("then", "1979"), (None, "1979"), ("198", "1979")]
)
def test_a_value_that_its_place_does_not_state_is_refused(shorts: Any) -> None:
    assert combined(*_with("earliest", *pair(("Born in 1981.", "Born in 1979."), shorts))) is None


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (("It is 330 metres high.", "It is 300 m high."), "30 metres"),
        (("It is 330 metres high.", "It is 300 feet high."), None),
        (("It cost $330 million.", "It cost $300 million."), None),
    ],
)
def test_the_unit_is_taken_from_the_place(texts: tuple[str, str], result: str | None) -> None:
    draft = combined(*_with("difference", *pair(texts, ("330", "300"), "How high is {}?")))
    assert (draft and draft["short"]) == result


def test_a_date_that_the_reader_cut_is_taken_whole() -> None:
    texts = ("Born on 4 May 1979 at sea.", "Born on 5 May 1979, died on 6 June 1979.")
    draft = combined(*_with("earliest", *pair(texts, ("4 May", "5 May 1979"))))
    assert draft is not None
    assert draft["short"] == "Ada Vane"
    assert combined(*_with("earliest", *pair(texts, ("4 May", "1979")))) is None


@pytest.mark.parametrize("second", ["Bo Reed is an actor.", "Bo Reed is no director."])
def test_that_both_are_is_never_guessed(second: str) -> None:
    texts = ("Ada Vane is a director.", second)
    assert combined(*_with("both", *pair(texts, ("x", "y"), "Is {} a director?"))) is None


# Values are read as texts state them, and what follows from them is computed by a known rule.

DAYS = st.dates(min_value=date(1000, 1, 1), max_value=date(2099, 12, 31))
WHOLE = st.integers(min_value=0, max_value=10**12)


def of(*texts: str) -> list[Stated]:
    return [Stated(text, f"Name {at}") for at, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("September 4, 1981", (1981, 9, 4)),
        ("1981-09-04", (1981, 9, 4)),
        ("4.9.1981", (1981, 9, 4)),
        ("25/9/1981", (1981, 9, 25)),
        ("4/9/1981", (1981,)),
        ("May 2001", (2001, 5)),
        ("in 1981", (1981,)),
        ("44 BC", (-44,)),
        ("1981 (aged 20 in 2001)", (1981,)),
        ("1981, namely September 4, 1981", (1981, 9, 4)),
    ],
)
def test_a_date_is_read_however_it_is_written(text: str, day: tuple[int, ...]) -> None:
    found = read_date(text)
    assert found is not None
    assert found.day == day
    assert found.written in text


@pytest.mark.parametrize(
    "text",
    [
        "the 1960s",
        "1994-95",
        "between 1962 and 1964",
        "31 February 2001",
        "",
        "1,981",
        "2023-14-01",
    ],
)
def test_what_is_no_one_date_is_not_read(text: str) -> None:
    assert read_date(text) is None


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("330 metres (1,083 ft)", "330", "metres"),
        ("5,295,000 in 2011", "5295000", ""),
        ("$5.3 million", "5300000", "$"),
        ("12 per cent", "12", "%"),
        ("twenty-three", "23", ""),
        ("two thousand people", "2000", "people"),
        ("20\u202f000 km", "20000", "kilometres"),
        ("\u22123 %", "-3", "%"),
        ("1889", "1889", ""),
    ],
)
def test_a_number_is_read_with_its_unit(text: str, number: str, unit: str) -> None:
    found = read_number(text)
    assert found is not None
    assert (found.number, found.unit) == (Decimal(number), unit)
    assert found.written in text


@pytest.mark.parametrize(
    "text",
    ["", "1.2.3", "12th", "A4", "10-12", "6 ft 2 inches", "one of them", "1,23", "20:52", "9" * 30],
)
def test_what_is_no_one_number_is_not_read(text: str) -> None:
    assert read_number(text) is None


def test_a_birth_and_a_first_grammy_are_23_years_apart() -> None:
    assert computed("years", of("1981", "2004")) == "23 years"
    full = of("September 4, 1981", "February 8, 2004")
    assert computed("years", full) == "23 years"
    assert "(22 full)" in sentence("years", full, "23 years")
    assert "full" not in sentence("years", of("1981", "2004"), "23 years")


@given(DAYS, DAYS)
def test_the_earlier_is_not_the_later(one: date, other: date) -> None:
    both = of(one.isoformat(), other.isoformat())
    least, most = computed("least", both), computed("most", both)
    if one == other:
        assert least is most is None
    else:
        assert least == both[one > other].name
        assert {least, most} == {"Name 0", "Name 1"}


@given(WHOLE, WHOLE)
def test_difference_and_sum_are_those_of_numbers(one: int, other: int) -> None:
    both = of(f"{one:,} tonnes", f"{other} tonnes")
    for operation, value in (("difference", abs(one - other)), ("sum", one + other)):
        said = computed(operation, both)  # type: ignore[arg-type]
        assert said is not None
        found = read_number(said)
        assert found is not None
        assert (int(found.number), found.unit) == (value, "tonnes")


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_answered_or_refused(one: str, other: str) -> None:
    for operation in ("difference", "sum", "least", "most", "same", "years"):
        result = computed(operation, of(one, other))
        assert result is None or result.strip()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("American", "an American", "yes"),
        ("American", "the United States", "yes"),
        ("American film director", "director", "yes"),
        ("American", "Scottish", "no"),
        ("Peru", "Peruvian", None),
        ("American director", "American actor", None),
        ("", "Scottish", None),
    ],
)
def test_whether_two_are_the_same(one: str, other: str, same: str | None) -> None:
    assert computed("same", of(one, other)) == same
    assert computed("same", of(other, one)) == same
