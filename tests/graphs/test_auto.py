"""`auto` puts each question to the workflow that suits it, and makes one answer of the replies."""

from typing import Any

import pytest

from secondlook.errors import TableError
from secondlook.export import to_markdown
from secondlook.graphs.auto import called, most_visits
from tests.support.auto import customers, run
from tests.support.engine import HARBOUR, QUESTION, settings_of

MEAN_AGE = "What is the mean age?"


@pytest.mark.parametrize(
    ("question", "workflow", "why"),
    [
        (QUESTION, "linear", "Searched your documents"),
        (MEAN_AGE, "analyst", "names 'age' of customers"),
        ("What is a median?", "analyst", "what a term of statistics means"),
        ("Who voted? (A) Ms Orr (B) nobody", "research", "The question has choices"),
        ("Summarise the harbour survey", "summary", "It asks for a summary"),
        ("Compare the berths with the handbook", "research", "an account of several things"),
        ("Which was deeper, berth 4 or berth 2?", "corrective", "It needs several facts"),
        ("What is the largest income in the table?", "analyst", "'income' of customers"),
    ],
)
def test_each_question_goes_where_it_belongs(question: str, workflow: str, why: str) -> None:
    ran = run(question, desk=customers())
    assert ran.called[0] == workflow
    assert why in ran.why
    route = ran.state["steps"][0]["route"]
    assert (route["to"], route["why"]) == (workflow, ran.why)


@pytest.mark.parametrize("name", ["adaptive", "research"])
def test_who_answers_from_documents_is_a_setting(name: str) -> None:
    settings = settings_of(auto={"routes": {"one_fact": name}}, research={"enable_memory": False})
    assert run(QUESTION, settings=settings).answer.workflow == name
    assert name in called(settings)


# Greetings, and the library itself


@pytest.mark.parametrize("question", ["What are these documents about?", "list the documents"])
def test_the_documents_are_listed(question: str) -> None:
    answer = run(question).answer
    assert "- Harbour survey\n- The plan" in answer.text
    assert "- Harbour survey\n- The plan" in to_markdown(answer)
    assert "There is no document here yet" in run(question, titles=()).answer.text


def test_a_question_that_begins_with_a_greeting_is_answered() -> None:
    ran = run(f"Hi, {QUESTION}")
    assert ran.called == ["linear"]
    assert ran.answer.method == "extractive"


def test_two_documents_are_summarised_each_under_its_title() -> None:
    pieces = [("survey", "Berth 4 is 7.8 metres deep."), ("plan", "The plan is to dredge berth 2.")]
    answer = run("Summarise the survey, the plan and the lease", pieces=pieces).answer
    assert [one.document for one in answer.citations] == ["survey", "plan"]
    assert [claim.supported for claim in answer.claims] == [None, None]
    assert "- Survey\n  - Berth 4 is" in answer.text
    assert "- Plan\n  - The plan is" in answer.text
    assert 'There is no document called "lease".' in answer.text


# Both kinds


# A second try


class _Broken:
    """A desk whose tables can be read, and whose measures come to nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(customers(), name)

    def compute(self, query: Any) -> Any:
        if query.measures:
            raise TableError("the worker died")
        return customers().compute(query)


def test_where_documents_do_not_answer_the_tables_are_tried() -> None:
    """What speaks for the tables stands in their cells: nobody looks there the first time."""
    ran = run("Which one is it with c3?", desk=customers(), pieces=HARBOUR)
    assert ran.called[0] == "corrective"
    assert "look_again" in ran.nodes


def test_where_tables_do_not_answer_the_documents_are_tried() -> None:
    pieces = [("paper", "The mean age of customers is 39 years.")]
    ran = run("What is the mean age of customers?", desk=_Broken(), pieces=pieces)
    assert ran.called == ["analyst", "linear"]
    assert ran.answer.workflow == "linear"
    assert ran.answer.status == "answered"
    (again,) = [step for step in ran.state["steps"] if step["node"] == "look_again"]
    assert again["said"] == "No table answers, so Secondlook tried linear."


def test_what_neither_answers_says_that_both_were_tried() -> None:
    ran = run("What is the mean age of customers?", desk=_Broken())
    answer = ran.answer
    assert len(ran.nodes) == most_visits(settings_of())
    assert answer.status == "abstained"
    assert "The documents were tried too." in answer.text
    assert answer.attempts >= 2


def test_a_risk_does_not_apply_to_a_summary() -> None:
    ran = run("Summarise the harbour survey", settings=settings_of(answer={"max_risk": 0.1}))
    assert ran.answer.workflow == "summary"
    assert [warning.node for warning in ran.answer.warnings] == ["summarise"]


def test_tables_that_came_with_a_question_are_what_it_is_about() -> None:
    ran = run("What about Ms Orr?", desk=customers(), tables_given=True)
    assert ran.called == ["analyst"]
    assert ran.why.startswith("Tables came with the question")
