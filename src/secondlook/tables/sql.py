"""A query as one SQL statement."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from secondlook.errors import TableError
from secondlook.reading.numbers import MONTHS as MONTH_NAMES
from secondlook.tables.cells import identifier, quoted
from secondlook.tables.query import Filter, Key, Measure, PartOfDate, Query, Term, Transform
from secondlook.tables.table import NUMERIC, TEMPORAL, ColumnType, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar

# ruff: noqa: S608  # names are quoted and checked, values are parameters

SOURCE = "source"  # The view of the table's file; `"row"` is the place of a row in it
ROW = "row number"
PLACE = '"place of the row"'  # In an order; no header of a table is likely to be called so


@dataclass(frozen=True, slots=True)
class Statement:
    sql: str
    values: tuple[Scalar, ...]
    shown: str


def statement(query: Query, table: Table) -> Statement:
    writing = Writing.over(table)
    sql = _grouped(writing, query) if query.measures else _rows(writing, query)
    return writing.finished(sql)


def values_of_measure(query: Query, table: Table, measure: Measure) -> Statement:
    """Keys, first and second value of every row: for what SQL cannot compute."""
    writing = Writing.over(table)
    keys = [f"{key(writing, one)} AS k{at}" for at, one in enumerate(query.group_by)]
    parts = _parts(writing, measure)
    columns = [*keys, *(f"{parts[name]} AS {name}0" for name in ("x", "y") if parts[name])]
    return writing.finished(f"SELECT {', '.join(columns)} {_from_met(writing, query)}")


def used_rows(query: Query, table: Table) -> Statement:
    writing = Writing.over(table)
    return writing.finished(f"SELECT count(*) {_from_met(writing, query)}")


def key_name(one: Key) -> str:
    return f"{one.column} {one.part}" if one.part else one.column


def _from_met(writing: Writing, query: Query) -> str:
    """The rows that meet the query's conditions."""
    if any(_looks_around(one) for one in query.where):
        return f"FROM ({_met(writing, query, SOURCE)})"
    where = f" WHERE {all_of(writing, query.where)}" if query.where else ""
    return f"FROM {SOURCE}{where}"


def _met(writing: Writing, query: Query, source: str) -> str:
    """QUALIFY where a condition looks at the whole column: it comes after WHERE."""
    plain = [one for one in query.where if not _looks_around(one)]
    around = [one for one in query.where if _looks_around(one)]
    sql = f"SELECT * FROM {source}"
    sql += f" WHERE {all_of(writing, plain)}" if plain else ""
    return sql + (f" QUALIFY {all_of(writing, around)}" if around else "")


def _looks_around(one: Filter) -> bool:
    return one.comparison in {"within_z", "within_iqr"}


def _parts(writing: Writing, measure: Measure) -> dict[str, str]:
    """First value, second value, and whether the measure's own conditions hold."""
    parts = {"x": "", "y": "", "w": all_of(writing, measure.where) if measure.where else ""}
    if measure.of is not None:
        value = term(writing, measure.of, numeric=measure.statistic in NUMBERS)
        parts["x"] = f"CASE WHEN {parts['w']} THEN {value} END" if parts["w"] else value
    elif measure.statistic not in {"count", "share"}:
        raise TableError(f"A {measure.statistic} needs a column.")
    if measure.statistic in PAIRED:
        if measure.other is None:
            raise TableError(f"A {measure.statistic} needs two columns.")
        parts["y"] = term(writing, measure.other, numeric=True)
    return parts


