"""Whether a difference is one: intervals, paired tests, and how many questions would decide it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from secondlook.errors import UsageError
from secondlook.evaluation.records import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.evaluation.metrics import Better

# How sure a figure is: what it would have been on other questions of the same kind.

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Of draws (one row each, one column a question, in it how often that was drawn) the figure of
each draw; NaN where it is not defined."""

RESAMPLES = 2000
"""The ends of a 95 % interval then vary by about 2 % of its width from one seed to the next."""
Z95 = 1.959963984540054
"""Of a normal distribution, 95 % lie within this many standard deviations."""

_AT_ONCE = 250_000
"""Draws times questions in one piece: it stays in the cache of a processor core."""
_REMEMBERED = 40_000_000


def bootstrap(
    statistic: Statistic,
    n: int,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    around: float | None = None,
) -> tuple[float, float] | None:
    """The 95 % interval of a figure over `n` questions; None where no draw defines it.

    `around` moves the draws so that their median is there: for a figure that drawing again pushes
    to one side, such as a sum of absolute gaps, whose own value would else lie outside.
    """
    drawn = np.concatenate(
        [statistic(draws.astype(np.float64)) for draws in _draws(n, seed % 2**63, resamples)]
    )
    drawn = drawn[np.isfinite(drawn)]
    if not drawn.size:
        return None
    low, middle, high = np.percentile(drawn, [2.5, 50, 97.5])
    moved = 0.0 if around is None else around - middle
    return float(low + moved), float(high + moved)


def of_mean(values: Floats) -> Statistic:
    """The mean, as a figure that can be drawn again."""
    return lambda draws: np.asarray(draws @ values / values.size)


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's score interval of a share (JASA 22, 1927, 209-212).

    Unlike a bootstrap it does not claim certainty where all of `n` came out alike: nobody wrong
    among 20 leaves up to 16 %.
    """
    spread = Z95**2 / n
    centre = (share + spread / 2) / (1 + spread)
    half = Z95 * math.sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def unseen(n: int) -> float:
    """How large a share of questions can be, at most, that shows in none of `n` (one side of a
    95 % interval: Clopper and Pearson, Biometrika 26, 1934, 404-413)."""
    return float(1 - 0.025 ** (1 / n))


def _draws(n: int, seed: int, resamples: int) -> Iterator[NDArray[np.uint8]]:
    # Every metric over as many questions meets the same draws, so they are kept while small.
    if n * resamples <= _REMEMBERED:
        return iter(_remembered(n, seed, resamples))
    return _drawn(n, seed, resamples)


@lru_cache(maxsize=4)
def _remembered(n: int, seed: int, resamples: int) -> tuple[NDArray[np.uint8], ...]:
    return tuple(_drawn(n, seed, resamples))


def _drawn(n: int, seed: int, resamples: int) -> Iterator[NDArray[np.uint8]]:
    generator = np.random.default_rng((seed, n))
    step = max(1, _AT_ONCE // n)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        chosen = generator.integers(0, n, (size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(chosen.ravel(), minlength=size * n)
        yield counts.reshape(size, n).astype(np.uint8)


Test = Literal["mcnemar", "paired permutation"]

_GRID = 2**14
"""Steps that the sum of all differences is divided into, to count the ways to flip them."""
_FEW = 12
"""Up to so many questions that differ, every way to flip their signs is tried."""
_MANY = 0.01
"""Fourth moment to squared second moment of the differences below which their sum is normal for
all purposes: about 100 of like size. At p = .05 that is off by less than .0002."""
_SAME = 1e-12
"""Differences below it come from averaging repeats in floating point."""
_NEVER = 10_000_000


@dataclass(frozen=True, slots=True)
class Paired:
    """One metric on the same questions, twice: other minus base."""

    difference: float
    low: float
    high: float
    p: float
    test: Test
    improved: int
    same: int
    degraded: int


def interval(
    values: Sequence[float], seed: int = 0, resamples: int = RESAMPLES, *, yes_no: bool = False
) -> Estimate:
    """The mean with its 95 % interval, whatever the order of the values.

    Percentiles of a bootstrap, since figures like F1 heap up at 0 and 1 and follow no known form.
    With `yes_no`, values of 0 and 1 get Wilson's interval, which at the edges (all right, none
    failed) still says what so few questions leave open; averages of repeats that vary do not, for
    they hold more than one yes or no each. One value, or all alike: the interval is that value.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if not ordered.size:
        return Estimate(value=None)
    value = math.fsum(ordered) / ordered.size
    if yes_no and _all_yes_or_no(ordered):
        low, high = wilson(value, ordered.size)
    else:
        low, high = _bounds_of_mean(ordered, seed=seed, resamples=resamples)
    return Estimate(value=value, low=low, high=high, n=ordered.size)


