"""Files become tables: typed columns in Parquet files of ours, read within limits."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from secondlook.errors import (
    Damaged,
    ExtractionError,
    LimitExceeded,
    NoText,
    Unsupported,
    UsageError,
)
from secondlook.files import close_to_others, digest
from secondlook.tables.column_types import as_text, convert, identifier_of, named, typed_part
from secondlook.tables.table import Column, Table, unlike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.tables.worker import Worker

STAGE_PREFIX = ".reading-"
"""Folders of work in progress; one that outlives its process may be deleted."""
MOST_SECONDS = 3600.0  # No file may keep the worker busy for longer, unless the caller says so
_MOST_UNPACKED = 64 << 30


def read_tables(
    source: Path,
    into: Path,
    *,
    worker: Worker,
    name: str | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> list[Read]:
    """Every table in a file: one of a CSV file, one a sheet of a workbook. Their Parquet files lie
    in `into` under their ids; nothing else is left there. `name` stands in for the name of the
    file; `on_progress` is told which share of it is done. Raises ExtractionError for a file that
    cannot be read, TableError for one without a usable table."""
    if not source.is_file():
        gone = not source.exists()
        said = f"there is no file {str(source)!r}" if gone else f"{str(source)!r} is no file"
        raise ExtractionError(said)
    if not os.access(source, os.R_OK):
        raise ExtractionError(f"{str(source)!r} cannot be read: permission denied")
    with _stage(into) as stage:
        found = worker.call(
            "formats:read",
            seconds=MOST_SECONDS,
            on_progress=on_progress,
            source=source,
            stage=stage,
            most_bytes=_MOST_UNPACKED,
        )
        is_single = len(found["tables"]) == 1 and not found["tables"][0]["sheet"]
        taken: set[str] = set()
        read = []
        for one in found["tables"]:
            sheet = "" if is_single else one["sheet"]
            unique = unlike(identifier_of(name or stem_of(source.name), sheet), taken)
            taken.add(unique)
            title = source.name if is_single else f"{source.name}, {sheet}"
            read.append(_kept(one, into, found["sha256"], unique, title, source.absolute()))
        return read


def table_from_frame(name: str, frame: object, into: Path) -> Read:
    """A frame of pandas or polars, a pyarrow table, a list of dicts or a dict of lists. Its types
    are the user's own: nothing is read into its texts."""

    with _stage(into) as stage:
        found = write_frame(name, frame, stage / "frame.parquet")
        return _kept(found, into, found["sha256"], identifier_of(name), name, None)


@contextmanager
def _stage(into: Path) -> Iterator[Path]:
    """A folder beside the results, so that moving a file there is one step."""
    into.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=f"{STAGE_PREFIX}{os.getpid()}-", dir=into))
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _kept(  # noqa: PLR0917
    found: dict[str, Any], into: Path, sha256: str, name: str, title: str, path: Path | None
) -> Read:
    # The same for the same contents, wherever they lie; another one for another reader.
    contents = json.dumps([sha256, found["sheet"], READER_VERSION])
    identity = hashlib.sha256(contents.encode()).hexdigest()
    file = into / f"{identity}.parquet"
    written = Path(found["file"])
    close_to_others(written)
    # On disk before it has its name: a name that is there stands for a whole table.
    with written.open("rb+") as stream:
        os.fsync(stream.fileno())
    try:
        written.replace(file)
    except PermissionError:
        # Windows, while somebody reads it: the same id means the same contents.
        if not file.exists():
            raise
    table = Table(
        id=identity,
        name=name,
        title=title,
        path=None if path is None else str(path),
        sha256=sha256,
        rows=found["rows"],
        columns=tuple(Column(**column) for column in found["columns"]),
        warnings=tuple(found["warnings"]),
        checksum=digest(file),
    )
    return Read(table, file)


READER_VERSION = "2"
"""Goes up whenever the same bytes would give another table. It is part of a table's id."""


@dataclass(frozen=True, slots=True)
class Read:
    table: Table
    file: Path  # Its Parquet file: `<id>.parquet`


# What kind of file it is: by what it holds, then by what it is called.

Kind = Literal["delimited", "json", "parquet", "sqlite", "workbook"]

SUFFIXES: dict[str, Kind] = {
    ".csv": "delimited", ".tsv": "delimited", ".tab": "delimited", ".psv": "delimited",
    ".parquet": "parquet", ".pq": "parquet",
    ".xlsx": "workbook", ".xlsm": "workbook", ".xlsb": "workbook", ".xls": "workbook",
    ".ods": "workbook",
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".db3": "sqlite",
}  # fmt: skip
_GZIP = b"\x1f\x8b"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BLOCK = 1 << 20
_MOST_EXPANSION = 200
_ALWAYS_ALLOWED = 1 << 30


