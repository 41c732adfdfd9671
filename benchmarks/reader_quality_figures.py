"""Figures with how sure they are: shares and scores, AUROC, calibration, and their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.evaluation.statistics import bootstrap, divided, interval, paired
from secondlook.evaluation.summary import auroc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secondlook.evaluation.statistics import Statistic

    Floats = NDArray[np.float64]

BINS = 10
_ONE_SIDED = 1.6448536269514722
_DIGITS = 4


def mean_of(values: Sequence[float], *, yes_no: bool = False) -> dict[str, Any]:
    found = interval(values, yes_no=yes_no)
    return {"value": rounded(found.value), "low": rounded(found.low), "high": rounded(found.high)}


def difference(base: Sequence[float], other: Sequence[float], *, yes_no: bool) -> dict[str, Any]:
    """Other minus base on the same questions; `bound` is the lower end of a one-sided 95 %
    interval, for showing that `other` is not worse by more than a margin."""
    found = paired(base, other, yes_no=yes_no)
    gaps = np.asarray(other, dtype=np.float64) - np.asarray(base, dtype=np.float64)
    spread = float(gaps.std(ddof=1)) / np.sqrt(len(gaps)) if len(gaps) > 1 else float("inf")
    return {
        "difference": rounded(found.difference),
        "low": rounded(found.low),
        "high": rounded(found.high),
        "bound": rounded(found.difference - _ONE_SIDED * spread),
        "p": rounded(found.p),
        "test": found.test,
        "improved": found.improved,
        "degraded": found.degraded,
    }


def auroc_of(scores: Sequence[float], positive: Sequence[bool]) -> dict[str, Any]:
    """How often a positive scores above a negative, with a 95 % interval over questions."""
    return _of_all(_auroc(scores, positive), len(scores))


def auroc_difference(
    base: Sequence[float], other: Sequence[float], positive: Sequence[bool]
) -> dict[str, Any]:
    """Other minus base, drawn together: both readers meet the same questions in every draw."""
    one, two = _auroc(base, positive), _auroc(other, positive)
    found = _of_all(lambda draws: two(draws) - one(draws), len(base))
    return {"difference": found["value"], "low": found["low"], "high": found["high"]}


def relative(base: Statistic, other: Statistic, n: int) -> dict[str, Any]:
    """By how much other lies below base, as a share of base."""
    return _of_all(lambda draws: 1 - divided(other(draws), base(draws)), n)


def calibration_error(probability: Floats, right: Floats) -> float:
    """Expected calibration error over ten bins that hold as many questions each."""
    order = np.argsort(probability, kind="stable")
    parts = np.array_split(order, min(BINS, len(order)))
    gaps = [abs(float(probability[part].sum() - right[part].sum())) for part in parts]
    return sum(gaps) / len(probability)


def log_loss(probability: Floats, right: Floats) -> float:
    sure = np.clip(np.where(right > 0, probability, 1 - probability), 1e-12, 1)
    return float(-np.log(sure).mean())


def rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), _DIGITS)


def _auroc(scores: Sequence[float], positive: Sequence[bool]) -> Statistic:
    return auroc(np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=np.float64))


def _of_all(statistic: Statistic, n: int) -> dict[str, Any]:
    value = float(statistic(np.ones((1, n)))[0])
    edges = bootstrap(statistic, n) if np.isfinite(value) else None
    low, high = edges or (None, None)
    return {
        "value": rounded(value) if np.isfinite(value) else None,
        "low": rounded(low),
        "high": rounded(high),
    }
