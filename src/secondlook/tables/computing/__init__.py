"""Queries computed by DuckDB in the limited worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.tables.query import Computed

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.tables.query import Query
    from secondlook.tables.table import Table
    from secondlook.tables.worker import Worker

__all__ = ["compute"]

TASK = "computing.running:compute_task"
MOST_SECONDS = 60.0


def compute(
    worker: Worker, query: Query, table: Table, file: Path, *, seconds: float | None = MOST_SECONDS
) -> Computed:
    """What a query over the table in the Parquet file `file` comes to."""
    said = worker.call(
        TASK,
        seconds=seconds,
        query=query.model_dump(mode="json"),
        table=table.model_dump(mode="json"),
        file=file,
    )
    return Computed.model_validate(said)
