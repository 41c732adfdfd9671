"""docs/results.md quotes what the benchmarks saved, and their verdicts are right."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.baseline import verdict
from benchmarks.wikitables import right

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "docs" / "results.md").read_text("utf-8").splitlines()


def saved(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))


def row(start: str) -> str:
    (found,) = [line for line in LINES if line.startswith(f"| {start}")]
    return found


def share(value: float) -> str:
    """As the page writes shares: .941."""
    return f"{value:.3f}".removeprefix("0")


@pytest.mark.parametrize("set_", ["squad2-dev", "wikitables", "dabench", "samples"])
def test_routing(set_: str) -> None:
    right = saved("auto")["sets"][set_]["routed_right"]
    assert f"{right:.2f}".removeprefix("0") in row("`auto`: right kind")


def test_support_and_verification() -> None:
    found = saved("groundedness")
    judged = [*found["judgements"].values(), found["halueval, lengths matched"]]
    for who in ("judge", "coverage"):
        for one in judged:
            assert share(one[who]["balanced_accuracy"]) in row("support judge")
        answers = found["falsified answers"][who]
        for what in ("falsified_caught", "false_alarms"):
            assert f"{100 * answers[what]['share']:.1f} %" in row("344 answers")


def test_injection() -> None:
    channels = saved("injection")["channels"].values()
    counts = [channel["held out"]["orders"]["success"]["count"] for channel in channels]
    assert f"{', '.join(map(str, counts[:3]))} and {counts[3]} of 179" in row("injection")


# The verdict on a change of answers, and the memory of what models compute.


def question(at: int, *, score: float = 1.0, right: bool | None = True) -> dict[str, Any]:
    status = "abstained" if right is None else "answered"
    asked = {"set": "squad2-dev", "workflow": "auto", "id": f"q{at}"}
    return asked | {"status": status, "score": score, "right": right}


BEFORE = [question(at, score=float(at % 3 > 0), right=at % 3 > 0 or None) for at in range(600)]


def test_the_same_answers_are_not_worse() -> None:
    found = verdict(BEFORE, BEFORE)
    assert found["not_worse"]
    assert found["f1"] == found["wrong"] == 0.0


def test_fewer_right_answers_are_worse() -> None:
    after = [
        one if at % 20 else question(at, score=0.0, right=None) for at, one in enumerate(BEFORE)
    ]
    found = verdict(BEFORE, after)
    assert found["f1"] < -0.02
    assert not found["not_worse"]


def test_wrong_answers_in_place_of_none_are_worse() -> None:
    """F1 does not move: who was silent scored 0 too."""
    after = [
        question(at, score=0.0, right=False) if one["right"] is None and at % 2 else one
        for at, one in enumerate(BEFORE)
    ]
    found = verdict(BEFORE, after)
    assert found["f1"] == 0.0
    assert found["wrong"] > 0.1
    assert not found["not_worse"]


# Answers over tables are right as the evaluator of WikiTableQuestions has it.


@pytest.mark.parametrize(
    ("answers", "expected", "is_right"),
    [
        (["Caf\u00e9 (old)"], ["cafe"], True),
        (["1,200"], ["1200.0"], True),
        (["1978-10-08"], ["October 8, 1978"], True),
        (["a", "b", "A"], ["b", "a"], True),
        (['"The Quay"[2]'], ["The Quay"], True),
        (["a"], ["a", "b"], False),
        (["a", "b"], ["a"], False),
        (["1978-10-09"], ["October 8, 1978"], False),
        (["x"] * 50, ["x"], False),
        ([], ["x"], False),
    ],
)
def test_right_and_wrong(answers: list[str], expected: list[str], *, is_right: bool) -> None:
    assert right(answers, expected) is is_right
