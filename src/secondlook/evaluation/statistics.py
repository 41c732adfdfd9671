"""Whether a difference is one: intervals, paired tests, and how many questions would decide it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from secondlook.evaluation.records import Difference, Estimate

if TYPE_CHECKING:
    from secondlook.evaluation.metrics import Better

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]  # of draws, one row each: the figure of each

RESAMPLES = 2000  # interval ends then vary by about 2 % of its width between seeds
Z95 = 1.959963984540054
_AT_ONCE = 250_000  # draws times questions in one piece: it stays in the cache of a processor core
_REMEMBERED = 40_000_000
_SAME = 1e-12  # differences below it come from averaging repeats in floating point
_NEVER = 10_000_000


# How sure a figure is: what it would have been on other questions of the same kind.


def bootstrap(
    statistic: Statistic, n: int, *, seed: int = 0, around: float | None = None
) -> tuple[float, float] | None:
    """The 95 % interval of a figure over `n` questions; None where no draw defines it. `around`
    moves the draws so that their median is there: for a figure that drawing again pushes to one
    side, such as a sum of absolute gaps, whose own value would else lie outside."""
    # Every metric over as many questions meets the same draws, so they are kept while small.
    draw = _remembered if n * RESAMPLES <= _REMEMBERED else _drawn
    drawn = np.concatenate([statistic(part.astype(np.float64)) for part in draw(n, seed % 2**63)])
    drawn = drawn[np.isfinite(drawn)]
    if not drawn.size:
        return None
    low, middle, high = np.percentile(drawn, [2.5, 50, 97.5])
    moved = 0.0 if around is None else around - middle
    return float(low + moved), float(high + moved)


def _drawn(n: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    generator = np.random.default_rng((seed, n))
    step = max(1, _AT_ONCE // n)
    for start in range(0, RESAMPLES, step):
        size = min(step, RESAMPLES - start)
        chosen = generator.integers(0, n, (size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(chosen.ravel(), minlength=size * n)
        yield counts.reshape(size, n).astype(np.uint8)


@lru_cache(maxsize=4)
def _remembered(n: int, seed: int) -> tuple[NDArray[np.uint8], ...]:
    return tuple(_drawn(n, seed))


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's score interval of a share (JASA 22, 1927, 209-212). Unlike a bootstrap it does not
    claim certainty where all of `n` came out alike: nobody wrong among 20 leaves up to 16 %."""
    spread = Z95**2 / n
    centre = (share + spread / 2) / (1 + spread)
    half = Z95 * math.sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def unseen(n: int) -> float:
    """How large a share of questions can be, at most, that shows in none of `n` (one side of a
    95 % interval: Clopper and Pearson, Biometrika 26, 1934, 404-413)."""
    return float(1 - 0.025 ** (1 / n))


