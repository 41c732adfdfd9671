"""Conditions on rows as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.errors import TableError
from secondlook.tables.computing.terms import number, part_of_date
from secondlook.tables.computing.transforms import number_in_text, transformed
from secondlook.tables.query import AnyOf
from secondlook.tables.table import NUMERIC, TEMPORAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.tables.computing.terms import Writing
    from secondlook.tables.query import Condition, Filter

LIKE = {"contains": "contains", "starts": "starts_with", "ends": "ends_with"}
FARTHEST_Z, FARTHEST_IQR = 3.0, 1.5
"""The usual bounds of what is no outlier."""


def all_of(writing: Writing, conditions: Sequence[Condition]) -> str:
    return " AND ".join(condition(writing, one) for one in conditions) or "TRUE"


def condition(writing: Writing, one: Condition) -> str:
    """Never NULL: where a value is missing, a comparison does not hold."""
    if isinstance(one, AnyOf):
        return "(" + (" OR ".join(_filter(writing, each) for each in one.filters) or "FALSE") + ")"
    return _filter(writing, one)


def _filter(writing: Writing, one: Filter) -> str:
    holds = f"coalesce({_plain(writing, one)}, FALSE)"
    return f"NOT {holds}" if one.negated else holds


def _plain(writing: Writing, one: Filter) -> str:
    column = writing.column(one.column)
    if one.comparison in {"missing", "present"}:
        return f"{column} IS {'' if one.comparison == 'missing' else 'NOT '}NULL"
    if one.comparison in {"within_z", "within_iqr"}:
        return _within(writing, one)
    if one.comparison in LIKE:
        return f"{LIKE[one.comparison]}({_text(column)}, {_text(writing.value(str(one.value)))})"
    if one.comparison == "in":
        return " OR ".join(_compared(writing, one, "=", value) for value in one.values) or "FALSE"
    if one.comparison == "!=":
        return f"NOT coalesce({_compared(writing, one, '=', one.value)}, FALSE)"
    return _compared(writing, one, one.comparison, one.value)


def _within(writing: Writing, one: Filter) -> str:
    within, usual = (
        (within_z, FARTHEST_Z) if one.comparison == "within_z" else (within_iqr, FARTHEST_IQR)
    )
    limit = float(one.value) if isinstance(one.value, int | float) else usual
    return within(number(writing, one.column), writing.value(limit))


def within_z(values: str, limit: str) -> str:
    mean, deviation = f"avg({values}) OVER ()", f"stddev_samp({values}) OVER ()"
    return f"abs({values} - {mean}) <= {limit} * {deviation}"


def within_iqr(values: str, limit: str) -> str:
    low, high = f"quantile_cont({values}, 0.25) OVER ()", f"quantile_cont({values}, 0.75) OVER ()"
    reach = f"{limit} * ({high} - {low})"
    return f"({values} >= {low} - {reach} AND {values} <= {high} + {reach})"


def _text(expression: str) -> str:
    return f"lower(trim(CAST({expression} AS VARCHAR)))"


def _compared(writing: Writing, one: Filter, sign: str, value: Scalar) -> str:
    column, kind = writing.column(one.column), writing.types[one.column]
    if value is None:
        raise TableError(f"Nothing was given to compare {one.column!r} with.")
    if one.transform is not None:
        left = transformed(column, kind, one.transform)
        return f"{left} {sign} {_as_number(writing, value)}"
    if one.part is not None:
        left = part_of_date(column, one.part, kind)
        return f"{left} {sign} {_as_number(writing, value)}"
    if kind in NUMERIC:
        return f"{column} {sign} {_as_number(writing, value)}"
    if kind in TEMPORAL and isinstance(value, str):
        return f"CAST({column} AS TIMESTAMP) {sign} TRY_CAST({writing.value(value)} AS TIMESTAMP)"
    if kind == "boolean":
        return f"{column} {sign} {_as_truth(writing, value)}"
    return _compared_text(writing, column, sign, value)


def _compared_text(writing: Writing, column: str, sign: str, value: Scalar) -> str:
    """A text against a number: by the first number in it, but equality may be of the text."""
    if isinstance(value, str):
        return f"{_text(column)} {sign} {_text(writing.value(value))}"
    if sign != "=":
        return f"{number_in_text(column)} {sign} {writing.value(value)}"
    return f"TRY_CAST(trim(CAST({column} AS VARCHAR)) AS DOUBLE) = {writing.value(value)}"


def _as_number(writing: Writing, value: Scalar) -> str:
    if isinstance(value, str):
        return f"TRY_CAST(replace({writing.value(value)}, ',', '') AS DOUBLE)"
    return writing.value(float(value) if isinstance(value, bool) else value)


def _as_truth(writing: Writing, value: Scalar) -> str:
    words = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
    said = words.get(str(value).strip().casefold())
    return writing.value(said) if said is not None else "NULL"