def suffix_of(name: str) -> str:
    """In lower case, without a `.gz` behind it."""
    lowered = name.lower().removesuffix(".gz")
    dot = lowered.rfind(".")
    return lowered[dot:] if dot > 0 else ""


def stem_of(name: str) -> str:
    """Without what tells its kind."""
    bare = name[: -len(".gz")] if name.lower().endswith(".gz") else name
    return bare.removesuffix(bare[len(bare) - len(suffix_of(bare)) :])


def kind_of(path: Path, suffix: str) -> Kind:
    with path.open("rb") as stream:
        head = stream.read(4096)
    if not head:
        raise NoText("the file is empty")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"SQLite format 3\x00"):
        return "sqlite"
    if head.startswith((b"PK\x03\x04", _OLE)):
        return "workbook"
    if head.startswith(b"%PDF"):
        raise Unsupported("it is a PDF, not a table")
    named = SUFFIXES.get(suffix)
    if named in {"parquet", "sqlite", "workbook"}:
        raise Damaged(f"its name ends in {suffix!r}, but its contents are something else")
    if named is None and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return "json"
    return named or "delimited"


def unpacked(path: Path, stage: Path, *, most_bytes: int) -> Path:
    """The file itself, or what a gzip file holds."""
    with path.open("rb") as stream:
        if not stream.read(2).startswith(_GZIP):
            return path
    allowed = min(most_bytes, max(_ALWAYS_ALLOWED, path.stat().st_size * _MOST_EXPANSION))
    target = stage / "unpacked"
    try:
        with gzip.open(path, "rb") as source, target.open("wb") as sink:
            written = 0
            while block := source.read(_BLOCK):
                written += len(block)
                if written > allowed:
                    raise LimitExceeded(
                        f"it expands to more than {allowed:,} bytes",
                        hint="a small file that grows this much is usually a decompression bomb",
                    )
                sink.write(block)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Damaged(f"its gzip data are damaged or cut off: {error}") from error
    return target


# Frames handed over in Python. They are the user's own objects, so no other process is needed.

_TAKEN = "a DataFrame of pandas or polars, a pyarrow table, a list of dicts or a dict of lists"


def write_frame(name: str, frame: object, target: Path) -> dict[str, Any]:
    """As Parquet with our types; gives back what the worker gives back for a file."""
    import duckdb

    table = _as_arrow(name, frame)
    if not table.num_columns or not table.num_rows:
        missing = "rows" if table.num_columns else "columns"
        raise UsageError(f"table {name!r} is empty: it has no {missing}")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("frame", table.rename_columns(named(table.column_names)))
        part = typed_part(connection, "frame", "frame", otherwise="text")
        if not part.columns:
            raise UsageError(f"table {name!r} is empty: it has no columns")
        done = convert(connection, "frame", part.columns, str(target), report=lambda _: None)
    return {
        "file": str(target),
        "sheet": "",
        "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
        "rows": done.rows,
        "columns": [
            {"name": column.name, "type": kind}
            for column, kind in zip(part.columns, done.types, strict=True)
        ],
        "warnings": part.notes,
    }


def _as_arrow(name: str, frame: object) -> Any:
    import pyarrow as pa

    library = type(frame).__module__.partition(".")[0]
    try:
        if isinstance(frame, pa.Table):
            return frame
        if library == "pandas" and hasattr(frame, "columns"):
            return _from_pandas(frame)
        if library == "polars" and hasattr(frame, "to_arrow"):
            return frame.to_arrow()
        if isinstance(frame, list) and all(isinstance(row, dict) for row in frame):
            keys = dict.fromkeys(key for record in frame for key in record)
            frame = {key: [row.get(key) for row in frame] for key in keys}
        if isinstance(frame, dict):
            return pa.table({str(key): _array(list(cells)) for key, cells in frame.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError) as error:
        raise UsageError(f"table {name!r} cannot be taken over: {error}") from error
    raise UsageError(f"table {name!r} is a {type(frame).__name__!r}", hint=f"give {_TAKEN}")


def _from_pandas(frame: Any) -> Any:
    """An index that says something becomes columns; a plain count of rows does not."""
    import pyarrow as pa

    is_counted = type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
    whole = frame if is_counted else frame.reset_index()
    # A name of several levels in one.
    flat = [
        " ".join(str(one) for one in name if str(one)) if isinstance(name, tuple) else str(name)
        for name in whole.columns
    ]
    arrays = [_array(whole.iloc[:, at]) for at in range(len(flat))]
    return pa.table(arrays, names=named(flat)) if arrays else pa.table({})


def _array(cells: Any) -> Any:
    """Cells of several types become texts."""
    import pyarrow as pa

    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        # Only NaN differs from itself.
        texts = [None if cell is None or cell != cell else as_text(cell) for cell in cells]  # noqa: PLR0124
        return pa.array(texts)
