"""A query carried out on a DuckDB connection."""

from __future__ import annotations

import math
import warnings
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import takewhile
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.errors import TableError
from secondlook.tables.query import Computed, Measure, Query
from secondlook.tables.sql import (
    ROW,
    SOURCE,
    Statement,
    by_arrays,
    key_name,
    statement,
    used_rows,
    values_of_measure,
)
from secondlook.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import duckdb
    from numpy.typing import NDArray

    from secondlook.answer import Scalar

    Row = tuple[Scalar, ...]
    Values = NDArray[np.float64]

MOST_ROWS = 10_000  # Rows of a result that are handed over; `total_rows` tells of the rest


def compute_task(
    connection: duckdb.DuckDBPyConnection,
    *,
    query: dict[str, Any],
    table: dict[str, Any],
    file: str,
) -> dict[str, Any]:
    """For the worker: plain data in and out."""
    asked, over = Query.model_validate(query), Table.model_validate(table)
    return run_query(connection, asked, over, file).model_dump(mode="json")


def run_query(
    connection: duckdb.DuckDBPyConnection, query: Query, table: Table, file: str
) -> Computed:
    import duckdb

    path = file.replace("'", "''")
    source = f"SELECT * RENAME (file_row_number AS \"{ROW}\") FROM read_parquet('{path}', "  # noqa: S608  # a path of ours, quoted
    view = f"CREATE OR REPLACE TEMP VIEW {SOURCE} AS {source}file_row_number => true)"
    try:
        connection.execute(view)
        written = statement(query, table)
        found = _run(connection, written)
        columns = tuple(one[0] for one in found.description or ())
        rows = found.fetchall() if query.measures else found.fetchmany(MOST_ROWS)
        total = len(rows)
        while not query.measures and (further := found.fetchmany(MOST_ROWS)):
            total += len(further)
        rows = [tuple(plain(value) for value in row) for row in rows]
        if query.measures:
            columns, rows = _with_arrays(connection, query, table, columns, rows)
            total, rows = shaped(query, columns, rows)
            decimals = [*(None for _ in query.group_by), *(one.decimals for one in query.measures)]
            rows = [
                tuple(
                    round(value, places)
                    if places is not None and isinstance(value, float)
                    else value
                    for value, places in zip(row, decimals, strict=True)
                )
                for row in rows
            ]
        used = _run(connection, used_rows(query, table)).fetchone()
    except duckdb.Error as error:
        said = str(error).strip().splitlines()[0]
        raise TableError(
            f"The table {table.title!r} cannot be computed with like that: {said}",
            hint="Ask for other columns, or look at their types with `secondlook list`.",
        ) from error
    return Computed(
        columns=columns,
        rows=tuple(rows[:MOST_ROWS]),
        total_rows=total,
        sql=written.shown,
        used=int(used[0]) if used else None,
    )


def _run(connection: duckdb.DuckDBPyConnection, written: Statement) -> Any:
    return connection.execute(written.sql, list(written.values))


def _with_arrays(
    connection: duckdb.DuckDBPyConnection,
    query: Query,
    table: Table,
    columns: tuple[str, ...],
    rows: list[Row],
) -> tuple[tuple[str, ...], list[Row]]:
    """The measures that SQL left out, put in their places."""
    keys = len(query.group_by)
    further = {
        at: _by_group(connection, query, table, one)
        for at, one in enumerate(query.measures)
        if by_arrays(one)
    }
    if not further:
        return columns, rows
    whole = []
    for row in rows:
        rest = iter(row[keys:])
        values = [
            further[at].get(row[:keys]) if at in further else next(rest)
            for at in range(len(query.measures))
        ]
        whole.append((*row[:keys], *values))
    names = (*(key_name(one) for one in query.group_by), *(one.name for one in query.measures))
    return names, whole


def _by_group(
    connection: duckdb.DuckDBPyConnection, query: Query, table: Table, measure: Measure
) -> dict[Row, float | None]:
    found = _run(connection, values_of_measure(query, table, measure)).fetchnumpy()

    def floats(name: str) -> Values:
        return np.ma.filled(np.ma.asarray(found[name], dtype=np.float64), np.nan)

    first = floats("x0")
    second = floats("y0") if "y0" in found else None
    keys = []
    for at in range(len(query.group_by)):
        values = found[f"k{at}"]
        cells = zip(np.ma.getdata(values).tolist(), np.ma.getmaskarray(values), strict=True)
        keys.append([None if gone else plain(value) for value, gone in cells])
    places: dict[Row, list[int]] = {} if keys else {(): list(range(len(first)))}
    for at, group in enumerate(zip(*keys, strict=True)):
        places.setdefault(group, []).append(at)
    return {
        group: of_arrays(measure, first[rows], None if second is None else second[rows])
        for group, rows in places.items()
    }


