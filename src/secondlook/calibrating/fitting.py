"""The probability fitted anew, and judged on documents that the fit has not seen.

Two ways are tried. `rescaled` keeps what the shipped calibration says about which answer is the
likelier one and only shifts and stretches it: two numbers, which a few dozen questions can tell.
`refitted` weighs every feature anew. The better one out of fold is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from secondlook.calibrating.judging import RISKS, Judgement, Thresholds, judge
from secondlook.reading.calibration import (
    Logistic,
    Outcome,
    cross_fitted,
    fit_logistic,
    risk_table,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.calibrating.answering import Answered
    from secondlook.reading.calibration import Calibration, RiskTable

Method = Literal["rescaled", "refitted"]
FOLDS = 5
CONFIDENCE = 0.99
"""With which promises are made unless told otherwise."""
_LOGIT = "logit"
_DIGITS = 10**6


@dataclass(frozen=True, slots=True)
class Fit:
    """One way to make the probability anew."""

    method: Method
    answer: Logistic
    out_of_fold: tuple[float, ...]
    """Of each question by a fit without its document."""
    scale: Logistic | None = None
    """Of a rescaled one: what was done to the shipped logit."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The calibration that came of it, and what it is worth beside the shipped one."""

    method: Method
    calibration: Calibration
    before: Judgement | None
    """None where the reader has no calibration so far."""
    after: Judgement
    better: bool


def fit(
    answered: Sequence[Answered],
    shipped: Calibration,
    *,
    promising: bool = True,
    confidence: float = CONFIDENCE,
) -> Fitted:
    """`confidence` is the one with which promises are made where they are judged.

    Made questions are too easy to promise anything by. Without `promising` the probability is
    rescaled at most, and the shipped table of risks goes with it: answers that it let through
    before are let through as before.
    """
    right = [one.outcome.right for one in answered]
    groups = [one.asked.group for one in answered]
    tried = ways(answered, shipped, groups)
    best = min(tried, key=lambda way: _brier(way.out_of_fold, right)) if promising else tried[0]
    risk = risk_table(best.out_of_fold, right) if promising else _carried(shipped, best.scale)
    thresholds = (
        _crossed(best.out_of_fold, right, groups, confidence)
        if promising
        else [_thresholds(risk, confidence)] * len(right)
    )
    after = judge(best.out_of_fold, right, thresholds)
    before = _before(answered, right, shipped, confidence)
    calibration = replace(
        shipped,
        label="calibrated",
        answer=best.answer,
        risk=risk,
        source="library",
        warning=None,
    )
    # Without a calibration so far the fit must be better than always saying the share right.
    bar = before.brier if before else after.right * (1 - after.right)
    return Fitted(best.method, calibration, before, after, better=after.brier < bar)


def ways(answered: Sequence[Answered], shipped: Calibration, groups: Sequence[str]) -> list[Fit]:
    """Every way to make it, each with what it says about documents that it has not seen."""
    outcomes = [one.outcome for one in answered]
    names = tuple(shipped.answer.weights)
    refitted = Fit(
        "refitted",
        fit_logistic(outcomes, names),
        tuple(cross_fitted(outcomes, names, groups=groups, folds=FOLDS)),
    )
    if shipped.label == "uncalibrated":
        return [refitted]
    logits = [Outcome({_LOGIT: shipped.answer.logit(one.features)}, one.right) for one in outcomes]
    scale = fit_logistic(logits, [_LOGIT])
    rescaled = Fit(
        "rescaled",
        _composed(scale, shipped.answer),
        tuple(cross_fitted(logits, [_LOGIT], groups=groups, folds=FOLDS)),
        scale,
    )
    return [rescaled, refitted]


def _composed(scale: Logistic, shipped: Logistic) -> Logistic:
    """The scaling of a logit, written as weights of the features themselves."""
    by = scale.weights[_LOGIT]
    weights = {name: by * weight for name, weight in shipped.weights.items()}
    return Logistic(scale.bias + by * shipped.bias, weights)


def _carried(shipped: Calibration, scale: Logistic | None) -> RiskTable | None:
    """The shipped table with its thresholds where the rescaled probability has them."""
    if shipped.risk is None or scale is None or scale.weights[_LOGIT] <= 0:
        return None
    rows = tuple(replace(row, threshold=_moved(row.threshold, scale)) for row in shipped.risk.rows)
    return replace(shipped.risk, rows=rows)


def _moved(threshold: float, scale: Logistic) -> float:
    if not 0 < threshold < 1:
        return threshold
    # Rounded down, so that what lay at the threshold is still let through.
    moved = scale.probability({_LOGIT: math.log(threshold / (1 - threshold))})
    return math.floor(moved * _DIGITS) / _DIGITS


def _before(
    answered: Sequence[Answered],
    right: Sequence[bool],
    shipped: Calibration,
    confidence: float,
) -> Judgement | None:
    said = [one.before for one in answered if one.before is not None]
    if len(said) < len(answered):
        return None
    return judge(said, right, [_thresholds(shipped.risk, confidence)] * len(said))


def _thresholds(table: RiskTable | None, confidence: float) -> Thresholds:
    return {
        risk: None if table is None else table.threshold(risk, confidence=confidence)
        for risk in RISKS
    }


def _crossed(
    said: Sequence[float], right: Sequence[bool], groups: Sequence[str], confidence: float
) -> list[Thresholds]:
    """For each question the thresholds that the documents of the other folds promise."""
    fold_of = {group: at % FOLDS for at, group in enumerate(dict.fromkeys(groups))}
    folds = [fold_of[group] for group in groups]
    by_fold = {}
    for fold in set(folds):
        others = [at for at, one in enumerate(folds) if one != fold] or range(len(folds))
        table = risk_table([said[at] for at in others], [right[at] for at in others])
        by_fold[fold] = _thresholds(table, confidence)
    return [by_fold[fold] for fold in folds]


def _brier(said: Sequence[float], right: Sequence[bool]) -> float:
    return sum((one - true) ** 2 for one, true in zip(said, right, strict=True)) / len(said)
