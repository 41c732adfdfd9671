"""What confidence is worth: against pair counts, scipy and every order of equal confidences."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from secondlook.evaluation.summary import (
    aurc,
    auroc,
    ece,
    knowing_metrics,
    reliability,
)
from tests.support.eval_planted import a_row

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
    found = knowing_metrics(rows).get("wrong_among_answered")
    assert found is not None
    assert (found.value, found.n) == (0.5, 2)


def test_bins_without_an_answer_are_left_out() -> None:
    rows = judged(
        (0.0, False), (0.05, False), (0.31, True), (0.39, False), (0.95, True), (1.0, True)
    )
    assert drawn(reliability(rows)) == pytest.approx(
        np.asarray([(0.025, 0, 2), (0.35, 0.5, 2), (0.975, 1, 2)])
    )
