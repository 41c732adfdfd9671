"""The promise of a risk table: exact tails, and kept as often as it says on planted worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from secondlook.reading.risk import binomial_tail, risk_table

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
