"""Statistics as SQL.

The parts of a measure are expressions: `x`, its value where the measure's own conditions hold,
`y`, the second value, `w`, whether the conditions hold (empty: always), and `p`, what a first
pass over the values prepared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.errors import TableError
from secondlook.tables.computing.conditions import FARTHEST_IQR, FARTHEST_Z

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.tables.computing.terms import Writing
    from secondlook.tables.query import Measure

PLAIN = {
    "count": "count({x})",
    "distinct": "count(DISTINCT {x})",
    "sum": "coalesce(sum({x}), 0)",
    "mean": "avg({x})",
    "median": "median({x})",
    "mode": "mode({x} ORDER BY {x})",
    "min": "min({x})",
    "max": "max({x})",
    "range": "max({x}) - min({x})",
    "iqr": "quantile_cont({x}, 0.75) - quantile_cont({x}, 0.25)",
    "missing": "{rows} - count({x})",
    "missing_share": "100.0 * ({rows} - count({x})) / nullif({rows}, 0)",
    "share": "100.0 * {rows} / nullif(count(*), 0)",
    "covariance": "covar_samp({x}, {y})",
    "slope": "regr_slope({x}, {y})",
}
PAIRED = frozenset({"correlation", "correlation_p", "covariance", "slope"})
NUMBERS = PAIRED | {
    *(
        "sum",
        "mean",
        "median",
        "range",
        "std",
        "variance",
        "skewness",
        "kurtosis",
        "quantile",
        "iqr",
    ),
    *("outliers_iqr", "outliers_z", "normality"),
}
"""What can only be computed of numbers."""
PREPARED = frozenset({"skewness", "kurtosis", "outliers_iqr", "outliers_z"})
"""What needs a first pass over the values of the group."""


def by_arrays(measure: Measure) -> bool:
    """Whether the values themselves are needed, because SQL cannot compute it."""
    if measure.statistic in {"normality", "correlation_p"}:
        return True
    return measure.statistic == "correlation" and measure.method in {"spearman", "kendall"}


def aggregate(measure: Measure, parts: Mapping[str, str]) -> str:
    rows = f"count(*) FILTER (WHERE {parts['w']})" if parts["w"] else "count(*)"
    x = parts["x"]
    if measure.statistic == "count" and measure.of is None:
        return rows
    if measure.statistic in PLAIN:
        return PLAIN[measure.statistic].format(rows=rows, **parts)
    if measure.statistic in {"std", "variance"}:
        kind = "pop" if measure.method == "population" else "samp"
        return f"{'stddev' if measure.statistic == 'std' else 'var'}_{kind}({x})"
    if measure.statistic == "quantile":
        if measure.at is None or not 0 <= measure.at <= 1:
            raise TableError(f"A quantile lies between 0 and 1, not at {measure.at!r}.")
        return f"quantile_cont({x}, {float(measure.at)!r})"
    if measure.statistic == "correlation":
        return _bounded(f"corr({x}, {parts['y']})")
    return _after_a_pass(measure, parts["p"])


def _bounded(correlation: str) -> str:
    """Rounding may carry it a hair beyond 1; a constant column has none."""
    return f"CASE WHEN isfinite({correlation}) THEN greatest(-1, least(1, {correlation})) END"


def _after_a_pass(measure: Measure, p: str) -> str:
    """`p` is the deviation from the mean, or whether the value is an outlier."""
    if measure.statistic in {"outliers_iqr", "outliers_z"}:
        return f"count(*) FILTER (WHERE {p})"
    count, second = f"count({p})", f"nullif(avg({p} ** 2), 0)"
    if measure.statistic == "skewness":
        biased = f"avg({p} ** 3) / ({second}) ** 1.5"
        if measure.method == "biased":
            return biased
        return f"{biased} * sqrt({count} * ({count} - 1.0)) / nullif({count} - 2.0, 0)"
    biased = f"(avg({p} ** 4) / ({second}) ** 2 - 3)"
    if measure.method == "biased":
        return biased
    factor = f"({count} - 1.0) / nullif(({count} - 2.0) * ({count} - 3.0), 0)"
    return f"{factor} * (({count} + 1.0) * {biased} + 6)"


def prepared(writing: Writing, measure: Measure, x: str, over: str) -> str | None:
    """The first pass over the values of a group; `over` names the group's window."""
    if measure.statistic in {"skewness", "kurtosis"}:
        return f"CAST({x} AS DOUBLE) - avg({x}) {over}"
    if measure.statistic == "outliers_z":
        kind = "pop" if measure.method == "population" else "samp"
        limit = writing.value(FARTHEST_Z if measure.at is None else measure.at)
        return f"abs({x} - avg({x}) {over}) > {limit} * stddev_{kind}({x}) {over}"
    if measure.statistic == "outliers_iqr":
        limit = writing.value(FARTHEST_IQR if measure.at is None else measure.at)
        low, high = f"quantile_cont({x}, 0.25) {over}", f"quantile_cont({x}, 0.75) {over}"
        reach = f"{limit} * ({high} - {low})"
        return f"({x} < {low} - {reach} OR {x} > {high} + {reach})"
    return None
