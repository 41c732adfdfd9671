"""Two configurations on the same questions: pairs, differences, splits, what they cost."""

from __future__ import annotations

import pytest

from secondlook.evaluation.comparison import (
    compare,
    compare_all,
    primary_metric,
)
from secondlook.evaluation.records import Case, Comparison, Difference
from tests.support.eval_rows import changed, row, rows


def named(comparison: Comparison, metric: str) -> Difference:
    return next(one for one in comparison.differences if one.metric == metric)


def test_the_deciding_metric_comes_first_and_all_that_both_have_follow() -> None:
    metrics = {"f1": 0.5, "em": 1.0, "ndcg@10": 0.5}
    base = [row(case, metrics=metrics) for case in "abcd"]
    other = [
        row(case, configuration="other", metrics={"f1": 1.0, "em": 1.0, "recall@5": 1.0})
        for case in "abcd"
    ]
    found = compare(base, other, metric="em")
    assert (found.base, found.other, found.metric) == ("base", "other", "em")
    assert [one.metric for one in found.differences] == ["em", "f1", "answered", "success"]
    assert found.deciding.metric == "em"
    f1 = named(found, "f1")
    assert (f1.base, f1.other, f1.difference, f1.n) == (0.5, 1.0, 0.5, 4)
    assert (f1.improved, f1.same, f1.degraded) == (4, 0, 0)
    assert f1.test == "paired permutation"
    assert found.deciding.test == "mcnemar"


def test_what_a_gain_costs() -> None:
    base = [row(case, 0.5, cost=0.001, seconds=2.0, llm_calls=1, tokens_in=100) for case in "abc"]
    other = [
        row(case, 0.6, cost=0.003, seconds=3.0, llm_calls=2, tokens_in=150, tokens_out=10)
        for case in "abc"
    ]
    found = compare(base, other)
    assert found.cost_difference == pytest.approx(0.002)
    assert (found.calls_difference, found.tokens_difference) == (1.0, 60.0)
    assert (found.latency_ratio, found.latency_difference) == (1.5, 1.0)
    assert found.cost_per_point == pytest.approx(0.0002)  # ten points for 0.002
    assert found.seconds_per_point == pytest.approx(0.1)
    back = compare(other, base)
    assert (back.cost_per_point, back.seconds_per_point) == (None, None)


def test_every_pair_is_compared_and_corrected_together() -> None:
    base = rows([0.0] * 20)
    better = changed(base, "better", lambda at, one: {"metrics": {"f1": float(at < 6)}})
    best = changed(base, "best", lambda at, one: {"metrics": {"f1": float(at < 9)}})
    found = compare_all({"base": base, "better": better, "best": best})
    assert [(one.base, one.other) for one in found] == [
        ("base", "better"),
        ("base", "best"),
        ("better", "best"),
    ]
    assert [one.deciding.p for one in found] == [2 / 2**6, 2 / 2**9, 2 / 2**3]
    assert [one.deciding.p_holm for one in found] == [4 / 2**6, 6 / 2**9, 2 / 2**3]
    assert all(item.p_holm is None for one in found for item in one.differences[1:])
    assert compare_all({"base": base}) == ()


@pytest.mark.parametrize(
    ("cases", "metric"),
    [
        ([Case("a", "?", choices={"A": "x"}, choice="A")], "accuracy"),
        ([Case("a", "?", ("x",)), Case("b", "?", answerable=False)], "f1_overall"),
        ([Case("a", "?", ("x",)), Case("b", "?")], "f1"),
        ([Case("a", "?", gold={"d": 1})], "ndcg@10"),
    ],
)
def test_the_set_says_what_decides(cases: list[Case], metric: str) -> None:
    assert primary_metric(cases) == metric