def plain(value: Any) -> Scalar:
    """A value of DuckDB or numpy as JSON can hold it; what is no finite number is missing."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value / timedelta(days=1)
    return value if isinstance(value, str | int | bool) or value is None else str(value)


# Groups of a result: which are kept, in which order, how many.

SIGNS: dict[str, Callable[[object, object], bool]] = {
    "=": eq,
    "!=": ne,
    "<": lt,  # type: ignore[dict-item]
    "<=": le,  # type: ignore[dict-item]
    ">": gt,  # type: ignore[dict-item]
    ">=": ge,  # type: ignore[dict-item]
}


def shaped(query: Query, columns: Sequence[str], rows: list[Row]) -> tuple[int, list[Row]]:
    """How many groups there are that `having` leaves, and those within the limit."""

    def place(name: str) -> int:
        if name not in columns:
            known = ", ".join(columns)
            raise TableError(
                f"The result has no column {name!r} to order by.", hint=f"It has {known}."
            )
        return columns.index(name)

    for limit in query.having:
        at, holds = place(limit.column), SIGNS.get(limit.comparison)
        if holds is None or limit.negated:
            raise TableError(f"Groups cannot be compared by {limit.comparison!r}.")
        rows = [row for row in rows if row[at] is not None and holds(row[at], limit.value)]
    by = [place(one.by) for one in query.order]
    for at, one in reversed([*zip(by, query.order, strict=True)]):
        # Missing values last whatever the direction.
        known = [row for row in rows if row[at] is not None]
        known.sort(key=lambda row: row[at], reverse=one.descending)  # type: ignore[arg-type,return-value]
        rows = known + [row for row in rows if row[at] is None]
    if query.limit is None:
        return len(rows), rows
    kept = rows[: query.limit]
    if query.ties and by and kept:
        last = [kept[-1][at] for at in by]
        tied = takewhile(lambda row: [row[at] for at in by] == last, rows[query.limit :])
        kept.extend(tied)
    return len(rows), kept


# Statistics that need the values themselves: ranks, p-values, tests of normality.

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
    """The p-value of a test."""
    if len(values) < FEWEST_FOR_A_TEST or np.ptp(values) == 0:
        return None
    stats = _scipy()
    standard = (values - values.mean()) / values.std(ddof=1)
    if method == "shapiro":
        with warnings.catch_warnings():
            # Beyond 5,000 values scipy says that the p-value may be inexact; it is then tiny.
            warnings.simplefilter("ignore")
            return float(stats.shapiro(values).pvalue)
    if method == "ks":  # against a normal distribution of the sample's own mean and deviation
        return float(stats.kstest(standard, "norm").pvalue)
    if method == "dagostino":
        return float(stats.normaltest(values).pvalue)
    if method == "jarque_bera":
        return float(stats.jarque_bera(values).pvalue)
    if method != "anderson":
        known = "shapiro, ks, dagostino, jarque_bera, anderson"
        raise TableError(f"There is no test of normality {method!r}.", hint=known)
    # Critical values only are known: which side of the 5 % one is all that is told. Stephens 1974:
    # A-squared, corrected for a mean and a deviation that come from the sample, against 0.752.
    n, ordered = len(values), np.sort(standard)
    both = stats.norm.logcdf(ordered) + stats.norm.logsf(ordered[::-1])
    squared = -n - float(np.sum((2 * np.arange(1, n + 1) - 1) * both)) / n
    return BROKEN if squared * (1 + 0.75 / n + 2.25 / n**2) > 0.752 else KEPT  # noqa: PLR2004


def _scipy() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise TableError(
            "This test needs scipy, which is not installed.", hint="pip install scipy"
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

    def not_zero(value: float) -> float:
        return value if abs(value) > 1e-300 else 1e-300  # noqa: PLR2004

    # Lentz's way to sum the fraction.
    c, d = 1.0, 1 / not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a - 1 + 2 * m) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 1 + 2 * m))
        for part in (even, odd):
            d, c = 1 / not_zero(1 + part * d), not_zero(1 + part / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:  # noqa: PLR2004
            break
    return front * value
