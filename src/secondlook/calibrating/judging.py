"""What a probability is worth on questions that it was not made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secondlook.evaluation import knowing
from secondlook.evaluation.records import Point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.intervals import Floats

BINS = 10
RISKS = (0.05, 0.10, 0.20, 0.30)
Thresholds = dict[float, float | None]
"""By highest risk: the lowest probability that is answered; None: nothing can be promised."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a highest risk comes to: how many are answered, and how many of those are wrong."""

    max_risk: float
    coverage: float
    """Share of the questions that are answered."""
    risk: float | None
    """Share of wrong ones among them; None where none is answered."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How well probabilities fit what came true."""

    questions: int
    right: float
    """Share of right answers among all."""
    ece: float
    """Mean gap between probability and share right, over ten bins of equally many questions."""
    brier: float
    """Mean square of the gap between each probability and 1 (right) or 0 (wrong)."""
    auroc: float
    promises: tuple[Promise, ...]
    reliability: tuple[Point, ...]
    """Of each bin: mean probability (x), share right (y) and how many (n)."""


def judge(
    probabilities: Sequence[float], right: Sequence[bool], thresholds: Sequence[Thresholds]
) -> Judgement:
    """`thresholds` are those that hold for each question: made from others than itself."""
    said, true = np.asarray(probabilities, float), np.asarray(right, float)
    bins = equal_bins(said, true)
    return Judgement(
        questions=len(said),
        right=float(true.mean()),
        ece=sum(abs(point.x - point.y) * point.n for point in bins) / len(said),
        brier=float(((said - true) ** 2).mean()),
        auroc=float(knowing.auroc(said, true)(np.ones((1, len(said))))[0]),
        promises=tuple(_promise(risk, said, true, thresholds) for risk in RISKS),
        reliability=bins,
    )


def equal_bins(said: Floats, true: Floats) -> tuple[Point, ...]:
    """Bins of equally many questions, from the least probable to the most."""
    order = np.argsort(said, kind="stable")
    return tuple(
        Point(x=float(said[part].mean()), y=float(true[part].mean()), n=int(part.size))
        for part in np.array_split(order, BINS)
        if part.size
    )


def _promise(risk: float, said: Floats, true: Floats, thresholds: Sequence[Thresholds]) -> Promise:
    needed = np.asarray([np.inf if (at := one[risk]) is None else at for one in thresholds])
    answered = said >= needed
    many = int(answered.sum())
    return Promise(
        max_risk=risk,
        coverage=many / len(said),
        risk=float(1 - true[answered].mean()) if many else None,
    )