def paired(
    base: Sequence[float],
    other: Sequence[float],
    *,
    yes_no: bool,
    seed: int = 0,
    better: Better = "higher",
) -> Paired:
    """Whether `other` differs from `base`, question by question.

    Yes or no: McNemar's exact test (Psychometrika 12, 1947, 153-157), a binomial test of the
    questions that came out differently. Its mid-p and chi-square forms find a little more, but
    only the exact one keeps at most 5 % false alarms for every number of questions; a gate that
    cries wolf is switched off. Graded, or averages of repeats: the permutation test that flips the
    signs of the differences (Fisher, The Design of Experiments, 1935, section 21), whose false
    alarms are kept likewise where a bootstrap's are not when few questions differ.

    The interval is a bootstrap of the mean difference. Where both are shares or scores from 0 to
    1 and no question got worse (or none better), that end is moved out by what so many questions
    cannot show (`unseen`): twenty that come out alike do not prove that two configurations are.
    """
    differences = _differences(base, other)
    if not differences.size:
        return Paired(0.0, 0.0, 0.0, 1.0, "mcnemar" if yes_no else "paired permutation", 0, 0, 0)
    binary = yes_no and _all_yes_or_no(np.asarray([*base, *other], dtype=np.float64))
    higher, lower = int((differences > 0).sum()), int((differences < 0).sum())
    low, high = _bounds_of_difference(differences, scores=_all_scores(base, other), seed=seed)
    improved, degraded = (lower, higher) if better == "lower" else (higher, lower)
    return Paired(
        difference=math.fsum(differences) / differences.size,
        low=low,
        high=high,
        p=mcnemar(higher, lower) if binary else permutation(differences),
        test="mcnemar" if binary else "paired permutation",
        improved=improved,
        same=differences.size - higher - lower,
        degraded=degraded,
    )


def mcnemar(up: int, down: int) -> float:
    """Exact and two-sided, of how many questions went from no to yes and from yes to no."""
    changed, fewer = up + down, min(up, down)
    constant = math.lgamma(changed + 1) - changed * math.log(2)
    logs = (constant - math.lgamma(k + 1) - math.lgamma(changed - k + 1) for k in range(fewer + 1))
    return min(1.0, 2 * math.fsum(math.exp(item) for item in logs))


def permutation(differences: Sequence[float] | Floats) -> float:
    """Two-sided p of a mean difference of 0: the share of all ways to flip signs that bring the
    sum as far from 0 as was seen, or further.

    No flips are drawn by chance. Where few questions differ every way is tried; where more do,
    the ways are counted after rounding the differences to a fine grid (which keeps the test
    exact, for it is one of the rounded differences); where very many do, their sum is normal.
    """
    changed = np.sort(np.asarray(differences, dtype=np.float64))
    changed = changed[np.abs(changed) > _SAME]
    if not changed.size:
        return 1.0
    squares = changed**2
    if changed.size <= _FEW:
        return _by_every_flip(changed)
    if float((squares**2).sum() / squares.sum() ** 2) < _MANY:
        return math.erfc(abs(math.fsum(changed)) / math.sqrt(2 * math.fsum(squares)))
    return _by_counted_flips(changed)


