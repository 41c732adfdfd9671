"""A query as one SQL statement."""

# ruff: noqa: S608  # names are quoted and checked, values are parameters
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.errors import TableError
from secondlook.tables.computing.conditions import all_of
from secondlook.tables.computing.measures import (
    NUMBERS,
    PAIRED,
    PREPARED,
    aggregate,
    by_arrays,
    prepared,
)
from secondlook.tables.computing.terms import Writing, key, quoted, term
from secondlook.tables.query import AnyOf, Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.tables.query import Condition, Key, Measure, Order, Query
    from secondlook.tables.table import Table

SOURCE = "source"
"""The view of the table's file; `"row"` is the place of a row in it."""
ROW = "row number"


@dataclass(frozen=True, slots=True)
class Statement:
    sql: str
    values: tuple[Scalar, ...]
    shown: str


def statement(query: Query, table: Table) -> Statement:
    writing = Writing({one.name: one.type for one in table.columns})
    sql = _grouped(writing, query) if query.measures else _rows(writing, query)
    return _finished(writing, sql, table)


def values_of_measure(query: Query, table: Table, measure: Measure) -> Statement:
    """Keys, first and second value of every row: for what SQL cannot compute."""
    writing = Writing({one.name: one.type for one in table.columns})
    keys = [f"{key(writing, one)} AS k{at}" for at, one in enumerate(query.group_by)]
    parts = _parts(writing, measure)
    columns = [*keys, *(f"{parts[name]} AS {name}0" for name in ("x", "y") if parts[name])]
    return _finished(writing, f"SELECT {', '.join(columns)} {_from_met(writing, query)}", table)


def used_rows(query: Query, table: Table) -> Statement:
    writing = Writing({one.name: one.type for one in table.columns})
    return _finished(writing, f"SELECT count(*) {_from_met(writing, query)}", table)


def key_name(one: Key) -> str:
    return f"{one.column} {one.part}" if one.part else one.column


def _finished(writing: Writing, sql: str, table: Table) -> Statement:
    shown = writing.shown(sql).replace(f"FROM {SOURCE}", f"FROM {quoted(table.name)}")
    return Statement(sql, tuple(writing.values), shown)


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


def _looks_around(one: Condition) -> bool:
    filters = one.filters if isinstance(one, AnyOf) else (one,)
    return any(each.comparison in {"within_z", "within_iqr"} for each in filters)


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
    if any(_needs_a_pass(one) for one in measures):
        start, source = _passes(writing, measures, keys, parts, source), "FROM prepared"
        keys = [f"k{at}" for at in range(len(keys))]
        parts = [{name: f"{name}{at}" for name in "xywp"} for at in range(len(parts))]
    shown = [
        f"{one} AS {quoted(key_name(group))}"
        for one, group in zip(keys, query.group_by, strict=True)
    ]
    shown += [
        f"{aggregate(one, part)} AS {quoted(one.name)}"
        for one, part in zip(measures, parts, strict=True)
    ]
    places = ", ".join(str(at + 1) for at in range(len(keys)))
    grouping = f" GROUP BY {places} ORDER BY {places}" if keys else ""
    return f"{start}SELECT {', '.join(shown) or 'count(*)'} {source}{grouping}"


def _needs_a_pass(measure: Measure) -> bool:
    """Windows cannot stand within an aggregate."""
    filled = any(one is not None and one.fill for one in (measure.of, measure.other))
    around = any(_looks_around(one) for one in measure.where)
    return measure.statistic in PREPARED or filled or around


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
    order = _order(writing, query.order)
    ranked = f"SELECT *, row_number() OVER ({order}) AS place FROM {SOURCE}"
    if query.neighbour is not None:
        step = 1 if query.neighbour == "after" else -1
        there = f"SELECT place + {step} FROM ({_met(writing, query, 'ranked')})"
        found = f"SELECT * FROM ranked WHERE place IN ({there})"
        start = f"WITH ranked AS ({ranked}), found AS ({found})"
    else:
        start = f"WITH found AS ({_met(writing, query, SOURCE)})"
    if query.distinct:
        first = f'SELECT {wanted}, min("{ROW}") AS "{ROW}" FROM found GROUP BY {wanted}'
        start += f", different AS ({first})"
    source = "different" if query.distinct else "found"
    if query.distinct and any(one.by not in columns for one in query.order):
        source = "found"
    return f"{start} {_limited(query, wanted, source, order)}"


def _limited(query: Query, wanted: str, source: str, order: str) -> str:
    if query.limit is None:
        return f"SELECT {wanted} FROM {source} {order} OFFSET {query.offset:d}"
    if not query.ties or not query.order:
        end = f"LIMIT {query.limit:d} OFFSET {query.offset:d}"
        return f"SELECT {wanted} FROM {source} {order} {end}"
    by = order.removesuffix(f', "{ROW}"')
    ranked = f"SELECT *, rank() OVER ({by}) AS standing FROM {source}"
    bounds = f"standing > {query.offset:d} AND standing <= {query.offset + query.limit:d}"
    return f"SELECT {wanted} FROM ({ranked}) WHERE {bounds} {order}"


def _order(writing: Writing, order: tuple[Order, ...]) -> str:
    """Missing values come last whatever the direction; equal rows as they stand in the table."""
    parts = [
        f"{_sortable(writing, one)} {'DESC' if one.descending else 'ASC'} NULLS LAST"
        for one in order
    ]
    return "ORDER BY " + ", ".join([*parts, f'"{ROW}"'])


def _sortable(writing: Writing, one: Order) -> str:
    if not one.by:
        return f'"{ROW}"'
    return term(writing, Term(column=one.by, transform=one.transform), numeric=False)
