"""Tables for tests of profiles: made in memory, profiled by the real tasks."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from secondlook.tables.profile import profile
from secondlook.tables.table import Column, ColumnType, Table, TableProfile
from secondlook.tables.worker import Worker
from secondlook.tables.worker_process import find
from tests.support.tables import database


@dataclass(frozen=True, slots=True)
class Made:
    table: Table
    file: Path

    def profile(self) -> TableProfile:
        with database().cursor() as connection:
            found = profile(connection, file=str(self.file), table=self.table.model_dump())
        return TableProfile.model_validate(found)


class Here(Worker):
    """Tasks run in this process, where a coverage measurement sees them."""

    def call(
        self,
        task: str,
        /,
        *,
        seconds: float | None,  # nothing stops it here
        on_progress: Callable[[float], None] | None = None,
        **arguments: Any,
    ) -> Any:
        told = json.loads(json.dumps(arguments, default=str))
        if on_progress is not None:
            told["report"] = on_progress
        with database().cursor() as connection:
            return json.loads(json.dumps(find(task)(connection, **told)))


def make_table(
    folder: Path, columns: Mapping[str, Sequence[Any]] | pa.Table, *, name: str = "made"
) -> Made:
    """A Parquet file and the record of it, as reading a file would give them."""
    frame = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    file = folder / f"{name}.parquet"
    pq.write_table(frame, file)
    described = [Column(name=field.name, type=column_type(field.type)) for field in frame.schema]
    table = Table(
        id=f"id-of-{name}",
        name=name,
        title=f"{name}.csv",
        sha256="0" * 64,
        rows=frame.num_rows,
        columns=tuple(described),
    )
    return Made(table, file)


def column_type(type_: pa.DataType) -> ColumnType:
    kinds: list[tuple[Any, ColumnType]] = [
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_floating, "number"),
        (pa.types.is_decimal, "number"),
        (pa.types.is_null, "number"),
        (pa.types.is_string, "text"),
        (pa.types.is_date, "date"),
        (pa.types.is_timestamp, "datetime"),
        (pa.types.is_time, "time"),
    ]
    return next((kind for fits, kind in kinds if fits(type_)), "other")
