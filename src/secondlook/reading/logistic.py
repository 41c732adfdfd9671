"""A probability from named features, and how its weights are found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RIDGE = 1.0
_LOGIT = 30.0
_DIGITS = 8  # That count, whatever the scale of a feature
_STEPS = 100
_HALVINGS = 30
_ENOUGH = 1e-10


@dataclass(frozen=True, slots=True)
class Logistic:
    """A probability from named features."""

    bias: float
    weights: Mapping[str, float]

    def logit(self, features: Mapping[str, float]) -> float:
        return self.bias + sum(weight * features[name] for name, weight in self.weights.items())

    def probability(self, features: Mapping[str, float]) -> float:
        return 1 / (1 + math.exp(-max(-_LOGIT, min(_LOGIT, self.logit(features)))))


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answer whose worth is known."""

    features: Mapping[str, float]
    right: bool
    """F1 of at least 0.5 with a reference answer; never where the question has no answer."""
    weight: float = 1.0  # As many copies of it


def fit_logistic(
    outcomes: Sequence[Outcome], names: Sequence[str], *, ridge: float = RIDGE
) -> Logistic:
    """Logistic regression on standardised features, by Newton's method. The same outcomes give the
    same weights. A ridge penalty and Platt's smoothed targets keep the weights finite where a
    feature tells right from wrong without fail, or where all are right. A feature that never varies
    gets no weight."""
    import numpy as np

    if not outcomes:
        raise UsageError("there is no outcome to fit on", hint="give questions with known answers")
    missing = sorted({name for one in outcomes for name in names if name not in one.features})
    if missing:
        raise UsageError(f"outcomes lack the features {missing!r}")
    x = np.array([[one.features[name] for name in names] for one in outcomes], dtype=np.float64)
    x = x.reshape(len(outcomes), len(names))
    share = np.array([one.weight for one in outcomes], dtype=np.float64)
    if not np.isfinite(x).all() or not (np.isfinite(share) & (share >= 0)).all() or not share.any():
        raise UsageError("features must be numbers, and weights numbers from 0 on, not all 0")
    # Platt's targets: as if one more of each kind had been seen.
    right = np.array([one.right for one in outcomes], dtype=bool)
    good, bad = share[right].sum(), share[~right].sum()
    y = np.where(right, (good + 1) / (good + 2), 1 / (bad + 2))
    mean = np.average(x, axis=0, weights=share)
    spread = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=share))
    varies = spread > 1e-9  # noqa: PLR2004 - what rounding leaves of a constant
    scale = np.where(varies, spread, 1.0)
    standard = np.where(varies, (x - mean) / scale, 0.0)
    beta = _newton(np.column_stack([np.ones(len(x)), standard]), y, share, ridge)
    weights = np.where(varies, beta[1:] / scale, 0.0)
    bias, *rounded = (
        float(f"{value:.{_DIGITS}g}") for value in (beta[0] - weights @ mean, *weights)
    )
    return Logistic(bias, dict(zip(names, rounded, strict=True)))


def cross_fitted(
    outcomes: Sequence[Outcome],
    names: Sequence[str],
    *,
    groups: Sequence[Hashable] | None = None,
    folds: int = 5,
) -> list[float]:
    """The probability of each outcome by a model made from other ones: what a risk table, and any
    judgement of the probabilities, must be made from. Outcomes of one group (such as a document)
    stay together."""
    which = list(groups) if groups is not None else list(range(len(outcomes)))
    order = {group: at % folds for at, group in enumerate(dict.fromkeys(which))}
    fold_of = [order[group] for group in which]
    found = [0.0] * len(outcomes)
    for fold in sorted(set(fold_of)):
        others = [one for one, at in zip(outcomes, fold_of, strict=True) if at != fold]
        model = fit_logistic(others or outcomes, names)
        for at, one in enumerate(outcomes):
            if fold_of[at] == fold:
                found[at] = model.probability(one.features)
    return found


def _newton(x: Floats, y: Floats, share: Floats, ridge: float) -> Floats:
    """Steps are halved until they help: the penalised likelihood rises every time."""
    import numpy as np

    penalty = np.array([1e-6, *[ridge] * (x.shape[1] - 1)])

    def loss_of(beta: Floats) -> float:
        z = x @ beta
        return float(share @ (np.logaddexp(0.0, z) - y * z) + 0.5 * (penalty * beta) @ beta)

    beta: Floats = np.zeros(x.shape[1])
    loss = loss_of(beta)
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -_LOGIT, _LOGIT)))
        slope = x.T @ (share * (y - p)) - penalty * beta
        curve = (x * (share * p * (1 - p))[:, None]).T @ x + np.diag(penalty)
        move = np.linalg.lstsq(curve, slope, rcond=None)[0]
        for halving in range(_HALVINGS):
            tried = beta + move / 2**halving
            after = loss_of(tried)
            if after <= loss:
                break
        else:
            return beta
        gain, beta, loss = loss - after, tried, after
        if gain < _ENOUGH * max(1.0, abs(loss)):
            return beta
    return beta
