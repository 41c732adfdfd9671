"""What a configuration amounts to: which questions a metric is over, and what failed ones cost."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from secondlook.evaluation.records import Configuration, Row, Summary
from secondlook.evaluation.summary import aurc, auroc, summarise
from tests.support.eval_results import make_rows

if TYPE_CHECKING:
    from secondlook.evaluation.statistics import Floats

LINEAR = Configuration("linear", "linear", changes={"retrieval.top_k": 8}, about="as it comes")


def a_row(case: str = "q1", **known: Any) -> Row:
    """A row of which only what a test is about is said."""
    status = known.get("status", "answered")
    stopped = {"answered": "answered", "failed": "error"}.get(status, "low_confidence")
    usual = {"configuration": "linear", "status": "answered", "stop_reason": stopped}
    return Row(case=case, **(usual | known))


def planted(n: int) -> list[Row]:
    return [row for row in make_rows(questions=n) if row.configuration == "adaptive"]


def summed(rows: list[Row], seed: int = 0) -> Summary:
    return summarise(rows, configuration=LINEAR, seed=seed)


def test_what_failed_counts_as_wrong_wherever_it_could_have_been_right() -> None:
    rows = [
        a_row("q1", right=True, metrics={"f1": 1.0, "em": 1.0, "recall@5": 1.0, "f1_overall": 1.0}),
        a_row("q2", status="failed", error="out of memory"),
        a_row("q3", status="failed", answerable=False, scored=False, error="out of memory"),
    ]
    found = summed(rows).metrics
    assert (found["f1"].value, found["f1"].n) == (0.5, 2)
    assert (found["em"].value, found["recall@5"].value) == (0.5, 0.5)
    assert found["f1_overall"].value == pytest.approx(1 / 3)
    assert found["success"].value == pytest.approx(1 / 3)
    assert found["refused_unanswerable"].value == 0.0
    assert found["answered_answerable"].value == 0.5
    assert found["failed"].value == pytest.approx(2 / 3)
    assert summed(rows).failed == ("q2", "q3")
    # It was not answered, and nothing says that its choice of a letter was asked for.
    assert found["wrong_among_answered"].n == 1
    assert "accuracy" not in found
    assert "rouge_l" not in found


def test_types_stand_side_by_side() -> None:
    rows = [
        a_row("q1", type="easy", right=True, metrics={"f1": 1.0}),
        a_row("q2", type="hard", right=False, metrics={"f1": 0.0}),
        a_row("q3", type="hard", status="failed"),
        a_row("q4", type="none", answerable=False, scored=False, status="abstained"),
        a_row("q5", metrics={"f1": 1.0}),
    ]
    found = summed(rows).by_type
    assert list(found) == ["easy", "hard", "none"]
    assert (found["easy"]["f1"].value, found["hard"]["f1"].value) == (1.0, 0.0)
    assert (found["hard"]["f1"].n, found["hard"]["wrong_among_answered"].n) == (2, 1)
    assert "f1" not in found["none"]
    assert "wrong_among_answered" not in found["none"]
    assert found["none"]["refused_unanswerable"].value == 1.0
    assert "latency_p50" not in found["easy"]


def test_latency_is_numpys_quantile() -> None:
    rows = planted(301)
    found = summed(rows)
    seconds = [row.seconds for row in rows]
    for name, q in (("p50", 0.5), ("p95", 0.95)):
        metric = found.metrics[f"latency_{name}"]
        assert metric.value == pytest.approx(np.quantile(seconds, q))
        drawn = np.random.default_rng(0).choice(seconds, (4000, 301))
        low, high = np.percentile(np.quantile(drawn, q, axis=1), [2.5, 97.5])
        assert metric.low == pytest.approx(low, abs=0.15 * (high - low))
        assert metric.high == pytest.approx(high, abs=0.15 * (high - low))
    nodes = [row.seconds_by_node["rerank"] for row in rows if row.seconds_by_node]
    assert found.seconds_by_node["rerank"]["p95"] == pytest.approx(np.quantile(nodes, 0.95))


# What confidence is worth: against scipy, and every order of equal confidences.


def some(n: int, seed: int, *, decimals: int) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    confidence = np.round(generator.random(n), decimals)
    return confidence, (generator.random(n) < confidence).astype(np.float64)


def once(n: int) -> Floats:
    return np.ones((1, n))


@pytest.mark.parametrize("decimals", [1, 12])
def test_auroc_is_mann_whitneys(decimals: int) -> None:
    confidence, right = some(400, 1, decimals=decimals)
    found = auroc(confidence, right)(once(400))[0]
    wins = stats.mannwhitneyu(confidence[right == 1], confidence[right == 0]).statistic
    assert found == pytest.approx(wins / (right.sum() * (1 - right).sum()))


def test_aurc_takes_equals_in_every_order() -> None:
    confidence = np.asarray([0.9, 0.5, 0.5, 0.5, 0.5, 0.1])
    right = np.asarray([1.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    areas = [
        np.mean(np.cumsum([0.0, *middle, 1.0]) / np.arange(1, 7))
        for middle in permutations(1 - right[1:5])
    ]
    assert aurc(confidence, right)(once(6))[0] == pytest.approx(np.mean(areas))
