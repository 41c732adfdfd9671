"""Statistics that need the values themselves: ranks, p-values, tests of normality."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from secondlook.tables.query import Measure

    Values = NDArray[np.float64]

FEWEST_FOR_A_TEST = 3
BROKEN, KEPT = 0.01, 0.5
"""What stands for the p-value of a test that only knows whether its 5 % bound is kept."""


def of_arrays(measure: Measure, first: Values, second: Values | None) -> float | None:
    """`first` and `second` row by row; NaN where a value is missing."""
    if measure.statistic == "normality":
        return normality(first[~np.isnan(first)], measure.method or "shapiro")
    if second is None:
        raise TableError(f"A {measure.statistic} needs two columns.")
    both = ~(np.isnan(first) | np.isnan(second))
    method = measure.method or "pearson"
    if measure.statistic == "correlation":
        return _correlation(first[both], second[both], method)
    return p_of_correlation(first[both], second[both], method)


def _correlation(first: Values, second: Values, method: str) -> float | None:
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:  # noqa: PLR2004
        return None
    if method == "kendall":
        return float(_scipy().kendalltau(first, second).statistic)
    if method == "spearman":
        first, second = ranks(first), ranks(second)
    return float(np.clip(np.corrcoef(first, second)[0, 1], -1, 1))


def p_of_correlation(first: Values, second: Values, method: str) -> float | None:
    """Two-tailed, by Student's t with n - 2 degrees of freedom, as scipy's."""
    if method == "kendall":
        return float(_scipy().kendalltau(first, second).pvalue)
    r = _correlation(first, second, method)
    if r is None or len(first) <= 2:  # noqa: PLR2004
        return None
    freedom = len(first) - 2
    if abs(r) == 1:
        return 0.0
    return incomplete_beta(freedom / 2, 0.5, 1 - r * r)


def ranks(values: Values) -> Values:
    """From 1; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=np.float64)


def normality(values: Values, method: str) -> float | None:
    if len(values) < FEWEST_FOR_A_TEST or np.ptp(values) == 0:
        return None
    tests: dict[str, Callable[[Values], float]] = {
        "shapiro": _shapiro,
        "ks": _kolmogorov,
        "dagostino": lambda known: float(_scipy().normaltest(known).pvalue),
        "jarque_bera": lambda known: float(_scipy().jarque_bera(known).pvalue),
        "anderson": _anderson,
    }
    if method not in tests:
        raise TableError(f"There is no test of normality {method!r}.", hint=", ".join(tests))
    return tests[method](values)


def _shapiro(values: Values) -> float:
    import warnings

    with warnings.catch_warnings():
        # Beyond 5,000 values scipy says that the p-value may be inexact; it is then tiny.
        warnings.simplefilter("ignore")
        return float(_scipy().shapiro(values).pvalue)


def _kolmogorov(values: Values) -> float:
    """Against the normal distribution with the sample's own mean and deviation."""
    standard = (values - values.mean()) / values.std(ddof=1)
    return float(_scipy().kstest(standard, "norm").pvalue)


def _anderson(values: Values) -> float:
    """The test knows critical values only: which side of the 5 % one is all that is told.

    Stephens 1974: A-squared, corrected for a mean and a deviation that come from the sample,
    against 0.752.
    """
    n = len(values)
    ordered = np.sort((values - values.mean()) / values.std(ddof=1))
    below = _scipy().norm.logcdf(ordered)
    above = _scipy().norm.logsf(ordered[::-1])
    weights = 2 * np.arange(1, n + 1) - 1
    squared = -n - float(np.sum(weights * (below + above))) / n
    return BROKEN if squared * (1 + 0.75 / n + 2.25 / n**2) > 0.752 else KEPT  # noqa: PLR2004


def _scipy() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise TableError(
            "This test needs scipy, which is not installed.",
            hint="pip install 'secondlook[analyst]'",
        ) from error
    return stats


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log(x) + b * math.log1p(-x)) / a
    return front * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's way to sum it."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a - 1 + 2 * m) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 1 + 2 * m))
        for part in (even, odd):
            d, c = 1 / _not_zero(1 + part * d), _not_zero(1 + part / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:  # noqa: PLR2004
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300  # noqa: PLR2004
