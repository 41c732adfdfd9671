"""What is measured of research: choices, steps, passages shown, calls, subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.answer import (
    CallUsage,
    Choice,
    Recalled,
    Research,
    ResearchStep,
    Screening,
    SeenPassage,
    StepEvidence,
    Usage,
)
from secondlook.evaluation.cache import Saved
from secondlook.evaluation.metrics import answer_metrics, is_right
from secondlook.evaluation.records import Configuration
from secondlook.evaluation.rows import RowMaker, Seen
from secondlook.evaluation.summary import summarise
from tests.support.engine import WordShelf
from tests.support.eval_questions import answer, case, truth

if TYPE_CHECKING:
    from secondlook.answer import Answer, Status

CHOICES = {"1": "oak", "2": "stone"}
"""Letters of the set's own: whoever chooses says A and B."""


def chose(letter: str | None, *, grounded: bool = True, status: Status = "answered") -> Answer:
    choice = Choice(letter=letter, grounded=grounded)
    return answer(letter, "Weirs are built of stone.", status=status).model_copy(
        update={"choice": choice}
    )


def seen_passage(name: str, *, kept: bool) -> SeenPassage:
    return SeenPassage(
        id=f"p-{name}", document=name, title=name, start=0, end=9, score=1.0, kept=kept, why=""
    )


def step_of(number: int, *passages: str) -> ResearchStep:
    evidence = tuple(
        StepEvidence(passage=f"p-{name}", rank=at, score=1.0, kept=True, why="")
        for at, name in enumerate(passages, start=1)
    )
    return ResearchStep(
        id=number, phase="Rule", question="Of what?", status="completed", evidence=evidence
    )


RESEARCH = Research(
    query_type="simple",
    classified_by="rules",
    escalated=True,
    cycles=2,
    completed=1,
    failed=1,
    steps=(step_of(1, "a"), step_of(2, "b")),
    screen=Screening(verdict="unclear"),
    quarantined=3,
    recalled=Recalled(entry=1, question="Of what?", similarity=0.99, created="", run="r"),
)


# Choices


@pytest.mark.parametrize(("letter", "right"), [("B", True), ("A", False), (None, False)])
def test_the_letter_is_the_one_that_was_chosen(letter: str | None, right: bool) -> None:
    """The words of the research name an option too, and do not count."""
    one = case(right=["stone"], choices=CHOICES, choice="2")
    assert answer_metrics(one, chose(letter))["accuracy"] == float(right)
    assert is_right(one, chose(letter)) is right


# Rows


def maker() -> RowMaker:
    return RowMaker("research", {}, WordShelf(), truth())  # type: ignore[arg-type]


def researched() -> Answer:
    usage = Usage(
        calls=3,
        characters_in=900,
        characters_out=70,
        by_node=(
            CallUsage(node="plan", role="plan", model="m", calls=1),
            CallUsage(node="synthesise", role="answer", model="m", calls=1, parse_failures=1),
            CallUsage(node="synthesise", role="answer", model="n", calls=1),
        ),
    )
    passages = tuple(seen_passage(name, kept=name == "a") for name in ("a", "b", "c"))
    return answer("stone").model_copy(
        update={"research": RESEARCH, "usage": usage, "passages": passages}
    )


def test_a_row_tells_how_it_was_researched() -> None:
    one = case(right=["stone"], gold=["b", "c"])
    made = maker().row(one, Seen(answer=researched()), repeat=0, seconds=1.0, saved=Saved())
    assert (made.shown, made.metrics["recall_shown"]) == (2, 0.5)
    assert made.calls_by_node == {"plan": 1, "synthesise": 2}
    assert (made.characters_in, made.characters_out, made.parse_failures) == (900, 70, 1)
    assert made.research is not None
    assert (made.research.screen, made.research.recalled) == ("unclear", True)
    found = summarise([made], configuration=Configuration("c", "research"))
    told = {name: estimate.value for name, estimate in found.metrics.items()}
    assert (
        told
        | {
            "multi_hop": 0.0,
            "escalated": 1.0,
            "cycles": 2.0,
            "steps_completed": 1.0,
            "steps_failed": 1.0,
            "steps_weak": 0.0,
            "steps_pending": 0.0,
            "screened_out": 0.0,
            "screen_unclear": 1.0,
            "quarantined": 3.0,
            "memory_hit": 1.0,
            "shown": 2.0,
        }
        == told
    )
    assert found.calls_by_node == {"synthesise": 2.0, "plan": 1.0}


# By subject


# Without a corpus
