"""Reading as the worker process does it: a file in, Parquet files and what is known of them out."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, Encrypted, LimitExceeded, NoText, TableError
from secondlook.retrieval.parse.source import BROKEN_ZIP
from secondlook.tables.cells import identifier, quoted
from secondlook.tables.column_types import (
    Part,
    as_text,
    convert,
    first_line,
    is_header,
    named,
    notes_of,
    numbered,
    rows_part,
    typed_part,
)
from secondlook.tables.csv_files import delimited_part
from secondlook.tables.read import kind_of, suffix_of, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Report = Callable[[float], None]
    Row = list[Any]
    Range = tuple[tuple[int, int], tuple[int, int]]

_MOST_PARTS = 1_000


def read(
    connection: Any, *, source: str, stage: str, most_bytes: int, report: Report | None = None
) -> dict[str, Any]:
    """The tables in a file. Their Parquet files lie in `stage`."""
    path, folder = Path(source), Path(stage)
    before = path.stat()
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    reached = 0.0

    def progress(share: float) -> None:
        """Never backwards, also where a file has to be read a second time."""
        nonlocal reached
        reached = max(reached, share)
        if report is not None:
            report(reached)

    progress(0.0)
    suffix = suffix_of(path.name)
    inside = unpacked(path, folder, most_bytes=most_bytes)
    kind = kind_of(inside, suffix)
    parts: Iterable[Part]
    if kind == "parquet":
        relation = f"read_parquet({quoted(str(inside))})"
        parts = [typed_part(connection, relation, "Parquet file", otherwise="text")]
    elif kind == "json":
        parts = [json_part(connection, inside)]
    elif kind in {"workbook", "sqlite"}:
        parts = (workbook_parts if kind == "workbook" else sqlite_parts)(inside, folder)
    else:
        parts = [delimited_part(inside, folder, suffix=suffix, report=progress)]
    # Of several tables nobody knows how many are to come.
    heard = progress if isinstance(parts, list) else (lambda _: None)
    tables = list(_converted(connection, parts, folder, heard))
    after = path.stat()
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise TableError("the file changed while it was read", hint="try again when it is complete")
    if not any(table["rows"] for table in tables):
        raise NoText("it has a header and no rows" if tables else "it holds no table")
    return {"sha256": digest, "tables": [table for table in tables if table["rows"]]}


def _converted(
    connection: Any, parts: Iterable[Part], stage: Path, report: Report
) -> Iterator[dict[str, Any]]:
    import duckdb

    for number, part in enumerate(parts):
        if number >= _MOST_PARTS:
            raise LimitExceeded(f"it holds more than {_MOST_PARTS:,} tables")
        target = stage / f"{number}.parquet"
        used = part
        while True:
            try:
                done = convert(connection, used.relation, used.columns, str(target), report=report)
                break
            except duckdb.OutOfMemoryException:
                raise
            except duckdb.Error as error:
                if used.otherwise is None:
                    raise Damaged(f"its contents are damaged: {first_line(error)}") from error
                used = used.otherwise()
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


# Spreadsheets: every sheet that holds a table becomes one.

_MOST_CELLS = 20_000_000
_MOST_EXPANDED = 4 << 30
_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_LOOKED_AT = 100
_LOCKED = "it is protected by a password"


def workbook_parts(path: Path, stage: Path) -> Iterator[Part]:
    """A part for each sheet with cells, in the order of the workbook."""
    import python_calamine

    _require_sane(path)
    try:
        workbook = python_calamine.load_workbook(str(path))
    except python_calamine.PasswordError as error:
        raise Encrypted(_LOCKED, hint="save a copy without password") from error
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise Damaged(f"it is not a readable spreadsheet: {error}") from error
    try:
        found = 0
        for number, name in enumerate(workbook.sheet_names):
            part = _sheet_part(workbook, name, stage / f"sheet-{number}.csv")
            if part is not None:
                found += 1
                yield part
        if not found:
            raise NoText("none of its sheets holds a cell")
    finally:
        workbook.close()


def _require_sane(path: Path) -> None:
    """Refuses bombs and locked files before the reader of sheets sees them."""
    with path.open("rb") as stream:
        start = stream.read(1 << 20)
    if start.startswith(_OLE):
        if _ENCRYPTED_STREAM in start:
            raise Encrypted(_LOCKED, hint="save a copy without password")
        return
    try:
        with zipfile.ZipFile(path) as archive:
            expanded = sum(info.file_size for info in archive.infolist())
    except BROKEN_ZIP as error:
        raise Damaged(f"its zip container cannot be opened: {error}") from error
    if expanded > _MOST_EXPANDED:
        raise LimitExceeded(
            f"it expands to {expanded:,} bytes",
            hint="a small file that grows this much is usually a decompression bomb",
        )


def _sheet_part(workbook: Any, name: str, target: Path) -> Part | None:
    rows, merged = _cells(workbook, name)
    first = next((at for at, row in enumerate(rows) if _filled(row)), None)
    if first is None:
        return None
    top = _below_titles(rows, first, merged)
    header, begin, notes = _header(rows, top, merged)
    if top > first:
        notes.insert(0, "rows above the header were left out")
    names = named(header) if header else numbered(len(rows[top]))
    if header:
        notes += notes_of(header, names)
    # Columns with a name or a cell; an empty margin is none.
    empty = {None, ""}
    keep = [
        at
        for at in range(len(rows[begin]) if begin < len(rows) else len(header))
        if (at < len(header) and header[at].strip())
        or any(row[at] not in empty for row in rows[begin:])
    ]
    body = ([row[at] for at in keep] for row in rows[begin:] if _filled(row))
    return rows_part(body, [names[at] for at in keep], target, sheet=name, notes=notes)


def _cells(workbook: Any, name: str) -> tuple[list[Row], list[Range]]:
    import python_calamine

    try:
        sheet = workbook.get_sheet_by_name(name)
        if (sheet.total_height or 0) * (sheet.total_width or 0) > _MOST_CELLS:
            raise LimitExceeded(f"sheet {name!r} has more than {_MOST_CELLS:,} cells")
        rows = sheet.to_python(skip_empty_area=False)
        return rows, list(getattr(sheet, "merged_cell_ranges", None) or ())
    except python_calamine.WorksheetNotFound:  # a sheet of charts only
        return [], []
    except python_calamine.CalamineError as error:
        raise Damaged(f"sheet {name!r} cannot be read: {error}") from error


def _filled(row: Row) -> int:
    return sum(cell is not None and cell != "" for cell in row)


def _below_titles(rows: list[Row], first: int, merged: list[Range]) -> int:
    """Lines of text above a table fill one cell; a header fills nearly as many as its rows, or
    stands over some of its columns."""
    widest = max(_filled(row) for row in rows[first : first + _LOOKED_AT])
    for at in range(first, min(len(rows), first + 20)):
        if _filled(rows[at]) > max(1, widest // 3) or _is_spread(at, merged, narrower_than=widest):
            return at
    return first


def _is_spread(row: int, merged: list[Range], *, narrower_than: int = 1 << 30) -> bool:
    """Whether a cell of that row covers several columns, though not all: that would be a title."""
    widths = (right - left + 1 for (_, left), (bottom, right) in merged if bottom == row)
    return any(1 < width < narrower_than for width in widths)


def _header(rows: list[Row], first: int, merged: list[Range]) -> tuple[list[str], int, list[str]]:
    """The names, where the body begins, and what was assumed."""
    top = [as_text(cell) for cell in rows[first]]
    spans = [span for span in merged if span[0][0] <= first <= span[1][0]]
    if _is_spread(first, spans) and first + 1 < len(rows):
        spread = list(top)
        for (_, left), (_, right) in spans:  # a merged cell stands over every column it covers
            for at in range(left, min(right + 1, len(spread))):
                spread[at] = top[left]
        below = [as_text(cell) for cell in rows[first + 1]]
        both = [
            f"{upper} {lower}".strip() if upper != lower else upper
            for upper, lower in zip(spread, below, strict=True)
        ]
        return both, first + 2, ["two rows of headers were joined"]
    body = [[as_text(cell) for cell in row] for row in rows[first + 1 : first + 1 + _LOOKED_AT]]
    if is_header(top, body):
        return top, first + 1, []
    return [], first, ["no header was found: columns are numbered"]


# JSON lines, and a JSON array of objects. Nested objects become columns with dotted names.

_LARGEST_OBJECT = 16 << 20
_NOT_A_TABLE = "it is JSON, but no list of objects"
_HINT = "a table in JSON is one object per line, or an array of objects"


def json_part(connection: Any, path: Path) -> Part:
    """Types are taken from all rows where the first ones mislead."""
    with path.open("rb") as stream:
        head = stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head.startswith((b"[", b"{")):
        raise TableError(_NOT_A_TABLE, hint=_HINT)
    layout = "array" if head.startswith(b"[") else "newline_delimited"

    def read(sampled: int) -> Part:
        relation = (
            f"read_json({quoted(str(path))}, format = {quoted(layout)}, sample_size = {sampled}, "
            f"maximum_object_size = {_LARGEST_OBJECT}, map_inference_threshold = -1, "
            "convert_strings_to_integers = false, dateformat = 'none', timestampformat = 'none')"
        )
        part = typed_part(connection, relation, "JSON", hint=_HINT)
        if [column.name for column in part.columns] == ["json"]:
            raise TableError(_NOT_A_TABLE, hint=_HINT)
        return part

    first = read(20_480)
    return Part(first.relation, first.columns, notes=first.notes, otherwise=lambda: read(-1))


# SQLite files: every table of theirs, read by Python's own engine, which writes nothing.

_TABLES = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' "
    "AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY rowid"
)


def sqlite_parts(path: Path, stage: Path) -> Iterator[Part]:
    try:
        # Immutable: no lock is taken and no journal is written beside it.
        opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        with closing(opened) as database:
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA query_only = ON")
            names = [name for (name,) in database.execute(_TABLES)]
            if not names:
                raise NoText("it is a database without tables")
            for number, name in enumerate(names):
                yield _table_part(database, name, stage / f"table-{number}.csv", path)
    except sqlite3.Error as error:
        raise Damaged(f"it is no readable SQLite file: {error}") from error


def _table_part(database: sqlite3.Connection, name: str, target: Path, path: Path) -> Part:
    columns = database.execute(f"PRAGMA table_info({identifier(name)})").fetchall()
    declared = [str(column[2]).upper() for column in columns]
    binary = [at for at, kind in enumerate(declared) if "BLOB" in kind]
    kept = [at for at in range(len(columns)) if at not in binary]
    notes = [f"{columns[at][1]!r}: binary data were left out" for at in binary]
    if path.with_name(f"{path.name}-wal").exists():
        notes.append("what its -wal file holds was not read: close the program that writes to it")
    asked = ", ".join(identifier(columns[at][1]) for at in kept)
    rows = database.execute(f"SELECT {asked or 'NULL'} FROM {identifier(name)}")  # noqa: S608
    return rows_part(
        rows,
        named([columns[at][1] for at in kept]),
        target,
        sheet=name,
        notes=notes,
        dates_only={n for n, at in enumerate(kept) if re.search("CHAR|CLOB|TEXT", declared[at])},
        missing=("",),
    )