def holm(ps: Sequence[float]) -> list[float]:
    """Each p corrected for how many there are (Holm, Scand. J. Statist. 6, 1979, 65-70)."""
    order = sorted(range(len(ps)), key=lambda index: ps[index])
    corrected = [0.0] * len(ps)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        corrected[index] = largest
    return corrected


def questions_needed(differences: Sequence[float], *, margin: float) -> int | None:
    """About how many more questions until the 95 % interval of the mean difference lies on one
    side of -`margin`, if mean and spread stay as they are.

    0 if it does already, None where it never will (the mean is at -`margin`) or where there are
    too few questions to tell.
    """
    values = np.sort(np.asarray(differences, dtype=np.float64))
    if values.size <= 1:
        return None
    low, high = _bounds_of_difference(values, scores=bool((np.abs(values) <= 1).all()), seed=0)
    if low > -margin or high < -margin:
        return 0
    room = math.fsum(values) / values.size + margin
    # Towards the side on which it will lie, so that `room` is positive from here on.
    towards = values if room > 0 else -values
    total = _questions_for(towards, abs(room))
    return None if total > _NEVER else max(1, math.ceil(total) - values.size)


def _questions_for(values: Floats, room: float) -> float:
    """How many questions bring the lower end of the interval to `room` below the mean."""
    if room <= _SAME:
        return math.inf
    by_spread = (Z95 * float(values.std(ddof=1)) / room) ** 2
    if (values < -_SAME).any() or room >= 1:
        return by_spread
    return max(by_spread, math.log(0.025) / math.log1p(-room))


def _differences(base: Sequence[float], other: Sequence[float]) -> Floats:
    if len(base) != len(other):
        raise UsageError(
            f"paired figures need the same questions: {len(base)!r} against {len(other)!r}"
        )
    differences = np.asarray(other, dtype=np.float64) - np.asarray(base, dtype=np.float64)
    differences[np.abs(differences) <= _SAME] = 0.0
    return np.sort(differences)


def _bounds_of_mean(
    ordered: Floats, *, seed: int, resamples: int = RESAMPLES
) -> tuple[float, float]:
    if ordered[0] == ordered[-1]:
        return float(ordered[0]), float(ordered[0])
    found = bootstrap(of_mean(ordered), ordered.size, seed=seed, resamples=resamples)
    assert found is not None  # noqa: S101 - a mean is defined for every draw
    return found


def _bounds_of_difference(ordered: Floats, *, scores: bool, seed: int) -> tuple[float, float]:
    low, high = _bounds_of_mean(ordered, seed=seed)
    if not scores:
        return low, high
    mean, hidden = math.fsum(ordered) / ordered.size, unseen(ordered.size)
    if ordered[0] >= 0:
        low = min(low, max(-1.0, mean - hidden))
    if ordered[-1] <= 0:
        high = max(high, min(1.0, mean + hidden))
    return low, high


def _by_every_flip(changed: Floats) -> float:
    flips = (np.arange(2**changed.size)[:, None] >> np.arange(changed.size) & 1).astype(np.float64)
    seen = math.fsum(changed)
    sums = np.abs(seen - 2 * (flips @ changed))
    return float((sums >= abs(seen) - 1e-9 * np.abs(changed).sum()).mean())


def _by_counted_flips(changed: Floats) -> float:
    steps = np.rint(changed * (_GRID / np.abs(changed).sum())).astype(np.int64)
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


def _all_yes_or_no(values: Floats) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _all_scores(base: Sequence[float], other: Sequence[float]) -> bool:
    return all(0 <= value <= 1 for value in (*base, *other))


# Figures that are not a mean over questions but one of all rows: shares of passages, ranks,
# quantiles. Their intervals draw questions, never rows, so that repeats do not feign certainty.


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
