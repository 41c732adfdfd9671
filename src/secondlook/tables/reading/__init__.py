"""Files become tables: typed columns in Parquet files of ours, read within limits."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.errors import ExtractionError, TableError
from secondlook.tables.reading.headers import identifier_of, named
from secondlook.tables.reading.kinds import TABLE_SUFFIXES, stem_of
from secondlook.tables.reading.port import READER_VERSION, Read
from secondlook.tables.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.tables.worker import Worker

__all__ = [
    "MOST_SECONDS",
    "READER_VERSION",
    "STAGE_PREFIX",
    "TABLE_SUFFIXES",
    "Read",
    "read_tables",
    "table_from_frame",
    "table_from_rows",
    "table_id",
]

STAGE_PREFIX = ".reading-"
"""Folders of work in progress; one that outlives its process may be deleted."""
MOST_SECONDS = 3600.0
"""No file may keep the worker busy for longer, unless the caller says so."""
_MOST_UNPACKED = 64 << 30


def read_tables(
    source: Path,
    into: Path,
    *,
    worker: Worker,
    name: str | None = None,
    on_progress: Callable[[float], None] | None = None,
    seconds: float | None = MOST_SECONDS,
) -> list[Read]:
    """Every table in a file: one of a CSV file, one a sheet of a workbook.

    Their Parquet files lie in `into` under their ids; nothing else is left there. `name` stands in
    for the name of the file; `on_progress` is told which share of it is done. Raises
    ExtractionError for a file that cannot be read, TableError for one without a usable table.
    """
    _require_file(source)
    with _stage(into) as stage:
        found = worker.call(
            "reading.task:read",
            seconds=seconds,
            on_progress=on_progress,
            source=source,
            stage=stage,
            most_bytes=_MOST_UNPACKED,
        )
        names = _Names(name or stem_of(source.name))
        is_single = len(found["tables"]) == 1 and not found["tables"][0]["sheet"]
        return [
            _kept(
                one,
                into,
                sha256=found["sha256"],
                name=names.next("" if is_single else one["sheet"]),
                title=source.name if is_single else f"{source.name}, {one['sheet']}",
                path=str(source.absolute()),
            )
            for one in found["tables"]
        ]


def table_from_rows(
    name: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    into: Path,
    worker: Worker,
    *,
    title: str | None = None,
) -> Read:
    """A table at hand as texts, understood by the same rules as a file."""
    if not header or not rows:
        raise TableError(f"table {name!r} has no {'rows' if header else 'columns'}")
    plain = [[str(cell) for cell in row] for row in rows]
    written = json.dumps([list(header), plain], ensure_ascii=False)
    digest = hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()
    with _stage(into) as stage:
        found = worker.call(
            "reading.task:read_rows",
            seconds=MOST_SECONDS,
            names=named(header),
            rows=plain,
            stage=stage,
        )
        return _kept(
            found, into, sha256=digest, name=identifier_of(name), title=title or name, path=None
        )


def table_from_frame(name: str, frame: object, into: Path, *, title: str | None = None) -> Read:
    """A frame of pandas or polars, a pyarrow table, a list of dicts or a dict of lists. Its types
    are the user's own: nothing is read into its texts."""
    from secondlook.tables.reading.frames import write_frame

    with _stage(into) as stage:
        found = write_frame(name, frame, stage / "frame.parquet")
        return _kept(
            found,
            into,
            sha256=found["sha256"],
            name=identifier_of(name),
            title=title or name,
            path=None,
        )


def table_id(sha256: str, sheet: str) -> str:
    """The same for the same contents, wherever they lie; another one for another reader."""
    written = json.dumps([sha256, sheet, READER_VERSION])
    return hashlib.sha256(written.encode()).hexdigest()


class _Names:
    """Identifiers for the tables of one file, no two alike."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._taken: set[str] = set()

    def next(self, sheet: str) -> str:
        name = unique = identifier_of(self._stem, sheet)
        number = 1
        while unique in self._taken:
            number += 1
            unique = f"{name}_{number}"
        self._taken.add(unique)
        return unique


def _require_file(source: Path) -> None:
    if not source.exists():
        raise ExtractionError(f"there is no file {str(source)!r}")
    if not source.is_file():
        raise ExtractionError(f"{str(source)!r} is no file")
    if not os.access(source, os.R_OK):
        raise ExtractionError(f"{str(source)!r} cannot be read: permission denied")


@contextmanager
def _stage(into: Path) -> Iterator[Path]:
    """A folder beside the results, so that moving a file there is one step."""
    into.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=f"{STAGE_PREFIX}{os.getpid()}-", dir=into))
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _kept(
    found: dict[str, Any], into: Path, *, sha256: str, name: str, title: str, path: str | None
) -> Read:
    identity = table_id(sha256, found["sheet"])
    file = into / f"{identity}.parquet"
    _settle(Path(found["file"]), file)
    table = Table(
        id=identity,
        name=name,
        title=title,
        path=path,
        sha256=sha256,
        rows=found["rows"],
        columns=tuple(Column(**column) for column in found["columns"]),
        warnings=tuple(found["warnings"]),
    )
    return Read(table, file)


def _settle(written: Path, target: Path) -> None:
    """On disk before it has its name: a name that is there stands for a whole table."""
    with written.open("rb+") as stream:
        os.fsync(stream.fileno())
    try:
        written.replace(target)
    except PermissionError:
        # Windows, while somebody reads it: the same id means the same contents.
        if not target.exists():
            raise