def interval(values: Sequence[float], seed: int = 0, *, yes_no: bool = False) -> Estimate:
    """The mean with its 95 % interval: percentiles of a bootstrap, since figures like F1 follow no
    known form. With `yes_no`, values of 0 and 1 get Wilson's interval; averages of repeats do
    not."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if not ordered.size:
        return Estimate(value=None)
    value = math.fsum(ordered) / ordered.size
    binary = yes_no and bool(((ordered == 0) | (ordered == 1)).all())
    low, high = wilson(value, ordered.size) if binary else _bounds_of_mean(ordered, seed)
    return Estimate(value=value, low=low, high=high, n=ordered.size)


def _bounds_of_mean(ordered: Floats, seed: int) -> tuple[float, float]:
    if ordered[0] == ordered[-1]:
        return float(ordered[0]), float(ordered[0])
    mean: Statistic = lambda draws: np.asarray(draws @ ordered / ordered.size)  # noqa: E731
    found = bootstrap(mean, ordered.size, seed=seed)
    assert found is not None  # noqa: S101 - a mean is defined for every draw
    return found


# The same questions twice.


def paired(
    base: Sequence[float],
    other: Sequence[float],
    *,
    yes_no: bool,
    seed: int = 0,
    metric: str = "",
    better: Better = "higher",
) -> Difference:
    """Whether `other` differs from `base`, question by question. Yes or no: McNemar's exact test
    (Psychometrika 12, 1947, 153-157). Graded, or averages of repeats: the permutation test of signs
    (Fisher, The Design of Experiments, 1935). The interval is a bootstrap of the mean difference;
    where no question got worse (or none better), that end is moved out by what so many questions
    cannot show (`unseen`)."""
    both = np.asarray([base, other], dtype=np.float64)
    differences = both[1] - both[0]
    differences[np.abs(differences) <= _SAME] = 0.0
    differences.sort()
    binary = yes_no and bool(((both == 0) | (both == 1)).all())
    higher, lower = int((differences > 0).sum()), int((differences < 0).sum())
    scores = bool(((both >= 0) & (both <= 1)).all())
    low, high = _bounds_of_difference(differences, scores=scores, seed=seed)
    improved, degraded = (lower, higher) if better == "lower" else (higher, lower)
    return Difference(
        metric=metric,
        base=fmean(base),
        other=fmean(other),
        n=differences.size,
        difference=math.fsum(differences) / differences.size,
        low=low,
        high=high,
        p=mcnemar(higher, lower) if binary else permutation(differences),
        test="mcnemar" if binary else "paired permutation",
        improved=improved,
        same=differences.size - higher - lower,
        degraded=degraded,
    )


def _bounds_of_difference(ordered: Floats, *, scores: bool, seed: int) -> tuple[float, float]:
    low, high = _bounds_of_mean(ordered, seed)
    mean, hidden = math.fsum(ordered) / ordered.size, unseen(ordered.size)
    if scores and ordered[0] >= 0:
        low = min(low, max(-1.0, mean - hidden))
    if scores and ordered[-1] <= 0:
        high = max(high, min(1.0, mean + hidden))
    return low, high


def mcnemar(up: int, down: int) -> float:
    """Exact and two-sided, of how many questions went from no to yes and from yes to no."""
    changed, fewer = up + down, min(up, down)
    constant = math.lgamma(changed + 1) - changed * math.log(2)
    logs = (constant - math.lgamma(k + 1) - math.lgamma(changed - k + 1) for k in range(fewer + 1))
    return min(1.0, 2 * math.fsum(math.exp(item) for item in logs))


def permutation(differences: Sequence[float] | Floats) -> float:
    """Two-sided p of a mean difference of 0: the share of all ways to flip signs that bring the sum
    as far from 0. Up to 12 questions every way is tried; of more the ways are counted after
    rounding to a fine grid; of very many their sum is normal (p = .05 is off by less than
    .0002)."""
    changed = np.sort(np.asarray(differences, dtype=np.float64))
    changed = changed[np.abs(changed) > _SAME]
    if not changed.size:
        return 1.0
    seen, squares = math.fsum(changed), changed**2
    if changed.size <= 12:  # noqa: PLR2004
        every = np.arange(2**changed.size)[:, None] >> np.arange(changed.size)
        sums = np.abs(seen - 2 * ((every & 1).astype(np.float64) @ changed))
        return float((sums >= abs(seen) - 1e-9 * np.abs(changed).sum()).mean())
    if float((squares**2).sum() / squares.sum() ** 2) < 0.01:  # noqa: PLR2004
        return math.erfc(abs(seen) / math.sqrt(2 * math.fsum(squares)))
    steps = np.rint(changed * (2**14 / np.abs(changed).sum())).astype(np.int64)
    flipped = np.zeros(int(np.abs(steps).sum()) + 1)
    flipped[0] = 1.0
    # After each difference: how likely it is that those flipped so far add up to each number.
    reached = 0
    for step in np.sort(np.abs(steps)):
        reached += int(step)
        before = flipped[: reached + 1 - step].copy()
        flipped[: reached + 1] *= 0.5
        flipped[step : reached + 1] += 0.5 * before
    distances = np.abs(reached - 2 * np.arange(flipped.size))
    # Sums that are equal before rounding may not be after: those near by count as extreme.
    nearly = math.sqrt(steps.size) / 2
    return min(1.0, float(flipped[distances >= abs(int(steps.sum())) - nearly].sum()))


def holm(ps: Sequence[float]) -> list[float]:
    """Each p corrected for how many there are (Holm, Scand. J. Statist. 6, 1979, 65-70)."""
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda at: ps[at])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        corrected[index] = largest
    return corrected


def questions_needed(differences: Sequence[float], *, margin: float) -> int | None:
    """About how many more questions until the interval of the mean difference lies on one side of
    -`margin`. 0 if it does already, None where it never will or too few are known."""
    values = np.sort(np.asarray(differences, dtype=np.float64))
    if values.size <= 1:
        return None
    low, high = _bounds_of_difference(values, scores=bool((np.abs(values) <= 1).all()), seed=0)
    if low > -margin or high < -margin:
        return 0
    room = math.fsum(values) / values.size + margin
    # Towards the side on which it will lie, so that `room` is positive from here on.
    values, room = (values, room) if room > 0 else (-values, -room)
    if room <= _SAME:
        return None
    total = (Z95 * float(values.std(ddof=1)) / room) ** 2
    if not (values < -_SAME).any() and room < 1:
        total = max(total, math.log(0.025) / math.log1p(-room))
    return None if total > _NEVER else max(1, math.ceil(total) - values.size)


# Figures that are not a mean over questions but one of all rows: shares of passages, ranks,
# quantiles. Their intervals draw questions, never rows, so that repeats do not feign certainty.


@dataclass(frozen=True, slots=True)
class Pool:
    question: NDArray[np.int64]
    n: int

    def weights(self, draws: Floats) -> Floats:
        alike = self.n == self.question.size and bool((np.diff(self.question) == 1).all())
        return draws if alike else draws[:, self.question]

    @classmethod
    def of(cls, cases: Sequence[str]) -> Pool:
        names, question = np.unique(np.asarray(cases, dtype=object), return_inverse=True)
        return cls(question, len(names))


def pooled(statistic: Statistic, pool: Pool, *, seed: int = 0, recentred: bool = False) -> Estimate:
    """A figure of all rows with its interval; no value where it is not defined. `statistic` is of
    weights, a column for each row. `recentred`: see `around` of `bootstrap`."""
    value = float(statistic(np.ones((1, pool.question.size)))[0])
    if not np.isfinite(value):
        return Estimate(value=None, n=pool.n)
    around = value if recentred else None
    found = bootstrap(lambda d: statistic(pool.weights(d)), pool.n, seed=seed, around=around)
    low, high = found or (value, value)
    # None of these figures can be below 0, though draws that were moved may be.
    return Estimate(value=value, low=max(0.0, min(low, value)), high=max(high, value), n=pool.n)


def share(
    cases: Sequence[str], part: Sequence[float], whole: Sequence[float], *, seed: int = 0
) -> Estimate | None:
    """What part of a whole, both counted in each row; Wilson's interval where each question counts
    once, and where all came out alike."""
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
    return lambda weights: divided(weights @ part, weights @ whole)


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
    result = np.full(part.shape, np.nan)
    np.divide(part, whole, out=result, where=whole > 0)
    return result
