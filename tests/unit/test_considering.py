"""What a question asks for, told by rules."""

from __future__ import annotations

from typing import Any

import pytest

from secondlook.nodes.outline import meant
from secondlook.nodes.route import summary_scope
from secondlook.roles.route import apart, from_documents
from secondlook.settings.workflows import AutoSettings, Routes
from tests.support.auto import TITLES

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


# Summaries


@pytest.mark.parametrize(
    ("question", "certain", "documents"),
    [
        ("Summarise the harbour survey", False, ["survey"]),
        ("Summarise everything", False, ["survey", "plan"]),
        ("Summarise the tides", False, None),
        ("the plan", True, ["plan"]),
        ("Summarise the plan and the harbour survey", False, ["plan", "survey"]),
        ("Summarise the plan, the lease and the survey", False, ["plan", "survey"]),
        ("Summarise the tides and the currents", False, None),
    ],
)
def test_what_is_to_be_summarised(
    question: str, certain: bool, documents: list[str] | None
) -> None:
    found = summary_scope(question, EVERYWHERE, lambda _: TITLES, certain=certain)
    assert found == {"documents": documents, "labels": []}


def test_a_name_with_and_in_it_is_not_taken_apart() -> None:
    held = {"terms": ("Terms and conditions", ()), "handbook": ("Handbook", ("a/hand_book.md",))}
    assert meant("the terms and conditions", held) == (["terms"], [])
    assert meant('conditions, the "Lease" and my hand book', held) == (
        ["terms", "handbook"],
        ["Lease"],
    )
