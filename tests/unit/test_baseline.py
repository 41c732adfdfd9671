"""The verdict on a change of answers, and the memory of what models compute."""

from __future__ import annotations

from typing import Any

from benchmarks.baseline import verdict


def row(at: int, *, score: float = 1.0, right: bool | None = True) -> dict[str, Any]:
    status = "abstained" if right is None else "answered"
    asked = {"set": "squad2-dev", "workflow": "auto", "id": f"q{at}"}
    return asked | {"status": status, "score": score, "right": right}


BEFORE = [row(at, score=float(at % 3 > 0), right=at % 3 > 0 or None) for at in range(600)]


def test_the_same_answers_are_not_worse() -> None:
    found = verdict(BEFORE, BEFORE)
    assert found["not_worse"]
    assert found["f1"] == found["wrong"] == 0.0


def test_fewer_right_answers_are_worse() -> None:
    after = [one if at % 20 else row(at, score=0.0, right=None) for at, one in enumerate(BEFORE)]
    found = verdict(BEFORE, after)
    assert found["f1"] < -0.02
    assert not found["not_worse"]


def test_wrong_answers_in_place_of_none_are_worse() -> None:
    """F1 does not move: who was silent scored 0 too."""
    after = [
        row(at, score=0.0, right=False) if one["right"] is None and at % 2 else one
        for at, one in enumerate(BEFORE)
    ]
    found = verdict(BEFORE, after)
    assert found["f1"] == 0.0
    assert found["wrong"] > 0.1
    assert not found["not_worse"]
