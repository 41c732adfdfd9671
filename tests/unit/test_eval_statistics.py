"""Intervals and paired tests agree with scipy and statsmodels, and behave at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from secondlook.errors import UsageError
from secondlook.evaluation import statistics
from secondlook.evaluation import statistics as intervals
from secondlook.evaluation.statistics import (
    Floats,
    bootstrap,
    holm,
    interval,
    mcnemar,
    of_mean,
    paired,
    permutation,
    questions_needed,
    unseen,
    wilson,
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


def test_an_interval_is_the_same_for_the_same_seed_in_any_order() -> None:
    values = list(scores(300, 2))
    shuffled = list(np.random.default_rng(0).permutation(values))
    assert interval(values, 3) == interval(shuffled, 3)
    assert interval(values, 3) != interval(values, 4)
    assert interval(values, -1).low is not None


def test_an_interval_holds_the_truth_95_times_of_100() -> None:
    held = 0
    for seed in range(400):
        values = np.random.default_rng(seed).beta(0.4, 0.3, 200)
        found = interval(list(values), seed=0)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.4 / 0.7 <= found.high
    assert 0.92 <= held / 400 <= 0.98


@pytest.mark.parametrize("values", [[0.3], [0.1] * 7, [0.0, 0.0]])
def test_values_that_are_all_alike_have_no_spread(values: list[float]) -> None:
    found = interval(values)
    assert (found.value, found.low, found.high) == pytest.approx((values[0],) * 3)
    assert found.n == len(values)


def test_nothing_has_no_value() -> None:
    found = interval([])
    assert (found.value, found.low, found.high, found.n) == (None, None, None, 0)


@pytest.mark.parametrize(("yes", "n"), [(0, 20), (20, 20), (1, 3), (431, 1000)])
def test_a_share_has_wilsons_interval(yes: int, n: int) -> None:
    found = interval([1.0] * yes + [0.0] * (n - yes), yes_no=True)
    low, high = proportion_confint(yes, n, method="wilson")
    assert found.value == pytest.approx(yes / n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)


def test_averages_of_repeats_are_not_taken_for_a_yes_or_no() -> None:
    values = [0.0, 1.0, 0.5, 1.0] * 30
    assert interval(values, yes_no=True) == interval(values)


def test_wilson_never_leaves_the_value_outside() -> None:
    for n in range(1, 40):
        for yes in range(n + 1):
            low, high = wilson(yes / n, n)
            assert 0 <= low <= yes / n <= high <= 1


def test_draws_that_are_not_remembered_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.sort(scores(500, 3))
    remembered = bootstrap(of_mean(values), 500, seed=9)
    monkeypatch.setattr(intervals, "_REMEMBERED", 0)
    assert bootstrap(of_mean(values), 500, seed=9) == remembered


def test_a_figure_that_no_draw_defines_has_no_interval() -> None:
    assert bootstrap(lambda draws: np.full(len(draws), np.nan), 5) is None


@pytest.mark.parametrize(
    ("up", "down"), [(0, 0), (1, 0), (3, 9), (25, 75), (40, 40), (51, 50), (900, 1000)]
)
def test_mcnemar_is_that_of_statsmodels(up: int, down: int) -> None:
    theirs = reference_mcnemar([[10, down], [up, 10]], exact=True).pvalue
    assert mcnemar(up, down) == pytest.approx(min(1.0, theirs), rel=1e-9)


def test_mcnemar_comes_to_chi_square_where_much_changed() -> None:
    theirs = reference_mcnemar([[0, 20_300], [20_000, 0]], exact=False, correction=True).pvalue
    assert mcnemar(20_000, 20_300) == pytest.approx(theirs, rel=0.01)


def paired_with(up: int, down: int, same: int) -> tuple[list[float], list[float]]:
    base = [0.0] * up + [1.0] * down + [1.0, 0.0] * (same // 2)
    other = [1.0] * up + [0.0] * down + [1.0, 0.0] * (same // 2)
    return base, other


def test_yes_or_no_is_told_by_mcnemar() -> None:
    base, other = paired_with(30, 12, 200)
    found = paired(base, other, yes_no=True)
    assert found.test == "mcnemar"
    assert found.p == pytest.approx(reference_mcnemar([[0, 12], [30, 0]], exact=True).pvalue)
    assert (found.improved, found.same, found.degraded) == (30, 200, 12)
    assert found.difference == pytest.approx(18 / 242)


def test_repeats_that_vary_are_no_yes_or_no() -> None:
    base, other = paired_with(30, 12, 200)
    base[0] = 0.5
    assert paired(base, other, yes_no=True).test == "paired permutation"


def test_the_interval_of_a_difference_is_scipys_paired_bootstrap() -> None:
    base, other = scores(500, 4), scores(500, 5)
    found = paired(list(base), list(other), yes_no=False)
    theirs = stats.bootstrap(
        (other, base),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    error = 0.08 * (theirs.high - theirs.low)
    assert found.low == pytest.approx(theirs.low, abs=error)
    assert found.high == pytest.approx(theirs.high, abs=error)


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


@pytest.mark.parametrize(("changed", "shift"), [(40, 0.2), (70, 0.05), (300, 0.06), (900, 0.03)])
def test_many_changes_agree_with_scipy_but_for_chance(changed: int, shift: float) -> None:
    values = differences(1000, changed, shift, 2)
    theirs = scipys_permutation(values[:changed])
    error = 4 * math.sqrt(theirs * (1 - theirs) / 9_999)
    assert permutation(values) == pytest.approx(theirs, abs=error)


@pytest.mark.parametrize(("up", "down"), [(30, 12), (2, 12), (3, 5), (70, 20), (31, 33)])
def test_flips_of_ones_are_mcnemars_test(up: int, down: int) -> None:
    assert permutation([1.0] * up + [-1.0] * down) == pytest.approx(mcnemar(up, down), rel=1e-9)


def test_flips_that_are_counted_are_those_that_are_tried() -> None:
    values = np.sort(differences(12, 12, 0.3, 6))
    assert statistics._by_counted_flips(values) == pytest.approx(
        statistics._by_every_flip(values), abs=0.003
    )


def test_sums_that_only_rounding_tells_apart_count_as_equal() -> None:
    """Thirds and halves, as repeats make them: many ways lead to the same sum."""
    values = np.asarray([1 / 3] * 9 + [1 / 2] * 6 + [-1 / 3] * 3 + [-1 / 2] * 2)
    theirs = scipys_permutation(np.round(values * 6))
    assert permutation(values) == pytest.approx(theirs, abs=0.012)


def test_one_huge_difference_among_thousands_is_not_taken_for_normal() -> None:
    values = np.append(np.tile([0.001, -0.001], 1500), 100.0)
    # Its sign alone decides; a normal sum would make it .32.
    assert permutation(values) > 0.49


def test_the_test_of_graded_values_is_the_same_in_any_order() -> None:
    values = differences(500, 60, 0.15, 3)
    shuffled = np.random.default_rng(1).permutation(values)
    assert permutation(values) == permutation(shuffled)


@pytest.mark.parametrize("yes_no", [True, False])
def test_the_same_twice_is_no_difference(yes_no: bool) -> None:
    values = [0.0, 1.0, 1.0] * 100
    found = paired(values, values, yes_no=yes_no)
    assert (found.difference, found.p) == (0.0, 1.0)
    assert (found.improved, found.same, found.degraded) == (0, 300, 0)


def test_rounding_is_no_difference() -> None:
    base = [0.1 + 0.2] * 50
    found = paired(base, [0.3] * 50, yes_no=False)
    assert (found.same, found.p, found.difference) == (50, 1.0, 0.0)


def test_less_is_an_improvement_where_lower_is_better() -> None:
    found = paired([3.0, 5.0, 2.0], [1.0, 2.0, 4.0], yes_no=False, better="lower")
    assert (found.improved, found.degraded) == (2, 1)
    assert found.difference == pytest.approx(-1.0)


def test_so_few_questions_do_not_show_that_nothing_is_lost() -> None:
    few = paired([1.0] * 5, [1.0] * 5, yes_no=True)
    many = paired([1.0] * 1000, [1.0] * 1000, yes_no=True)
    assert few.low < -0.5
    assert few.high > 0.5
    assert -0.004 < many.low < 0 < many.high < 0.004
    assert unseen(5) == pytest.approx(stats.binomtest(0, 5).proportion_ci().high)


def test_an_end_on_which_questions_lie_is_the_bootstraps() -> None:
    base, other = paired_with(0, 1, 60)
    found = paired(base, other, yes_no=True)
    assert found.low == pytest.approx(interval([-1.0] + [0.0] * 60).low)
    assert found.high > 0


def test_what_is_no_score_is_not_widened() -> None:
    found = paired([100.0, 120.0], [100.0, 120.0], yes_no=False)
    assert (found.low, found.high) == (0.0, 0.0)


def test_no_questions_in_common_is_no_difference() -> None:
    found = paired([], [], yes_no=True)
    assert (found.difference, found.p, found.same) == (0.0, 1.0, 0)
    assert paired([], [], yes_no=False).test == "paired permutation"


def test_other_questions_cannot_be_paired() -> None:
    with pytest.raises(UsageError, match="2 against 1"):
        paired([0.0, 1.0], [1.0], yes_no=True)


@pytest.mark.parametrize("size", [1, 2, 8, 36])
def test_holm_is_that_of_statsmodels(size: int) -> None:
    generator = np.random.default_rng(size)
    for scale in (1, 10, 100):
        # Rounded, so that some are equal.
        ps = list(np.round(generator.random(size) / scale, 2))
        assert holm(ps) == pytest.approx(list(multipletests(ps, method="holm")[1]))
    assert holm([]) == []


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30),
    st.integers(0, 5),
)
@settings(deadline=None, max_examples=40)
def test_a_paired_difference_lies_in_its_interval(
    pairs: list[tuple[float, float]], seed: int
) -> None:
    found = paired([a for a, _ in pairs], [b for _, b in pairs], yes_no=False, seed=seed)
    assert found.low <= found.difference + 1e-12
    assert found.difference - 1e-12 <= found.high
    assert 0 < found.p <= 1
    assert found.improved + found.same + found.degraded == len(pairs)


def mixed(n: int, mean: float) -> list[float]:
    """Differences of which a tenth is 1 or -1, with about this mean."""
    up = round(n * (0.05 + mean / 2))
    down = round(n * (0.05 - mean / 2))
    return [1.0] * up + [-1.0] * down + [0.0] * (n - up - down)


@pytest.mark.parametrize("mean", [0.0, -0.01, -0.05])
def test_with_as_many_more_questions_it_is_decided(mean: float) -> None:
    few = mixed(200, mean)
    more = questions_needed(few, margin=0.02)
    assert more is not None
    assert more > 0
    total = len(few) + more

    def decided(n: int) -> bool:
        return questions_needed(mixed(n, mean), margin=0.02) == 0

    assert decided(round(total * 1.15))
    assert not decided(round(total * 0.8))


def test_what_is_decided_needs_no_more() -> None:
    assert questions_needed(mixed(5000, 0.0), margin=0.02) == 0
    assert questions_needed(mixed(5000, -0.06), margin=0.02) == 0
    assert questions_needed([0.0] * 200, margin=0.02) == 0


def test_identical_answers_need_enough_questions_to_show_it() -> None:
    more = questions_needed([0.0] * 60, margin=0.02)
    assert more is not None
    assert questions_needed([0.0] * (60 + more), margin=0.02) == 0
    assert questions_needed([0.0] * (60 + more - 2), margin=0.02) != 0


def test_a_mean_at_the_margin_is_never_decided() -> None:
    assert questions_needed(mixed(1000, -0.02), margin=0.02) is None


@pytest.mark.parametrize("differences", [[], [0.5]])
def test_too_few_to_tell_how_many(differences: list[float]) -> None:
    assert questions_needed(differences, margin=0.02) is None


def test_a_margin_wider_than_any_score_is_met() -> None:
    assert questions_needed([0.0, 0.5, 0.1], margin=1.5) == 0


def test_what_the_limit_calls_decided_but_the_interval_does_not_needs_one_more() -> None:
    assert questions_needed([1.0] + [0.3] * 2 + [0.0] * 14, margin=0.1) == 1
