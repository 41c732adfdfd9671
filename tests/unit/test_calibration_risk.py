"""The promise of a risk table: exact tails, and kept as often as it says on planted worlds."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from secondlook.errors import UsageError
from secondlook.reading.risk import RiskRow, RiskTable, binomial_tail, check_share, risk_table

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


def hoped_for(scores: list[float], right: list[bool], max_risk: float) -> float:
    """The lowest threshold whose counted risk is low enough: what is no promise."""
    table = risk_table(scores, right)
    kept = [row.threshold for row in table.rows if row.wrong <= max_risk * row.answered]
    return min(kept, default=1.0)


@pytest.mark.parametrize("n", [1, 7, 60, 900, 20_000])
@pytest.mark.parametrize("p", [0.01, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0, 1.3])
def test_the_tail_is_that_of_scipy(n: int, p: float, share: float) -> None:
    most = min(n, round(share * p * n))
    assert binomial_tail(n, p, most) == pytest.approx(binom.cdf(most, n, p), rel=1e-8, abs=1e-300)


def test_the_tail_of_all_is_certain_and_of_less_than_none_impossible() -> None:
    assert binomial_tail(5, 0.2, 5) == 1.0
    assert binomial_tail(5, 0.2, -1) == 0.0


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


def test_a_mere_hope_is_broken_about_half_of_the_time() -> None:
    """The test above would notice: without the exact tail it fails."""
    broken = sum(true_risk(hoped_for(*planted(seed, 800), 0.1)) > 0.1 for seed in range(100))
    assert broken > 30


def test_with_many_answers_little_is_given_away() -> None:
    found = risk_table(*planted(1, 20_000)).threshold(0.1, confidence=0.95)
    assert found is not None
    assert 0.085 < true_risk(found) <= 0.1


def test_more_risk_or_less_confidence_never_asks_for_more() -> None:
    table = risk_table(*planted(2, 3_000))
    by_risk = [table.threshold(risk, confidence=0.95) for risk in (0.09, 0.15, 0.2, 0.29)]
    by_confidence = [table.threshold(0.1, confidence=sure) for sure in (0.999, 0.95, 0.8)]
    for found in (by_risk, by_confidence):
        known = [value for value in found if value is not None]
        assert len(known) == len(found)
        assert known == sorted(known, reverse=True)


def test_too_few_answers_promise_nothing() -> None:
    """Ten right ones of ten: the risk may still be 25 %."""
    table = risk_table([0.9] * 10, [True] * 10)
    assert table.threshold(0.05, confidence=0.95) is None
    assert table.threshold(0.3, confidence=0.95) == 0.9
    assert risk_table([], []).threshold(0.5, confidence=0.5) is None


def test_answers_that_are_all_wrong_promise_nothing() -> None:
    scores = np.linspace(0, 1, 500).tolist()
    assert risk_table(scores, [False] * 500).threshold(0.3, confidence=0.9) is None


def test_the_first_failure_ends_the_sequence() -> None:
    rows = (RiskRow(0.9, 150, 0), RiskRow(0.5, 200, 90), RiskRow(0.1, 4000, 91))
    table = RiskTable(rows, questions=4000)
    assert table.threshold(0.1, confidence=0.95) == 0.9


def test_where_the_sequence_starts_does_not_depend_on_what_was_wrong() -> None:
    scores, right = planted(3, 700)
    table, other = risk_table(scores, right), risk_table(scores, [not good for good in right])
    assert [row.threshold for row in table.rows] == [row.threshold for row in other.rows]
    assert [row.answered for row in table.rows] == [row.answered for row in other.rows]
    for max_risk in (0.02, 0.1, 0.4):
        assert table.first_tested(max_risk, 0.05) == other.first_tested(max_risk, 0.05)


def test_a_single_early_mistake_does_not_end_it_where_answers_are_many() -> None:
    scores = np.linspace(1, 0, 1_000).tolist()
    right = [at % 100 != 1 for at in range(1_000)]
    found = risk_table(scores, right).threshold(0.05, confidence=0.95)
    assert found is not None
    assert found < 0.01


def test_equal_probabilities_stay_together() -> None:
    table = risk_table([0.8] * 30 + [0.2] * 30, [True] * 30 + [False] * 30)
    assert table.rows == (RiskRow(0.8, 30, 0), RiskRow(0.2, 60, 30))


def test_a_threshold_lets_the_answers_through_that_it_counted() -> None:
    scores, right = planted(4, 333)
    for row in risk_table(scores, right).rows:
        above = [good for score, good in zip(scores, right, strict=True) if score >= row.threshold]
        assert (len(above), above.count(False)) == (row.answered, row.wrong)


def test_coverage_is_the_share_that_is_answered() -> None:
    table = risk_table([0.9, 0.8, 0.3, 0.1], [True, True, True, False])
    assert table.coverage(0.8) == 0.5
    assert table.coverage(0.1) == 1.0
    assert table.coverage(0.95) == 0.0
    assert RiskTable((), questions=0).coverage(0.5) == 0.0


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=120))
@settings(max_examples=60, deadline=None)
def test_any_table_goes_through_json_unchanged(pairs: list[tuple[float, bool]]) -> None:
    table = risk_table([score for score, _ in pairs], [good for _, good in pairs])
    assert RiskTable.of_data(json.loads(json.dumps(table.as_data()))) == table


@pytest.mark.parametrize(
    "rows", [[[0.5, 10, 11]], [[0.5, 10, -1]], [[1.5, 10, 1]], [[0.5, 10, 1], [0.4, 10, 1]]]
)
def test_a_table_that_makes_no_sense_is_refused(rows: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="risk table"):
        RiskTable.of_data({"questions": 10, "rows": rows})


@pytest.mark.parametrize("wrong", [0, 1, -0.1, 1.5, math.nan, math.inf])
def test_a_risk_is_a_share(wrong: float) -> None:
    with pytest.raises(UsageError, match=r"max_risk must lie between 0 and 1"):
        check_share("max_risk", wrong)
    with pytest.raises(UsageError):
        risk_table([0.5], [True]).threshold(wrong, confidence=0.9)
    with pytest.raises(UsageError, match="confidence"):
        risk_table([0.5], [True]).threshold(0.1, confidence=wrong)
