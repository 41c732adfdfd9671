"""How sure a figure is: what it would have been on other questions of the same kind.

The bootstrap draws as many questions as there are, with replacement, and looks at how the figure
varies (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13: percentiles). A
draw is how often each question was drawn, so that any figure that can be weighted can be drawn
again, and all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

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
