"""Intervals and paired tests agree with scipy and statsmodels, and behave at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from secondlook.evaluation.statistics import (
    Floats,
    holm,
    interval,
    mcnemar,
    paired,
    permutation,
    unseen,
)


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


def test_an_interval_holds_the_truth_95_times_of_100() -> None:
    held = 0
    for seed in range(400):
        values = np.random.default_rng(seed).beta(0.4, 0.3, 200)
        found = interval(list(values), seed=0)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.4 / 0.7 <= found.high
    assert 0.92 <= held / 400 <= 0.98


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