def _grouped(writing: Writing, query: Query) -> str:
    measures = [one for one in query.measures if not by_arrays(one)]
    keys = [key(writing, one) for one in query.group_by]
    parts = [_parts(writing, one) for one in measures]
    start, source = "", _from_met(writing, query)
    # Windows cannot stand within an aggregate: these need a pass of their own.
    if any(one.statistic in PREPARED or any(map(_looks_around, one.where)) for one in measures):
        start, source = _passes(writing, measures, keys, parts, source), "FROM prepared"
        keys = [f"k{at}" for at in range(len(keys))]
        parts = [{name: f"{name}{at}" for name in "xywp"} for at in range(len(parts))]
    shown = [
        f"{one} AS {identifier(key_name(group))}"
        for one, group in zip(keys, query.group_by, strict=True)
    ]
    shown += [
        f"{aggregate(one, part)} AS {identifier(one.name)}"
        for one, part in zip(measures, parts, strict=True)
    ]
    places = ", ".join(str(at + 1) for at in range(len(keys)))
    grouping = f" GROUP BY {places} ORDER BY {places}" if keys else ""
    return f"{start}SELECT {', '.join(shown) or 'count(*)'} {source}{grouping}"


def _passes(
    writing: Writing,
    measures: Sequence[Measure],
    keys: Sequence[str],
    parts: Sequence[dict[str, str]],
    source: str,
) -> str:
    columns = [f"{one} AS k{at}" for at, one in enumerate(keys)]
    for at, part in enumerate(parts):
        columns += [f"{part[name] or 'TRUE'} AS {name}{at}" for name in "xyw"]
    names = ", ".join(f"k{at}" for at in range(len(keys)))
    over = f"OVER (PARTITION BY {names})" if names else "OVER ()"
    passes = [(at, prepared(writing, one, f"x{at}", over)) for at, one in enumerate(measures)]
    extra = "".join(f", {sql} AS p{at}" for at, sql in passes if sql is not None)
    valued = f"SELECT {', '.join(columns)} {source}"
    return f"WITH valued AS ({valued}), prepared AS (SELECT *{extra} FROM valued) "


def _rows(writing: Writing, query: Query) -> str:
    columns = query.select or tuple(writing.types)
    wanted = ", ".join(writing.column(one) for one in columns)
    # Missing values come last whatever the direction; equal rows as they stand in the table.
    by = ""
    for one in query.order:
        sorted_by = Term(column=one.by, transform=one.transform)
        by += term(writing, sorted_by, numeric=False) if one.by else f'"{ROW}"'
        by += f" {'DESC' if one.descending else 'ASC'} NULLS LAST, "
    order = f'ORDER BY {by}"{ROW}"'
    ranked = f"SELECT *, row_number() OVER ({order}) AS {PLACE} FROM {SOURCE}"
    if query.neighbour is not None:
        step = 1 if query.neighbour == "after" else -1
        there = f"SELECT {PLACE} + {step} FROM ({_met(writing, query, 'ranked')})"
        found = f"SELECT * FROM ranked WHERE {PLACE} IN ({there})"
        start = f"WITH ranked AS ({ranked}), found AS ({found})"
    else:
        start = f"WITH found AS ({_met(writing, query, SOURCE)})"
    if query.distinct:
        first = f'SELECT {wanted}, min("{ROW}") AS "{ROW}" FROM found GROUP BY {wanted}'
        start += f", different AS ({first})"
    source = "different" if query.distinct else "found"
    if query.distinct and any(one.by not in columns for one in query.order):
        source = "found"
    if query.limit is None or not query.ties or not query.order:
        limit = "" if query.limit is None else f" LIMIT {query.limit:d}"
        return f"{start} SELECT {wanted} FROM {source} {order}{limit}"
    tied = order.removesuffix(f', "{ROW}"')
    ranked = f"SELECT *, rank() OVER ({tied}) AS {PLACE} FROM {source}"
    return f"{start} SELECT {wanted} FROM ({ranked}) WHERE {PLACE} <= {query.limit:d} {order}"


# Statistics as SQL.

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
    "share": "100.0 * {rows} / nullif(count(*), 0)",
    "covariance": "covar_samp({x}, {y})",
}
PAIRED = frozenset({"correlation", "correlation_p", "covariance"})
NUMBERS = PAIRED | {
    "sum", "mean", "median", "range", "std", "variance", "skewness", "kurtosis", "quantile", "iqr",
    "outliers_iqr", "outliers_z", "normality",
}  # fmt: skip
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
        # Rounding may carry it a hair beyond 1; a constant column has none.
        corr = f"corr({x}, {parts['y']})"
        return f"CASE WHEN isfinite({corr}) THEN greatest(-1, least(1, {corr})) END"
    return _after_a_pass(measure, parts["p"])


