"""What is measured of research and of questions over tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.answer import (
    CallUsage,
    Recalled,
    Research,
    ResearchStep,
    Screening,
    SeenPassage,
    StepEvidence,
    Usage,
)
from secondlook.evaluation.ablation import ablation_plan
from secondlook.evaluation.cache import Saved
from secondlook.evaluation.datasets import load
from secondlook.evaluation.datasets.evalset import describe
from secondlook.evaluation.metrics import value_right
from secondlook.evaluation.records import Configuration
from secondlook.evaluation.runner import RowMaker, Seen
from secondlook.evaluation.summary import summarise
from secondlook.settings import load as settings_of
from tests.support.engine import WordShelf
from tests.support.eval_questions import answer, case, truth
from tests.support.table_sets import dabench_set

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.answer import Answer


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
    classified_by="understander",
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
    made = maker().row(one, Seen(answer=researched()), seconds=1.0, saved=Saved())
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


# Sets of questions over tables: how they are read, and when an answer to one is right.


def test_questions_of_dabench_carry_constraints_and_the_wanted_form(tmp_path: Path) -> None:
    data = load(dabench_set(tmp_path / "da"))
    assert (data.form, data.tables, data.has_corpus) == ("tables", 1, False)
    first = data.cases[0]
    assert first.question.splitlines()[0] == "What is the mean depth?"
    assert first.question.splitlines()[-1].startswith("@mean_depth[")
    assert (first.table, first.type) == ("ports.csv", "easy")
    assert first.values == (("mean_depth", "10.5"),)
    assert first.answers == ("@mean_depth[10.5]",)
    assert data.read_table("ports.csv").content.startswith(b"port,depth")
    assert describe(data)["tables"] == 1


@pytest.mark.parametrize(
    ("expected", "value", "is_so"),
    [
        ("34.65", 34.65, True),
        ("34.65", "34.65", True),
        ("34.65", 34.6500002, True),
        ("34.65", 34.66, False),
        ("Normal", "Normal", True),
        ("Normal", "normal", False),
        ("True", True, True),
        ("1", True, False),
        ("[1, 2.5]", [1.0, 2.5], True),
        ("[1, 2.5]", [2.5, 1.0], False),
        ("[1, 2.5]", [1.0], False),
        ("{'a': 1}", {"a": 1.0}, True),
        ("{'a': 1}", {"b": 1.0}, False),
        ("a, b", ["a", "b"], True),
        ("[1, 2", [1, 2], False),
    ],
)
def test_a_value_is_right_by_dabench(expected: str, value: object, is_so: bool) -> None:
    assert value_right(expected, value) is is_so


def test_an_ablation_without_a_model_tries_what_needs_none() -> None:
    settings = settings_of({"models.default": "none"}).settings
    plan, left_out = ablation_plan(settings, ["analyst"])
    assert [item.name for item in plan] == [
        "analyst",
        "analyst without understanding",
        "analyst without alignment",
        "analyst without arithmetic",
    ]
    assert "--model" in left_out["analyst.enable_code_check"]
    assert "--model" in left_out["models.servers.judge = model"]
