"""What a question asks for, told by rules."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from secondlook.nodes.route import BY_CODE, Signs, named_column, signs_of, summary_scope
from secondlook.roles.route import apart, from_documents
from secondlook.settings.workflows import AutoSettings, Routes
from secondlook.tables.table import Column, Table
from tests.support.auto import TITLES, context, customers
from tests.support.function_model import FunctionModel

SALES = Table(
    id="1",
    name="sales",
    title="sales.csv",
    sha256="0",
    rows=3,
    columns=(
        Column(name="Price (EUR)", type="number"),
        Column(name="unitsSold", type="integer"),
        Column(name="id", type="integer"),
    ),
)
EVERYWHERE: Any = {"documents": None, "labels": []}


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "What is the target in the plan, and what were the sales in March?",
            ("What is the target in the plan?", "What were the sales in March?"),
        ),
        ("Who approved it? How many were sold?", ("Who approved it?", "How many were sold?")),
        (
            "Show the mean price and who set the target",
            ("Show the mean price?", "Who set the target?"),
        ),
    ],
)
def test_two_questions_in_one_sentence(question: str, parts: tuple[str, ...]) -> None:
    assert apart(question) == parts


@pytest.mark.parametrize(
    "question",
    [
        "What is the law of supply and demand?",
        "Who wrote Sense and Sensibility?",
        "Tom and Ann own a boat. Who owns it?",
        "What is this and that and what and how and why and who and when?",
        "?",
        "what " * 400,
    ],
)
def test_one_question_stays_whole(question: str) -> None:
    assert apart(question) == (" ".join(question.split()),)


@pytest.mark.parametrize(
    ("question", "workflow", "why"),
    [
        ("How deep is berth 4?", "linear", "Searched your documents"),
        ("Which is older, the Mary or the Anne?", "adaptive", "several facts"),
        ("Compare the two offers", "research", "account"),
        ("To what extent is the harbour safe?", "research", "account"),
    ],
)
def test_the_kind_of_question_decides_between_workflows(
    question: str, workflow: str, why: str
) -> None:
    chosen = AutoSettings(
        routes=Routes(one_fact="linear", several_facts="adaptive", account="research")
    )
    name, said = from_documents(question, chosen)
    assert name == workflow
    assert why in said


# Tables


def test_a_column_is_named_word_for_word() -> None:
    for question in ("What is the average price?", "how many UNITS SOLD in May"):
        assert "sales.csv" in (named_column(question, [SALES]) or "")
    for question in ("How many berths are there?", "What is the average id of it?"):
        assert named_column(question, [SALES]) is None


def signs(question: str, **given: Any) -> Signs:
    desk = given.pop("desk", customers())
    thorough = given.pop("thorough", False)
    made = context(question, desk=desk, **given)
    return asyncio.run(signs_of(made, question, thorough=thorough))


def test_a_measure_of_a_column_is_certain() -> None:
    found = signs("What is the mean age?")
    assert found.certain
    assert found.likely > 0.5
    assert found.why == "It asks for a measure and names 'age' of customers"


def test_a_term_of_statistics_is_explained_where_there_are_tables() -> None:
    assert signs("What is a standard deviation?").certain
    assert signs("What is a standard deviation?", desk=None) == Signs()


def test_a_measure_that_nobody_reads_is_left_to_code_of_a_model() -> None:
    question = "How much would the age grow if xylophones were taxed?"
    assert signs(question).likely == 0
    written = signs(question, model=FunctionModel(lambda _: ""), sandbox=lambda: None)
    assert written == Signs(BY_CODE, named=True, why=written.why)


# Summaries


@pytest.mark.parametrize(
    ("question", "certain", "documents"),
    [
        ("Summarise the harbour survey", False, ["survey"]),
        ("Summarise everything", False, ["survey", "plan"]),
        ("Summarise the tides", False, None),
        ("the plan", True, ["plan"]),
    ],
)
def test_what_is_to_be_summarised(
    question: str, certain: bool, documents: list[str] | None
) -> None:
    found = summary_scope(question, EVERYWHERE, lambda _: TITLES, certain=certain)
    assert found == {"documents": documents, "labels": []}


@pytest.mark.parametrize("question", ["How deep is berth 4?", "What is the old handbook about?"])
def test_other_requests_are_none_for_a_summary(question: str) -> None:
    assert summary_scope(question, EVERYWHERE, lambda _: TITLES) is None
