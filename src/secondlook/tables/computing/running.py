"""A query carried out on a DuckDB connection."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from secondlook.errors import TableError
from secondlook.tables.computing.arrays import of_arrays
from secondlook.tables.computing.groups import shaped
from secondlook.tables.computing.measures import by_arrays
from secondlook.tables.computing.statements import (
    ROW,
    SOURCE,
    Statement,
    key_name,
    statement,
    used_rows,
    values_of_measure,
)
from secondlook.tables.query import Computed, Query
from secondlook.tables.table import Table

if TYPE_CHECKING:
    import duckdb

    from secondlook.answer import Scalar
    from secondlook.tables.query import Measure

    Row = tuple[Scalar, ...]

MOST_ROWS = 10_000
"""Rows of a result that are handed over; `total_rows` tells of the rest."""


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

    try:
        _open(connection, file)
        return _computed(connection, query, table)
    except duckdb.Error as error:
        raise TableError(
            f"The table {table.title!r} cannot be computed with like that: {_first_line(error)}",
            hint="Ask for other columns, or look at their types with `secondlook list`.",
        ) from error


def _open(connection: duckdb.DuckDBPyConnection, file: str) -> None:
    path = file.replace("'", "''")
    source = f"SELECT * RENAME (file_row_number AS \"{ROW}\") FROM read_parquet('{path}', "  # noqa: S608  # a path of ours, quoted
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {SOURCE} AS {source}file_row_number => true)")


def _computed(connection: duckdb.DuckDBPyConnection, query: Query, table: Table) -> Computed:
    written = statement(query, table)
    columns, rows, total = _fetched(connection, written, all_of_them=bool(query.measures))
    if query.measures:
        columns, rows = _with_arrays(connection, query, table, columns, rows)
        total, rows = shaped(query, columns, rows)
        rows = _rounded(query, rows)
    used = connection.execute(*_bound(used_rows(query, table))).fetchone()
    return Computed(
        columns=columns,
        rows=tuple(rows[:MOST_ROWS]),
        total_rows=total,
        sql=written.shown,
        used=int(used[0]) if used else None,
    )


def _bound(written: Statement) -> tuple[str, list[Scalar]]:
    return written.sql, list(written.values)


def _fetched(
    connection: duckdb.DuckDBPyConnection, written: Statement, *, all_of_them: bool
) -> tuple[tuple[str, ...], list[Row], int]:
    found = connection.execute(*_bound(written))
    columns = tuple(one[0] for one in found.description or ())
    rows = found.fetchall() if all_of_them else found.fetchmany(MOST_ROWS)
    total = len(rows)
    while not all_of_them and (further := found.fetchmany(MOST_ROWS)):
        total += len(further)
    return columns, [tuple(plain(value) for value in row) for row in rows], total


def _with_arrays(
    connection: duckdb.DuckDBPyConnection,
    query: Query,
    table: Table,
    columns: tuple[str, ...],
    rows: list[Row],
) -> tuple[tuple[str, ...], list[Row]]:
    """The measures that SQL left out, put in their places."""
    keys = len(query.group_by)
    if all(by_arrays(one) for one in query.measures):
        rows = [row[:keys] for row in rows]
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
    found = connection.execute(*_bound(values_of_measure(query, table, measure))).fetchnumpy()
    first = _as_floats(found["x0"])
    second = _as_floats(found["y0"]) if "y0" in found else None
    keys = [_as_plain(found[f"k{at}"]) for at in range(len(query.group_by))]
    places: dict[Row, list[int]] = {} if keys else {(): list(range(len(first)))}
    for at, group in enumerate(zip(*keys, strict=True)):
        places.setdefault(group, []).append(at)
    return {
        group: of_arrays(measure, first[rows], None if second is None else second[rows])
        for group, rows in places.items()
    }


def _as_floats(values: Any) -> Any:
    import numpy as np

    return np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan)


def _as_plain(values: Any) -> list[Scalar]:
    import numpy as np

    missing = np.ma.getmaskarray(values)
    return [
        None if gone else plain(value)
        for value, gone in zip(np.ma.getdata(values).tolist(), missing, strict=True)
    ]


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


def _rounded(query: Query, rows: list[Row]) -> list[Row]:
    keys = len(query.group_by)
    return [
        (
            *row[:keys],
            *(
                round(value, one.decimals)
                if one.decimals is not None and isinstance(value, float)
                else value
                for one, value in zip(query.measures, row[keys:], strict=True)
            ),
        )
        for row in rows
    ]


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
