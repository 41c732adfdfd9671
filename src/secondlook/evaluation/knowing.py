"""Whether it knows what it does not know: how often it is wrong when it answers, and what its
confidence is worth. All over rows that were answered and can be judged; an answer where there is
none is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secondlook.evaluation.pooled import Pool, divided, pooled, share
from secondlook.evaluation.questions import can_be_judged, rightness
from secondlook.evaluation.records import Estimate, Point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.intervals import Floats, Statistic
    from secondlook.evaluation.records import Row

BINS = 10
MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class Sureness:
    """The rows that were answered with a confidence and can be judged."""

    cases: tuple[str, ...]
    confidence: Floats
    right: Floats
    """1 or 0."""
    withheld: int
    """Rows beside them that could have been judged, had they been answered."""

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Sureness:
        # In the order of the questions, so that the draws meet them in the same way each time.
        judged = sorted(
            (row.case, row.repeat, row.confidence, right)
            for row in rows
            if (right := rightness(row)) is not None
            and row.confidence is not None
            and np.isfinite(row.confidence)
        )
        return cls(
            cases=tuple(case for case, *_ in judged),
            confidence=np.asarray([item[2] for item in judged], dtype=np.float64),
            right=np.asarray([item[3] for item in judged], dtype=np.float64),
            withheld=sum(not row.answered and can_be_judged(row) for row in rows),
        )


def knowing_metrics(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Estimate]:
    """`wrong_among_answered`, `auroc`, `aurc` and `ece`, as far as there is something to judge."""
    wrong = wrong_among_answered(rows, seed=seed)
    found = {} if wrong is None else {"wrong_among_answered": wrong}
    sure = Sureness.of(rows)
    if not sure.cases:
        return found
    pool = Pool.of(sure.cases)
    return found | {
        "auroc": pooled(auroc(sure.confidence, sure.right), pool, seed=seed),
        "aurc": pooled(aurc(sure.confidence, sure.right), pool, seed=seed),
        "ece": pooled(ece(sure.confidence, sure.right), pool, seed=seed, recentred=True),
    }


def wrong_among_answered(rows: Sequence[Row], *, seed: int = 0) -> Estimate | None:
    """The share of answers given that are wrong; None where none can be judged."""
    ordered = sorted(rows, key=lambda row: (row.case, row.repeat))
    judged = [(row.case, right) for row in ordered if (right := rightness(row)) is not None]
    return share(
        [case for case, _ in judged],
        [float(not right) for _, right in judged],
        [1.0] * len(judged),
        seed=seed,
    )


def auroc(confidence: Floats, right: Floats) -> Statistic:
    """How often a right answer is given with more confidence than a wrong one; ties count half."""
    sums = _Ties(confidence)

    def statistic(weights: Floats) -> Floats:
        rights, wrongs = sums.of(weights * right), sums.of(weights * (1 - right))
        surer = np.cumsum(wrongs, axis=1) - wrongs / 2
        pairs = rights.sum(axis=1) * wrongs.sum(axis=1)
        return divided((rights * surer).sum(axis=1), pairs)

    return statistic


def aurc(confidence: Floats, right: Floats) -> Statistic:
    """The share of wrong ones among the k surest answers, averaged over every k (Geifman, Uziel
    and El-Yaniv, ICLR 2019). Equally sure answers are taken in every order, on average."""
    sums = _Ties(-confidence)

    def statistic(weights: Floats) -> Floats:
        many, wrong = sums.of(weights), sums.of(weights * (1 - right))
        reached = np.cumsum(many, axis=1)
        before, wrong_before = reached - many, np.cumsum(wrong, axis=1) - wrong
        rate = np.nan_to_num(divided(wrong, many))
        # The sum over j = 1..many of (wrong_before + j rate) / (before + j).
        harmonic = _harmonic(int(reached[:, -1].max(initial=0)))
        steps = harmonic[reached.astype(np.int64)] - harmonic[before.astype(np.int64)]
        risks = many * rate + (wrong_before - rate * before) * steps
        return divided(risks.sum(axis=1), reached[:, -1])

    return statistic


def ece(confidence: Floats, right: Floats) -> Statistic:
    """Expected calibration error: the gap between confidence and share right in each of ten bins
    of equal width, weighted by how many fell into it (Naeini et al., AAAI 2015)."""
    in_bin = (_bins(confidence)[:, None] == np.arange(BINS)).astype(np.float64)
    gaps = in_bin * (confidence - right)[:, None]

    def statistic(weights: Floats) -> Floats:
        return divided(np.abs(weights @ gaps).sum(axis=1), weights.sum(axis=1))

    return statistic


def risk_coverage(rows: Sequence[Row]) -> tuple[Point, ...]:
    """The surest answers first: what share of all questions they are, and of them what share is
    wrong. It ends at the share that was answered. Equally sure answers are one point."""
    sure = Sureness.of(rows)
    if not sure.cases:
        return ()
    order = np.argsort(-sure.confidence, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(sure.confidence[order]) != 0, True))
    wrong = np.cumsum(1 - sure.right[order])
    if ends.size > MOST_POINTS:
        ends = ends[np.linspace(0, ends.size - 1, MOST_POINTS).round().astype(np.int64)]
    everything = len(sure.cases) + sure.withheld
    return tuple(
        Point(x=count / everything, y=float(wrong[count - 1]) / count, n=count)
        for count in (int(end) + 1 for end in ends)
    )


def reliability(rows: Sequence[Row]) -> tuple[Point, ...]:
    """Mean confidence and share right of each bin that holds an answer."""
    sure = Sureness.of(rows)
    bins = _bins(sure.confidence)
    held = [np.flatnonzero(bins == number) for number in range(BINS)]
    return tuple(
        Point(
            x=float(np.sort(sure.confidence[inside]).mean()),
            y=float(sure.right[inside].mean()),
            n=int(inside.size),
        )
        for inside in held
        if inside.size
    )


class _Ties:
    """Sums over rows of the same key, in ascending order of the keys."""

    def __init__(self, keys: Floats) -> None:
        self._order = np.argsort(keys, kind="stable")
        ordered = keys[self._order]
        self._starts = np.flatnonzero(np.append(True, np.diff(ordered) != 0))
        self._all_differ = self._starts.size == keys.size

    def of(self, columns: Floats) -> Floats:
        ordered = columns[:, self._order]
        if self._all_differ:
            return ordered
        return np.asarray(np.add.reduceat(ordered, self._starts, axis=1))


def _harmonic(top: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, top + 1))])


def _bins(confidence: Floats) -> Floats:
    """0.0 up to 0.1 is the first; 1.0 belongs to the last."""
    return np.clip(np.floor(confidence * BINS), 0, BINS - 1)
