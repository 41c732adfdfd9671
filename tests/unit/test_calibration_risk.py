"""The promise of a risk table: exact tails, and kept as often as it says on planted worlds."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from secondlook.evaluation.calibration import (
    RISKS,
    fit,
    judge,
)
from secondlook.reading.logistic import Logistic, Outcome, cross_fitted, fit_logistic
from secondlook.reading.risk import binomial_tail, risk_table
from tests.support.calibrating import outcomes, shipped

WORST = 0.6
"""Answers with probability 0 of the planted world are wrong so often, those with 1 never."""


def planted(seed: int, count: int) -> tuple[list[float], list[bool]]:
    rng = np.random.default_rng(seed)
    scores = rng.random(count)
    right = rng.random(count) >= WORST * (1 - scores)
    return scores.tolist(), right.tolist()


def true_risk(threshold: float) -> float:
    """Of answers with at least this score, exactly."""
    return WORST * (1 - threshold) / 2


@pytest.mark.parametrize("n", [1, 7, 60, 900, 20_000])
@pytest.mark.parametrize("p", [0.01, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0, 1.3])
def test_the_tail_is_that_of_scipy(n: int, p: float, share: float) -> None:
    most = min(n, round(share * p * n))
    assert binomial_tail(n, p, most) == pytest.approx(binom.cdf(most, n, p), rel=1e-8, abs=1e-300)


@pytest.mark.parametrize(("max_risk", "confidence"), [(0.05, 0.9), (0.1, 0.9), (0.2, 0.8)])
@pytest.mark.parametrize("count", [150, 800])
def test_the_true_risk_exceeds_the_promise_no_oftener_than_said(
    max_risk: float, confidence: float, count: int
) -> None:
    worlds = 300
    broken = 0
    for seed in range(worlds):
        found = risk_table(*planted(seed, count)).threshold(max_risk, confidence=confidence)
        broken += found is not None and true_risk(found) > max_risk
    doubt = 1 - confidence
    assert broken <= worlds * doubt + 3 * math.sqrt(worlds * doubt * confidence)


def test_too_few_answers_promise_nothing() -> None:
    """Ten right ones of ten: the risk may still be 25 %."""
    table = risk_table([0.9] * 10, [True] * 10)
    assert table.threshold(0.05, confidence=0.95) is None
    assert table.threshold(0.3, confidence=0.95) == 0.9
    assert risk_table([], []).threshold(0.5, confidence=0.5) is None


# Weights from outcomes: those that made the data, never infinite, the same every time.

TRUTH = Logistic(bias=-0.5, weights={"a": 1.5, "b": -0.3})


def planted_logistic(seed: int, count: int) -> list[Outcome]:
    rng = np.random.default_rng(seed)
    rows = [{"a": float(a), "b": float(5 * b + 2)} for a, b in rng.normal(size=(count, 2))]
    return [Outcome(row, bool(rng.random() < TRUTH.probability(row))) for row in rows]


def test_a_fit_is_that_of_another_library() -> None:
    """On standardised features, with the same penalty; many outcomes make the smoothing small."""
    outcomes = planted_logistic(5, 4_000)
    x = np.array([[one.features["a"], one.features["b"]] for one in outcomes])
    standard = (x - x.mean(axis=0)) / x.std(axis=0)
    peer = LogisticRegression(C=1.0, tol=1e-10).fit(standard, [one.right for one in outcomes])
    found = fit_logistic(outcomes, ("a", "b"), ridge=1.0)
    expected = peer.coef_[0] / x.std(axis=0)
    assert list(found.weights.values()) == pytest.approx(expected.tolist(), abs=0.01)


def test_cross_fitted_probabilities_know_nothing_of_their_own_group() -> None:
    """Each group's outcomes are decided by a feature of its own: from other groups it is noise."""
    rng = np.random.default_rng(6)
    groups = [at % 5 for at in range(200)]
    right = [bool(rng.random() < 0.5) for _ in groups]
    outcomes = [
        Outcome({str(name): float(good and group == name) for name in range(5)}, good)
        for group, good in zip(groups, right, strict=True)
    ]
    names = [str(name) for name in range(5)]
    inside = fit_logistic(outcomes, names)
    assert min(inside.probability(one.features) for one in outcomes if one.right) > 0.5
    outside = cross_fitted(outcomes, names, groups=groups)
    of_right = np.mean([p for p, good in zip(outside, right, strict=True) if good])
    of_wrong = np.mean([p for p, good in zip(outside, right, strict=True) if not good])
    assert of_right == pytest.approx(of_wrong, abs=0.05)