def _after_a_pass(measure: Measure, p: str) -> str:
    """`p` is the deviation from the mean, or whether the value is an outlier."""
    if measure.statistic in {"outliers_iqr", "outliers_z"}:
        return f"count(*) FILTER (WHERE {p})"
    count, second = f"count({p})", f"nullif(avg({p} ** 2), 0)"
    is_skewness = measure.statistic == "skewness"
    biased = f"(avg({p} ** 4) / ({second}) ** 2 - 3)"
    biased = f"avg({p} ** 3) / ({second}) ** 1.5" if is_skewness else biased
    if is_skewness:
        return f"{biased} * sqrt({count} * ({count} - 1.0)) / nullif({count} - 2.0, 0)"
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


# Conditions on rows as SQL.

FARTHEST_Z, FARTHEST_IQR = 3.0, 1.5  # The usual bounds of what is no outlier


def all_of(writing: Writing, filters: Sequence[Filter]) -> str:
    """Never NULL: where a value is missing, a comparison does not hold."""
    return " AND ".join(
        f"{'NOT ' if one.negated else ''}coalesce({_plain(writing, one)}, FALSE)" for one in filters
    )


def _plain(writing: Writing, one: Filter) -> str:
    column = writing.column(one.column)
    if one.comparison in {"missing", "present"}:
        return f"{column} IS {'' if one.comparison == 'missing' else 'NOT '}NULL"
    if one.comparison in {"within_z", "within_iqr"}:
        return _within(writing, one)
    if one.comparison == "contains":
        return f"contains({_text(column)}, {_text(writing.value(str(one.value)))})"
    if one.comparison == "in":
        return " OR ".join(_compared(writing, one, "=", value) for value in one.values) or "FALSE"
    if one.comparison == "!=":
        return f"NOT coalesce({_compared(writing, one, '=', one.value)}, FALSE)"
    return _compared(writing, one, one.comparison, one.value)


def _within(writing: Writing, one: Filter) -> str:
    by_z = one.comparison == "within_z"
    usual = FARTHEST_Z if by_z else FARTHEST_IQR
    limit = writing.value(float(one.value) if isinstance(one.value, int | float) else usual)
    values = number(writing, one.column)
    if by_z:
        mean, deviation = f"avg({values}) OVER ()", f"stddev_samp({values}) OVER ()"
        return f"abs({values} - {mean}) <= {limit} * {deviation}"
    low, high = (f"quantile_cont({values}, {at}) OVER ()" for at in (0.25, 0.75))
    reach = f"{limit} * ({high} - {low})"
    return f"({values} >= {low} - {reach} AND {values} <= {high} + {reach})"


def _text(expression: str) -> str:
    return f"lower(trim(CAST({expression} AS VARCHAR)))"


def _compared(writing: Writing, one: Filter, sign: str, value: Scalar) -> str:
    column, kind = writing.column(one.column), writing.types[one.column]
    if value is None:
        raise TableError(f"Nothing was given to compare {one.column!r} with.")
    if one.transform is not None or one.part is not None:
        left = part_of_date(column, one.part, kind) if one.part else column
        left = transformed(column, kind, one.transform) if one.transform else left
        return f"{left} {sign} {_as_number(writing, value)}"
    if kind in NUMERIC:
        return f"{column} {sign} {_as_number(writing, value)}"
    if kind in TEMPORAL and isinstance(value, str):
        return f"CAST({column} AS TIMESTAMP) {sign} TRY_CAST({writing.value(value)} AS TIMESTAMP)"
    if kind == "boolean":
        words = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
        said = words.get(str(value).strip().casefold())
        return f"{column} {sign} {writing.value(said) if said is not None else 'NULL'}"
    # A text against a number: by the first number in it, but equality may be of the text.
    if isinstance(value, str):
        return f"{_text(column)} {sign} {_text(writing.value(value))}"
    alone = f"TRY_CAST(trim(CAST({column} AS VARCHAR)) AS DOUBLE)"
    return f"{alone if sign == '=' else number_in_text(column)} {sign} {writing.value(value)}"


