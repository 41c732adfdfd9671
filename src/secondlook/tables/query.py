"""A question over one table as data: what code can compute by itself, and compute again.
`tables.sql` turns it into SQL; `tables.understand` reads it out of a sentence; a check of generated
code computes it again."""

from typing import Literal

from secondlook.answer import Record, Scalar

Comparison = Literal[
    "=", "!=", "<", "<=", ">", ">=", "in", "contains", "missing", "present", "within_z",
    "within_iqr",
]  # fmt: skip
"""Texts are compared without regard to case and outer blanks. `within_z` holds for values at most
`value` standard deviations from the mean of the column, `within_iqr` for values at most `value`
times the interquartile range outside the quartiles: what is no outlier. A row without a value
meets `!=`, as in pandas, and none of the others."""
PartOfDate = Literal[
    "year", "quarter", "month", "weekday", "day", "hour", "year_month", "year_quarter"
]
"""`year_month` and `year_quarter` keep years apart: 2024-03, 2024-Q1."""
Statistic = Literal[
    "count", "distinct", "sum", "mean", "median", "mode", "min", "max", "range", "iqr", "std",
    "variance", "skewness", "kurtosis", "quantile", "share", "correlation", "correlation_p",
    "covariance", "outliers_iqr", "outliers_z", "normality",
]  # fmt: skip
"""`std` and `variance` are of a sample, as in pandas. `share` is the percentage of the rows that
meet `where` among those that meet the query's filters. `outliers_z` counts values more than `at`
(3) standard deviations away, `outliers_iqr` those more than `at` (1.5) times the interquartile
range outside the quartiles. `correlation_p` is the two-tailed p-value of a correlation, and
`normality` that of a test (of `anderson` 0.05 or 0.01 where its 5 % bound is kept or broken; see
`tables.compute`)."""


Arithmetic = Literal["+", "-", "*", "/"]
Transform = Literal["number", "date", "year", "month"]
"""`number` is the first number in a text (of `1:02:03` the seconds), `year` and `month` are those
named in it or of a date, `date` is the number year * 10000 + month * 100 + day with 0 for what is
not named, so that dates in words sort and compare."""


class Filter(Record):
    """A condition on rows; filters in a tuple must all hold."""

    column: str
    comparison: Comparison
    value: Scalar = None
    values: tuple[Scalar, ...] = ()  # Of `in`
    part: PartOfDate | None = None  # Compare this part of a date, not all of it
    negated: bool = False
    transform: Transform | None = None  # Compare what this makes of the cell


class Term(Record):
    """A column, or simple arithmetic on columns and numbers: `SibSp + Parch`."""

    column: str
    operator: Arithmetic | None = None
    other: str | float | None = None  # A second column, or a number
    transform: Transform | None = None  # Before the arithmetic


class Measure(Record):
    name: str  # What its value is called
    statistic: Statistic
    of: Term | None = None  # None counts rows
    other: Term | None = None  # The second of a correlation or covariance
    where: tuple[Filter, ...] = ()  # Holds for this measure only
    at: float | None = None  # The quantile, or the limit of `outliers_z`
    method: str | None = None
    """`pearson`, `spearman`, `kendall`; of `normality`: `shapiro`, `ks`, `dagostino`, `anderson`,
    `jarque_bera`; of `std`, `variance` and `outliers_z`: `population`."""
    decimals: int | None = None  # Rounded to so many, where that was asked for


class Key(Record):
    """What rows are grouped by."""

    column: str
    part: PartOfDate | None = None
    bins: tuple[float, ...] = ()
    """Edges of intervals of a number, closed to the right unless `right` is False."""
    labels: tuple[str, ...] = ()
    right: bool = True


class Order(Record):
    by: str  # A column, or the name of a measure; empty for the row's own place in the table
    descending: bool = False
    transform: Transform | None = None
    """Sort by what this makes of the cell; cells without it come last."""


class Query(Record):
    """Without measures: the `select`ed columns of the rows themselves. With measures: their values,
    per group where there are groups."""

    table: str  # Its id
    where: tuple[Filter, ...] = ()
    select: tuple[str, ...] = ()
    distinct: bool = False
    group_by: tuple[Key, ...] = ()
    measures: tuple[Measure, ...] = ()
    having: tuple[Filter, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    ties: bool = True  # Rows equal to the last within the limit come too
    neighbour: Literal["before", "after"] | None = None
    """The row before or after the one that meets `where`, in the table's own order or `order`."""


class Computed(Record):
    """What a query came to."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    total_rows: int
    sql: str  # As it was run, for people
    used: int | None = None  # Rows of the table that went into it