def test_reading_probabilities_needs_no_numpy() -> None:
    code = "import sys, secondlook.reading.calibration; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# What a fit is worth, judged on documents that it has not seen.

NOTHING = dict.fromkeys(RISKS)


def test_figures_of_a_case_that_can_be_counted_by_hand() -> None:
    said = [0.1] * 10 + [0.9] * 10
    right = [False] * 8 + [True] * 2 + [True] * 9 + [False]
    found = judge(said, right, [{**NOTHING, 0.2: 0.5}] * 20)
    assert found.questions == 20
    assert found.right == pytest.approx(11 / 20)
    assert found.brier == pytest.approx((8 * 0.01 + 2 * 0.81 + 9 * 0.01 + 0.81) / 20)
    # Of 11 x 9 pairs of a right and a wrong one: 9 x 8 in order, 2 x 8 + 9 x 1 tied.
    assert found.auroc == pytest.approx((9 * 8 + 0.5 * (2 * 8 + 9 * 1)) / 99)
    by_risk = {promise.max_risk: promise for promise in found.promises}
    assert by_risk[0.2].coverage == 0.5
    assert by_risk[0.2].risk == pytest.approx(0.1)
    assert by_risk[0.05].coverage == 0.0
    assert by_risk[0.05].risk is None


def test_a_calibration_that_is_too_sure_is_put_right() -> None:
    answered = outcomes(600, bias=-1.0, slope=0.3)
    found = fit(answered, shipped())
    assert found.before is not None
    assert found.better
    assert found.after.ece < 0.07
    assert found.before.ece > 0.15
    assert found.after.brier < found.before.brier
    weights = found.calibration.answer.weights
    assert weights["margin"] == pytest.approx(0.3, abs=0.1)
    assert found.calibration.source == "library"


def test_a_feature_that_the_shipped_one_weighs_wrongly_is_weighed_anew() -> None:
    wrong = replace(
        shipped(), answer=replace(shipped().answer, weights={"margin": 0.1, "relevance": 2.0})
    )
    found = fit(outcomes(600, bias=0.0, slope=1.0, calibration=wrong), wrong)
    assert found.method == "refitted"
    weights = found.calibration.answer.weights
    assert weights["margin"] > 3 * abs(weights["relevance"])


def test_a_reader_without_a_calibration_gets_one_if_its_scores_say_anything() -> None:
    bare = replace(shipped(), label="uncalibrated", reader="other@1")
    found = fit(outcomes(300, bias=0.0, slope=1.0, calibration=bare), bare)
    assert found.before is None
    assert found.better
    assert found.calibration.label == "calibrated"
    assert found.calibration.reader == "other@1"
    nothing = fit(outcomes(300, bias=0.0, slope=0.0, calibration=bare), bare)
    assert not nothing.better


def test_promises_are_kept_on_documents_that_did_not_make_them() -> None:
    found = fit(outcomes(1500, bias=0.5, slope=1.5), shipped())
    answered = [promise for promise in found.after.promises if promise.risk is not None]
    assert len(answered) >= 3
    for promise in answered:
        assert promise.risk is not None
        assert promise.risk <= promise.max_risk + 0.03
        assert promise.coverage > 0.05
    assert found.calibration.risk is not None
    assert found.calibration.risk_threshold(0.2, confidence=0.95) is not None