def _as_number(writing: Writing, value: Scalar) -> str:
    if isinstance(value, str):
        return f"TRY_CAST(replace({writing.value(value)}, ',', '') AS DOUBLE)"
    return writing.value(float(value) if isinstance(value, bool) else value)


# Columns, arithmetic on them and groups as SQL. Names are quoted, values are parameters.


@dataclass(frozen=True, slots=True)
class Writing:
    """A statement as it is being written: the columns it may name, the values it was given."""

    table: str
    types: Mapping[str, ColumnType]
    values: list[Scalar] = field(default_factory=list)

    @classmethod
    def over(cls, table: Table) -> Writing:
        return cls(table.name, {one.name: one.type for one in table.columns})

    def value(self, value: Scalar) -> str:
        self.values.append(value)
        return f"${len(self.values)}"

    def column(self, name: str) -> str:
        if name not in self.types:
            known = ", ".join(repr(one) for one in list(self.types)[:20])
            raise TableError(f"The table has no column {name!r}.", hint=f"It has {known}.")
        return identifier(name)

    def finished(self, sql: str) -> Statement:
        """For people, values are written out."""

        def literal(match: re.Match[str]) -> str:
            value = self.values[int(match[1]) - 1]
            if value is None:
                return "NULL"
            if isinstance(value, str):
                return quoted(value)
            return str(value).upper() if isinstance(value, bool) else repr(value)

        shown = re.sub(r"\$(\d+)", literal, sql)
        named = shown.replace(f"FROM {SOURCE}", f"FROM {identifier(self.table)}")
        return Statement(sql, tuple(self.values), named)


def number(writing: Writing, name: str) -> str:
    """A column as numbers: a text that is no number counts as missing, truth as 1 or 0."""
    column, kind = writing.column(name), writing.types[name]
    if kind in NUMERIC:
        return column
    if kind == "boolean":
        return f"CAST({column} AS INTEGER)"
    if kind == "time":
        return f"epoch({column})"
    if kind in TEMPORAL:
        return f"(epoch(CAST({column} AS TIMESTAMP)) / 86400.0)"
    return number_in_text(column, alone=True)


def term(writing: Writing, of: Term, *, numeric: bool) -> str:
    """`numeric`: the statistic needs numbers, and texts must become some."""
    first = writing.column(of.column)
    if of.transform is not None:
        first = transformed(first, writing.types[of.column], of.transform)
    elif numeric or of.operator is not None:
        first = number(writing, of.column)
    if of.operator is None or of.other is None:
        return first
    second = number(writing, of.other) if isinstance(of.other, str) else writing.value(of.other)
    second = f"nullif(CAST({second} AS DOUBLE), 0)" if of.operator == "/" else second
    return f"({first} {of.operator} {second})"


def part_of_date(column: str, part: PartOfDate, kind: ColumnType) -> str:
    """Weekdays count from 1, Monday, to 7."""
    if kind in NUMERIC and part == "year":
        return column
    name = "isodow" if part == "weekday" else part
    moment = column if kind in {*TEMPORAL, "time"} else f"TRY_CAST({column} AS TIMESTAMP)"
    if part == "year_month":
        return f"strftime({moment}, '%Y-%m')"
    if part == "year_quarter":
        return f"date_part('year', {moment}) || '-Q' || date_part('quarter', {moment})"
    return f"date_part('{name}', {moment})"


def key(writing: Writing, of: Key) -> str:
    column = writing.column(of.column)
    if of.part is not None:
        return part_of_date(column, of.part, writing.types[of.column])
    if not of.bins:
        return column
    value, arms = number(writing, of.column), []
    above, below = (">", "<=") if of.right else (">=", "<")
    for at, (low, high) in enumerate(pairwise(of.bins)):
        label = of.labels[at] if at < len(of.labels) else interval_name(low, high, right=of.right)
        bounds = [f"{value} {above} {writing.value(low)}" if low != float("-inf") else "TRUE"]
        bounds.append(f"{value} {below} {writing.value(high)}" if high != float("inf") else "TRUE")
        arms.append(f"WHEN {' AND '.join(bounds)} THEN {writing.value(label)}")
    return f"CASE WHEN {value} IS NULL THEN NULL {' '.join(arms)} END"


