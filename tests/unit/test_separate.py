"""The node that sets choices apart: from then on the question does not hold them."""

from __future__ import annotations

import asyncio
from typing import Any

from langgraph.runtime import Runtime

from secondlook.nodes.choices import separate
from tests.support.engine import context_of, state_of

CHOICES = "Who pays for the dredging?\n(A) the harbour\n(B) the council\n(C) the state"


def separated(question: str) -> dict[str, Any]:
    state: Any = state_of(question)
    return dict(asyncio.run(separate(state, Runtime(context=context_of()))))


def test_choices_are_set_apart() -> None:
    made = separated(CHOICES)
    assert made["question"] == "Who pays for the dredging?"
    assert made["choices"] == {"A": "the harbour", "B": "the council", "C": "the state"}
    assert made["steps"][0]["said"] == "3 choices set apart."
    assert made["steps"][0]["numbers"] == {"choices": 3}


def test_a_question_without_choices_stays_as_it_is() -> None:
    made = separated("How deep is berth 4?")
    assert (made["question"], made["choices"]) == ("How deep is berth 4?", {})
    assert made["steps"][0]["said"] == "There are no choices."
    assert set(made) == {"question", "choices", "steps", "warnings"}
