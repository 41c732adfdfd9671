"""What runs in the worker: each task gets a DuckDB connection and gives back what JSON can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secondlook.tables.profiling.headers import read_header
from secondlook.tables.profiling.passes import look
from secondlook.tables.profiling.quality import are_shares, column_warnings, table_warnings
from secondlook.tables.profiling.source import open_source
from secondlook.tables.table import Column, ColumnProfile, Table, TableProfile, ValueCount

if TYPE_CHECKING:
    from collections.abc import Callable

    from duckdb import DuckDBPyConnection

    from secondlook.tables.profiling.facts import Facts

MOST_FREQUENT = 20


def profile(
    connection: DuckDBPyConnection,
    *,
    file: str,
    table: dict[str, Any],
    today: str,
    report: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """A `TableProfile` of the Parquet file."""
    described = Table.model_validate(table)
    columns = described.columns
    source = open_source(
        connection, file, rows=described.rows, types=[column.type for column in columns]
    )
    passed = look(source, today=today, report=report or _unheard)
    return TableProfile(
        table=described.id,
        rows=described.rows,
        columns=tuple(map(_column_profile, columns, passed.columns)),
        warnings=table_warnings([column.name for column in columns], passed),
    ).model_dump(mode="json")


def _unheard(share: float) -> None:
    """Nobody waits for progress."""


def _column_profile(column: Column, facts: Facts) -> ColumnProfile:
    said = read_header(column.name)
    return ColumnProfile(
        name=column.name,
        type=column.type,
        rows=facts.rows,
        missing=facts.missing,
        distinct=facts.distinct,
        exact=facts.exact,
        minimum=facts.minimum,
        maximum=facts.maximum,
        mean=facts.mean,
        std=facts.std,
        quantiles=facts.quantiles,
        top=_top(facts),
        examples=facts.examples,
        unit=None if said.unit == "%" and are_shares(facts) else said.unit,
        currency=said.currency,
        key=facts.key,
        warnings=column_warnings(facts, said.unit),
    )


def _top(facts: Facts) -> tuple[ValueCount, ...]:
    """None where every value is different: there is no most frequent one."""
    if facts.counts is None or facts.counts[0][1] == 1:
        return ()
    return tuple(ValueCount(value=text, count=n) for text, n in facts.counts[:MOST_FREQUENT])
