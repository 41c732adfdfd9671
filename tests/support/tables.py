"""Tables read within the test's own process: quick, and seen by coverage."""

import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet

from secondlook.tables import formats as task


@dataclass(frozen=True)
class Seen:
    """A table as it was read."""

    sheet: str
    types: dict[str, str]
    rows: list[tuple[Any, ...]]
    warnings: list[str]

    @property
    def names(self) -> list[str]:
        return list(self.types)

    def column(self, name: str) -> list[Any]:
        at = self.names.index(name)
        return [row[at] for row in self.rows]


def seen(found: dict[str, Any]) -> Seen:
    frame = pyarrow.parquet.read_table(found["file"])
    types = {one["name"]: one["type"] for one in found["columns"]}
    assert frame.column_names == list(types)
    assert frame.num_rows == found["rows"]
    rows = list(zip(*(column.to_pylist() for column in frame.columns), strict=True))
    return Seen(found["sheet"], types, rows, found["warnings"])


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all: opening takes longer than most tables."""
    return duckdb.connect(config={"threads": 2})


def read_all(path: Path, *, most_bytes: int = 1 << 30) -> list[Seen]:
    with tempfile.TemporaryDirectory() as stage:
        found = task.read(database(), source=str(path), stage=stage, most_bytes=most_bytes)
        return [seen(table) for table in found["tables"]]


def read_one(path: Path) -> Seen:
    (only,) = read_all(path)
    return only


def read_text(folder: Path, text: str | bytes, name: str = "table.csv") -> Seen:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_one(path)
