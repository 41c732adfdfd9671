"""Reading as the worker process does it: a file in, Parquet files and what is known of them out."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, LimitExceeded, NoText, TableError
from secondlook.tables.reading.converting import Converted, convert
from secondlook.tables.reading.delimited import delimited_part
from secondlook.tables.reading.json_files import json_part
from secondlook.tables.reading.kinds import kind_of, suffix_of, unpacked
from secondlook.tables.reading.parquet_files import first_line, parquet_part
from secondlook.tables.reading.rows import rows_part
from secondlook.tables.reading.sqlite_files import sqlite_parts
from secondlook.tables.reading.workbooks import workbook_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from secondlook.tables.reading.parts import Part

    Report = Callable[[float], None]

_BLOCK = 4 << 20
_MOST_PARTS = 1_000


def read(
    connection: Any, *, source: str, stage: str, most_bytes: int, report: Report | None = None
) -> dict[str, Any]:
    """The tables in a file. Their Parquet files lie in `stage`."""
    path, folder = Path(source), Path(stage)
    before = path.stat()
    digest = _sha256(path)
    progress = _forward(report) if report else _nobody
    progress(0.0)
    parts = _parts(connection, path, folder, most_bytes=most_bytes, report=progress)
    # Of several tables nobody knows how many are to come.
    heard = progress if isinstance(parts, list) else _nobody
    tables = list(_converted(connection, parts, folder, heard))
    after = path.stat()
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise TableError("the file changed while it was read", hint="try again when it is complete")
    if not any(table["rows"] for table in tables):
        raise NoText("it has a header and no rows" if tables else "it holds no table")
    return {"sha256": digest, "tables": [table for table in tables if table["rows"]]}


def read_rows(
    connection: Any, *, names: list[str], rows: list[list[str]], stage: str
) -> dict[str, Any]:
    """A table that is at hand as lists of texts."""
    folder = Path(stage)
    part = rows_part(rows, names, folder / "rows.csv")
    (table,) = _converted(connection, [part], folder, _nobody)
    return table


def _nobody(_: float) -> None:
    """Nobody listens."""


def _forward(report: Report) -> Report:
    """Never backwards, also where a file has to be read a second time."""
    reached = 0.0

    def further(share: float) -> None:
        nonlocal reached
        reached = max(reached, share)
        report(reached)

    return further


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _parts(
    connection: Any, path: Path, stage: Path, *, most_bytes: int, report: Report
) -> Iterable[Part]:
    suffix = suffix_of(path.name)
    inside = unpacked(path, stage, most_bytes=most_bytes)
    kind = kind_of(inside, suffix)
    if kind == "parquet":
        return [parquet_part(connection, inside)]
    if kind == "json":
        return [json_part(connection, inside)]
    if kind == "workbook":
        return workbook_parts(inside, stage)
    if kind == "sqlite":
        return sqlite_parts(inside, stage)
    return [delimited_part(inside, stage, suffix=suffix, report=report)]


def _converted(
    connection: Any, parts: Iterable[Part], stage: Path, report: Report
) -> Iterator[dict[str, Any]]:
    for number, part in enumerate(parts):
        if number >= _MOST_PARTS:
            raise LimitExceeded(f"it holds more than {_MOST_PARTS:,} tables")
        target = stage / f"{number}.parquet"
        done, used = _convert(connection, part, target, report)
        yield {
            "file": str(target),
            "sheet": part.sheet,
            "rows": done.rows,
            "columns": [
                {"name": column.name, "type": kind}
                for column, kind in zip(used.columns, done.types, strict=True)
            ],
            "warnings": [*used.notes, *done.notes],
        }


def _convert(connection: Any, part: Part, target: Path, report: Report) -> tuple[Converted, Part]:
    import duckdb

    try:
        return convert(connection, part.relation, part.columns, str(target), report=report), part
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        if part.otherwise is None:
            raise Damaged(f"its contents are damaged: {first_line(error)}") from error
    return _convert(connection, part.otherwise(), target, report)
