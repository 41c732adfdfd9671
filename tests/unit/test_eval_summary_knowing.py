"""What confidence is worth: against pair counts, scipy and every order of equal confidences."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from secondlook.evaluation.summary import (
    MOST_POINTS,
    aurc,
    auroc,
    ece,
    knowing_metrics,
    reliability,
    risk_coverage,
    wrong_among_answered,
)
from tests.support.eval_planted import a_row, planted

if TYPE_CHECKING:
    from secondlook.evaluation.records import Point, Row
    from secondlook.evaluation.statistics import Floats


def judged(*pairs: tuple[float, bool]) -> list[Row]:
    return [
        a_row(f"q{number}", confidence=sure, right=right)
        for number, (sure, right) in enumerate(pairs)
    ]


def some(n: int, seed: int, *, decimals: int) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    confidence = np.round(generator.random(n), decimals)
    return confidence, (generator.random(n) < confidence).astype(np.float64)


def drawn(points: tuple[Point, ...]) -> Floats:
    return np.asarray([(point.x, point.y, point.n) for point in points])


def once(n: int) -> Floats:
    return np.ones((1, n))


@pytest.mark.parametrize("decimals", [1, 12])
def test_auroc_is_mann_whitneys(decimals: int) -> None:
    confidence, right = some(400, 1, decimals=decimals)
    found = auroc(confidence, right)(once(400))[0]
    wins = stats.mannwhitneyu(confidence[right == 1], confidence[right == 0]).statistic
    assert found == pytest.approx(wins / (right.sum() * (1 - right).sum()))


def test_auroc_of_weights_is_that_of_so_many_rows() -> None:
    confidence, right = some(60, 2, decimals=1)
    weights = np.random.default_rng(0).integers(0, 4, 60)
    repeated = np.repeat(np.arange(60), weights)
    for figure in (auroc, aurc, ece):
        weighted = figure(confidence, right)(weights[None].astype(np.float64))[0]
        plain = figure(confidence[repeated], right[repeated])(once(repeated.size))[0]
        assert weighted == pytest.approx(plain), figure.__name__


def test_one_kind_alone_has_no_auroc() -> None:
    found = knowing_metrics(judged((0.2, True), (0.9, True)))["auroc"]
    assert (found.value, found.low, found.n) == (None, None, 2)


def test_aurc_is_the_mean_risk_of_the_surest() -> None:
    confidence, right = some(300, 3, decimals=12)
    wrong = 1 - right[np.argsort(-confidence)]
    risks = np.cumsum(wrong) / np.arange(1, 301)
    assert aurc(confidence, right)(once(300))[0] == pytest.approx(risks.mean())


def test_aurc_takes_equals_in_every_order() -> None:
    confidence = np.asarray([0.9, 0.5, 0.5, 0.5, 0.5, 0.1])
    right = np.asarray([1.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    areas = [
        np.mean(np.cumsum([0.0, *middle, 1.0]) / np.arange(1, 7))
        for middle in permutations(1 - right[1:5])
    ]
    assert aurc(confidence, right)(once(6))[0] == pytest.approx(np.mean(areas))


def test_ece_is_the_gap_in_each_of_ten_bins() -> None:
    confidence, right = some(500, 4, decimals=3)
    thousandths = np.rint(confidence * 1000)
    expected = 0.0
    for low in range(0, 1000, 100):
        inside = (thousandths >= low) & (thousandths < (1001 if low == 900 else low + 100))
        expected += inside.mean() * abs(confidence[inside].mean() - right[inside].mean())
    assert ece(confidence, right)(once(500))[0] == pytest.approx(expected)


def test_an_answer_where_there_is_none_is_wrong() -> None:
    rows = [
        a_row("q1", right=True),
        a_row("q2", answerable=False, scored=False, right=None),
        a_row("q3", scored=False, right=None),
        a_row("q4", status="abstained"),
        a_row("q5", status="failed"),
    ]
    found = wrong_among_answered(rows)
    assert found is not None
    assert (found.value, found.n) == (0.5, 2)


def test_nothing_answered_is_nothing_wrong() -> None:
    assert wrong_among_answered([a_row(status="abstained")]) is None
    assert knowing_metrics([a_row(status="abstained", confidence=0.2)]) == {}


def test_the_curve_takes_the_surest_first_and_ends_at_what_was_answered() -> None:
    rows = [
        *judged((0.9, True), (0.5, False), (0.5, True), (0.2, False)),
        a_row("withheld", status="abstained", confidence=0.1),
        a_row("unanswerable", status="abstained", answerable=False, scored=False),
        a_row("failed", status="failed"),
        a_row("cannot be judged", scored=False, confidence=0.8),
        a_row("cannot be judged either", status="abstained", scored=False),
        a_row("unsure", right=True, confidence=None),
    ]
    assert drawn(risk_coverage(rows)) == pytest.approx(
        np.asarray([(1 / 7, 0, 1), (3 / 7, 1 / 3, 3), (4 / 7, 1 / 2, 4)])
    )


def test_a_long_curve_is_thinned_but_keeps_its_ends() -> None:
    rows = planted(3000)
    found = risk_coverage(rows)
    wrong = wrong_among_answered(rows)
    assert wrong is not None
    assert len(found) == MOST_POINTS
    assert found[0].n == 1
    assert found[-1].n == wrong.n
    assert found[-1].y == pytest.approx(wrong.value)
    assert [point.x for point in found] == sorted({point.x for point in found})


def test_bins_without_an_answer_are_left_out() -> None:
    rows = judged(
        (0.0, False), (0.05, False), (0.31, True), (0.39, False), (0.95, True), (1.0, True)
    )
    assert drawn(reliability(rows)) == pytest.approx(
        np.asarray([(0.025, 0, 2), (0.35, 0.5, 2), (0.975, 1, 2)])
    )


def test_intervals_hold_the_truth() -> None:
    """Confidence that is the probability of being right: AUROC and risk are known, ECE is 0."""
    truth_area = 5 / 6  # of a uniform confidence
    held = 0
    for seed in range(25):
        confidence, right = some(200, seed, decimals=12)
        rows = judged(*zip(confidence.tolist(), right.astype(bool).tolist(), strict=True))
        found = knowing_metrics(rows)
        assert found["auroc"].low is not None
        assert found["auroc"].high is not None
        held += found["auroc"].low <= truth_area <= found["auroc"].high
        assert found["ece"].value is not None
        assert found["ece"].low is not None
        assert found["ece"].low < found["ece"].value < 0.2
    assert held >= 21
