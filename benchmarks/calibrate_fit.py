"""Logistic regression, thresholds by stated rules, and how good a probability is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secondlook.reading.calibration import Logistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_RIDGE = 1.0
_STEPS = 50


def fit(
    rows: Sequence[dict[str, float]],
    right: Sequence[bool],
    names: Sequence[str],
    weights: Sequence[float] | None = None,
) -> Logistic:
    """Ridge-penalised logistic regression (Newton's method) on standardised features."""
    raw = np.array([[row[name] for name in names] for row in rows])
    mean, spread = raw.mean(axis=0), raw.std(axis=0) + 1e-9
    x = np.column_stack([np.ones(len(raw)), (raw - mean) / spread])
    y = np.array(right, dtype=float)
    share = np.ones(len(y)) if weights is None else np.array(weights, dtype=float)
    penalty = np.diag([0.0, *[_RIDGE] * len(names)])
    beta = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-x @ beta))
        slope = x.T @ (share * (y - p)) - penalty @ beta
        curve = (x * (share * p * (1 - p))[:, None]).T @ x + penalty
        beta = beta + np.linalg.solve(curve, slope)
    scaled = beta[1:] / spread
    bias = float(beta[0] - scaled @ mean)
    return Logistic(
        bias=round(bias, 4),
        weights={name: round(float(w), 4) for name, w in zip(names, scaled, strict=True)},
    )


def calibration_error(probability: Sequence[float], right: Sequence[bool], bins: int = 10) -> float:
    """Expected calibration error over bins of equal width."""
    p, y = np.array(probability), np.array(right, dtype=float)
    at = np.minimum((p * bins).astype(int), bins - 1)
    gaps = [abs(p[at == b].sum() - y[at == b].sum()) for b in range(bins)]
    return float(sum(gaps) / len(p))


def best_threshold(
    probability: Sequence[float], answered: Sequence[float], withheld: Sequence[float]
) -> float:
    """The threshold with the highest mean score, in steps of a hundredth.

    `answered` is what a question scores when it is answered, `withheld` when it is not.
    """
    p, yes, no = np.array(probability), np.array(answered), np.array(withheld)
    steps = np.arange(0, 101) / 100
    means = [np.where(p >= step, yes, no).mean() for step in steps]
    return float(steps[int(np.argmax(means))])


def threshold_for_alarms(good: Sequence[float], share: float) -> float:
    """The highest threshold, in thousandths, under which at most `share` of `good` falls."""
    return float(np.floor(np.quantile(np.array(good), share) * 1000) / 1000)
