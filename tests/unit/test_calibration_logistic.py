"""Weights from outcomes: those that made the data, never infinite, the same every time."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from secondlook.reading.logistic import Logistic, Outcome, cross_fitted, fit_logistic

TRUTH = Logistic(bias=-0.5, weights={"a": 1.5, "b": -0.3})


def planted(seed: int, count: int) -> list[Outcome]:
    rng = np.random.default_rng(seed)
    rows = [{"a": float(a), "b": float(5 * b + 2)} for a, b in rng.normal(size=(count, 2))]
    return [Outcome(row, bool(rng.random() < TRUTH.probability(row))) for row in rows]


def test_a_fit_is_that_of_another_library() -> None:
    """On standardised features, with the same penalty; many outcomes make the smoothing small."""
    outcomes = planted(5, 4_000)
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
