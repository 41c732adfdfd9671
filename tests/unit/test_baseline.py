"""The verdict on a change of answers, and the memory of what models compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest

from benchmarks.baseline import Passes, cells, f1, key_of, read, report, stands_in, verdict, write

if TYPE_CHECKING:
    from pathlib import Path


def row(at: int, *, score: float = 1.0, right: bool | None = True, **more: Any) -> dict[str, Any]:
    made = {
        "set": "squad2-dev",
        "workflow": "auto",
        "id": f"q{at}",
        "status": "abstained" if right is None else "answered",
        "stop": "low_confidence" if right is None else "answered",
        "short": "a",
        "cited": "b",
        "asked": "c",
        "values": "d",
        "confidence": 0.8,
        "visits": 14,
        "passes": {"embedder/model": 1, "reader/glance": 20, "reader/look": 6},
        "cpu": 0.1,
        "seconds": 0.2,
        "pass_cpu": 0.05,
        "said": "Paris",
        "question": f"Question {at}?",
    }
    return made | {"score": score, "right": right} | more


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


def test_a_changed_answer_is_shown_beside_the_old_one() -> None:
    after = [row(0, score=0.5, short="x", said="Lyon"), *BEFORE[1:3]]
    told = report(list(zip(BEFORE[:3], after, strict=True)))
    assert "squad2-dev: 1 changed, 1 score higher, 0 lower" in told
    assert "abstained/low_confidence > answered/answered  Question 0?" in told
    assert "before  Paris\n    after   Lyon" in told


def test_texts_of_other_sets_are_not_written(tmp_path: Path) -> None:
    rows = [row(0), row(1, set="scifact")]
    write(tmp_path / "rows.jsonl.gz", rows)
    held = read(tmp_path / "rows.jsonl.gz")
    assert held[key_of(rows[0])] == rows[0]
    assert {"said", "question"}.isdisjoint(held[key_of(rows[1])])


def test_scores() -> None:
    assert f1("the Eiffel Tower", "Eiffel tower") == 1.0
    assert f1("Paris", "Lyon") == 0.0
    assert stands_in("7.8 metres", "It is 7.8 metres deep.")
    assert not stands_in("8 metres", "It is 7.8 metres deep.")
    assert cells({"a": ["1,200", 3.0]}) == [1200.0, 3.0]
    assert cells("Rome (Italy)") == ["rome"]


@dataclass
class Session:
    _model_path: str


@pytest.mark.parametrize("size", [10, 10_000])
def test_a_remembered_pass_gives_the_same_numbers(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its output is too large to be stored and a new pass needs it."""
    model = tmp_path / "model.onnx"
    model.write_bytes(b"weights")
    computed: list[int] = []

    def run(_: Any, __: Any, feed: dict[str, Any]) -> list[Any]:
        computed.append(1)
        return [feed["x"] * 2.0, feed["x"][:1]]

    monkeypatch.setattr(onnxruntime.InferenceSession, "run", run)
    passes, session = Passes(tmp_path / "passes.db"), Session(str(model))
    asked = {"x": np.arange(size, dtype=np.float32)}
    passes.timed(session, None, asked)
    large, small = passes.timed(session, None, asked)
    assert len(computed) == 1
    assert small.tolist() == [0.0]
    again = passes.timed(session, None, {"x": large})
    assert again[0].tolist() == (asked["x"] * 4.0).tolist()
    assert passes.computed == 2
    assert passes.counts.total() == 3