def interval_name(low: float, high: float, *, right: bool) -> str:
    opening, closing = ("(", "]") if right else ("[", ")")
    return f"{opening}{low:g}, {high:g}{closing}"


# What a cell is turned into before it is compared, sorted by or measured, as SQL.

SIGN = "[-\u2212+]?"
NUMBER_IN_TEXT = rf"({SIGN}(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?|{SIGN}\.\d+)"
"""With or without thousands commas."""
CLOCK = r"^(?:(\d+):)?(\d{1,3}):(\d{2}(?:\.\d+)?)$"
YEAR = r"\b(1[0-9]{3}|20[0-9]{2})\b"
MONTHS = tuple(name[:3] for name in MONTH_NAMES)
MONTH_NAME = rf"\b({'|'.join(MONTHS)})[a-z]*\b"
ISO_DATE = r"\b\d{4}-(\d{1,2})(?:-(\d{1,2}))?\b"
DAY = r"(?:^|[^\d:.])(\d{1,2})(?:st|nd|rd|th)?(?:[^\d:.]|$)"


def transformed(column: str, kind: ColumnType, transform: Transform) -> str:
    """`column` is quoted; NULL where the cell holds no such thing."""
    if transform != "number":
        return _of_date(column, kind, transform)
    if kind in NUMERIC:
        return column
    return f"CAST({column} AS INTEGER)" if kind == "boolean" else number_in_text(column)


def number_in_text(column: str, *, alone: bool = False) -> str:
    """The first number, or one that is there `alone`; of a time such as 1:02:03 the seconds."""
    text = f"trim(CAST({column} AS VARCHAR))"
    found = f"regexp_extract({text}, '{NUMBER_IN_TEXT}', 1)"
    first = f"TRY_CAST(replace(replace({found}, ',', ''), '\u2212', '-') AS DOUBLE)"
    otherwise = f"TRY_CAST(replace({text}, ',', '') AS DOUBLE)" if alone else first
    hours, minutes, seconds = (_extracted(text, CLOCK, at) for at in (1, 2, 3))
    clock = f"coalesce({hours}, 0) * 3600 + {minutes} * 60 + {seconds}"
    return f"CASE WHEN regexp_matches({text}, '{CLOCK}') THEN {clock} ELSE {otherwise} END"


def _extracted(text: str, pattern: str, group: int) -> str:
    return f"TRY_CAST(regexp_extract({text}, '{pattern}', {group}) AS DOUBLE)"


def _of_date(column: str, kind: ColumnType, transform: Transform) -> str:
    if kind in TEMPORAL:
        year, month, day = (f"date_part('{one}', {column})" for one in ("year", "month", "day"))
    else:
        text = f"lower(CAST({column} AS VARCHAR))"
        names = ", ".join(f"'{one}'" for one in MONTHS)
        named = f"list_position([{names}], regexp_extract({text}, '{MONTH_NAME}', 1))"
        year = _extracted(text, YEAR, 1)
        month = f"coalesce(nullif({named}, 0), {_extracted(text, ISO_DATE, 1)})"
        # A number of one or two digits beside the name of a month.
        beside = f"regexp_matches({text}, '{MONTH_NAME}') THEN {_extracted(text, DAY, 1)}"
        day = f"coalesce({_extracted(text, ISO_DATE, 2)}, CASE WHEN {beside} END)"
    if transform != "date":
        return year if transform == "year" else month
    sortable = f"coalesce({year}, 0) * 10000 + coalesce({month}, 0) * 100 + coalesce({day}, 0)"
    return f"CASE WHEN coalesce({year}, {month}) IS NOT NULL THEN {sortable} END"
