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
)

if TYPE_CHECKING:
    from secondlook.evaluation.statistics import Floats


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


def test_aurc_takes_equals_in_every_order() -> None:
    confidence = np.asarray([0.9, 0.5, 0.5, 0.5, 0.5, 0.1])
    right = np.asarray([1.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    areas = [
        np.mean(np.cumsum([0.0, *middle, 1.0]) / np.arange(1, 7))
        for middle in permutations(1 - right[1:5])
    ]
    assert aurc(confidence, right)(once(6))[0] == pytest.approx(np.mean(areas))
