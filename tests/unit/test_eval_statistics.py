"""Intervals and paired tests agree with scipy and statsmodels, and behave at the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from secondlook.evaluation.records import Configuration, Row, Summary
from secondlook.evaluation.statistics import (
    Floats,
    holm,
    interval,
    mcnemar,
    paired,
    permutation,
    unseen,
)
from secondlook.evaluation.summary import auroc, summarise
from tests.support.eval_results import make_rows


def scores(n: int, seed: int) -> Floats:
    """As F1 is: heaps at 0 and 1, and some between."""
    generator = np.random.default_rng(seed)
    return np.clip(generator.normal(0.6, 0.6, n), 0, 1)


def test_the_interval_of_a_mean_is_scipys_bootstrap() -> None:
    values = scores(400, 1)
    found = interval(list(values), 0)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    error = 0.08 * (theirs.high - theirs.low)
    assert found.value == pytest.approx(values.mean())
    assert found.n == 400
    assert found.low == pytest.approx(theirs.low, abs=error)
    assert found.high == pytest.approx(theirs.high, abs=error)


@pytest.mark.parametrize(("yes", "n"), [(0, 20), (20, 20), (1, 3), (431, 1000)])
def test_a_share_has_wilsons_interval(yes: int, n: int) -> None:
    found = interval([1.0] * yes + [0.0] * (n - yes), yes_no=True)
    low, high = proportion_confint(yes, n, method="wilson")
    assert found.value == pytest.approx(yes / n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize(
    ("up", "down"), [(0, 0), (1, 0), (3, 9), (25, 75), (40, 40), (51, 50), (900, 1000)]
)
def test_mcnemar_is_that_of_statsmodels(up: int, down: int) -> None:
    theirs = reference_mcnemar([[10, down], [up, 10]], exact=True).pvalue
    assert mcnemar(up, down) == pytest.approx(min(1.0, theirs), rel=1e-9)


def differences(n: int, changed: int, shift: float, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    found = np.zeros(n)
    found[:changed] = generator.uniform(-1, 1, changed) + shift
    return found


def scipys_permutation(values: Floats) -> float:
    zeros = np.zeros_like(values)
    return float(
        stats.permutation_test(
            (values, zeros),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            n_resamples=9_999,
            vectorized=True,
            rng=np.random.default_rng(7),
        ).pvalue
    )


@pytest.mark.parametrize("shift", [0.05, 0.4])
def test_few_changes_are_all_flipped_as_scipy_does(shift: float) -> None:
    values = differences(12, 12, shift, 1)
    assert permutation(values) == pytest.approx(scipys_permutation(values), abs=1e-12)
    # Questions that did not change have no say.
    assert permutation(np.append(values, np.zeros(500))) == permutation(values)


def test_so_few_questions_do_not_show_that_nothing_is_lost() -> None:
    few = paired([1.0] * 5, [1.0] * 5, yes_no=True)
    many = paired([1.0] * 1000, [1.0] * 1000, yes_no=True)
    assert few.low < -0.5
    assert few.high > 0.5
    assert -0.004 < many.low < 0 < many.high < 0.004
    assert unseen(5) == pytest.approx(stats.binomtest(0, 5).proportion_ci().high)


@pytest.mark.parametrize("size", [1, 2, 8, 36])
def test_holm_is_that_of_statsmodels(size: int) -> None:
    generator = np.random.default_rng(size)
    for scale in (1, 10, 100):
        # Rounded, so that some are equal.
        ps = list(np.round(generator.random(size) / scale, 2))
        assert holm(ps) == pytest.approx(list(multipletests(ps, method="holm")[1]))
    assert holm([]) == []


# What a configuration amounts to: which questions a metric is over, and what failed ones cost.

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
