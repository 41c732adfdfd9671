"""Which workflow a question goes to, and what is to be summarised."""

from __future__ import annotations

from typing import Any

import pytest

from secondlook.nodes.outline import meant
from secondlook.nodes.route import from_documents, summary_scope
from secondlook.roles.wants import wanted
from secondlook.settings.workflows import AutoSettings, Routes
from tests.support.auto import TITLES

EVERYWHERE: Any = {"documents": None, "labels": []}


@pytest.mark.parametrize(
    ("question", "workflow", "why"),
    [
        ("How deep is berth 4?", "linear", "Searched your documents"),
        ("Which is older, the Mary or the Anne?", "adaptive", "several facts"),
        ("compare the two offers for the roof", "research", "account"),
    ],
)
def test_the_kind_of_question_decides_between_workflows(
    question: str, workflow: str, why: str
) -> None:
    chosen = AutoSettings(
        routes=Routes(one_fact="linear", several_facts="adaptive", account="research")
    )
    name, said = from_documents(wanted(question), question, chosen)
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
        ("What is the harbour survey about?", False, ["survey"]),
        ("what is this about", False, ["survey", "plan"]),
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
