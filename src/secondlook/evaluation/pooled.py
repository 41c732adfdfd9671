"""Figures that are not a mean over questions but one of all rows: shares of passages, ranks,
quantiles. Their intervals draw questions, never rows, so that repeats do not feign certainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secondlook.evaluation.intervals import bootstrap, wilson
from secondlook.evaluation.records import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secondlook.evaluation.intervals import Floats, Statistic


@dataclass(frozen=True, slots=True)
class Pool:
    """Which question each row belongs to."""

    question: NDArray[np.int64]
    n: int

    def weights(self, draws: Floats) -> Floats:
        """Of draws of questions, those of the rows."""
        alike = self.n == self.question.size and bool((np.diff(self.question) == 1).all())
        return draws if alike else draws[:, self.question]

    @classmethod
    def of(cls, cases: Sequence[str]) -> Pool:
        names, question = np.unique(np.asarray(cases, dtype=object), return_inverse=True)
        return cls(question, len(names))


def pooled(statistic: Statistic, pool: Pool, *, seed: int = 0, recentred: bool = False) -> Estimate:
    """A figure of all rows with its interval; no value where it is not defined.

    `statistic` is of weights, a column for each row. `recentred`: see `around` of `bootstrap`.
    """
    value = float(statistic(np.ones((1, pool.question.size)))[0])
    if not np.isfinite(value):
        return Estimate(value=None, n=pool.n)
    found = bootstrap(
        lambda draws: statistic(pool.weights(draws)),
        pool.n,
        seed=seed,
        around=value if recentred else None,
    )
    low, high = found or (value, value)
    # None of these figures can be below 0, though draws that were moved may be.
    return Estimate(value=value, low=max(0.0, min(low, value)), high=max(high, value), n=pool.n)


def share(
    cases: Sequence[str], part: Sequence[float], whole: Sequence[float], *, seed: int = 0
) -> Estimate | None:
    """What part of a whole, both counted in each row; None where there is no whole.

    Wilson's interval where each question counts once, and where all came out alike: a bootstrap
    would see no doubt there.
    """
    parts, wholes = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    there = wholes > 0
    if not there.any():
        return None
    pool = Pool.of([case for case, is_there in zip(cases, there, strict=True) if is_there])
    parts, wholes = parts[there], wholes[there]
    value = float(parts.sum() / wholes.sum())
    once = pool.n == wholes.size and bool((wholes == 1).all())
    if once or value in {0.0, 1.0}:
        low, high = wilson(value, pool.n)
        return Estimate(value=value, low=low, high=high, n=pool.n)
    return pooled(ratio(parts, wholes), pool, seed=seed)


def ratio(part: Floats, whole: Floats) -> Statistic:
    def statistic(weights: Floats) -> Floats:
        return divided(weights @ part, weights @ whole)

    return statistic


def quantile(values: Floats, q: float) -> Statistic:
    """Of weights that are counts: the quantile of the values, each as often as it counts, between
    two of them by straight line (as `numpy.quantile`)."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]

    def statistic(weights: Floats) -> Floats:
        reached = np.cumsum(weights[:, order], axis=1)
        place = (reached[:, -1] - 1) * q
        below, above = (
            ordered[(reached <= edge[:, None]).sum(axis=1)]
            for edge in (np.floor(place), np.ceil(place))
        )
        return np.asarray(below + (above - below) * (place - np.floor(place)))

    return statistic


def divided(part: Floats, whole: Floats) -> Floats:
    """NaN where there is no whole."""
    result = np.full(part.shape, np.nan)
    np.divide(part, whole, out=result, where=whole > 0)
    return result
