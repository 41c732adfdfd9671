"""The figures of the benchmark that holds `corrective` beside `linear`."""

from __future__ import annotations

import pytest

from benchmarks.corrective import asked_again, equal_coverage, times
from secondlook.evaluation.records import Row


def row(case: int, *, right: bool | None, confidence: float = 0.5, **more: object) -> Row:
    told = {
        "configuration": "linear",
        "case": f"q{case}",
        "status": "abstained" if right is None else "answered",
        "stop_reason": "no_evidence" if right is None else "answered",
        "right": right,
        "confidence": None if right is None else confidence,
    }
    return Row.model_validate(told | more)


def test_both_sides_are_judged_on_equally_many() -> None:
    base = [row(at, right=at % 2 == 0, confidence=0.5 + at / 100) for at in range(10)]
    other = [row(at, right=True if at < 5 else None) for at in range(10)]
    found = equal_coverage(base, other)
    assert [one["coverage"] for one in found] == [0.2, 0.3, 0.4, 0.5]
    assert found[-1]["linear"] == pytest.approx(0.6)
    assert {one["corrective"] for one in found} == {0.0}


def test_questions_asked_again_though_they_were_right() -> None:
    base = [row(0, right=True), row(1, right=True), row(2, right=False), row(3, right=None)]
    other = [row(at, right=None, retries=1 if at in {1, 2} else 0) for at in range(4)]
    assert asked_again(base, other) == {"questions": 2, "share": 0.5}


def test_times_are_a_ratio_of_the_same_questions() -> None:
    rows = {
        "linear": [row(at, right=None, seconds=0.1) for at in range(4)],
        "corrective": [row(at, right=None, seconds=0.13) for at in range(4)],
    }
    assert times(rows)["ratio"] == pytest.approx(1.3)
    assert times(rows)["ratio_p95"] == pytest.approx(1.3)
