"""Spreadsheets and tables in text files. A sheet is a page; `rows` says how its rows read."""

from __future__ import annotations

import csv
import io
import sqlite3
from contextlib import closing, suppress
from datetime import date, datetime, time
from itertools import chain
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, Encrypted, LimitExceeded, NoText
from secondlook.retrieval.parse.compose import Composer
from secondlook.retrieval.parse.office import describe_office
from secondlook.retrieval.parse.source import Source, package
from secondlook.retrieval.parse.text import beginning, lines_in, start, write_named, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.document import Extracted

_MOST_CELLS = 20_000_000


def parse_sheets(source: Source) -> Extracted:
    import python_calamine as calamine

    composer = Composer(source.budget)
    if source.head.startswith(b"PK"):
        with package(source) as parts:  # refuses bombs before the table reader sees them
            describe_office(parts, composer)
    try:
        with source.open() as stream, closing(calamine.load_workbook(stream)) as workbook:
            import python_calamine

            cells = 0
            source.budget.spend_pages(len(workbook.sheet_names))
            for number, name in enumerate(workbook.sheet_names, 1):
                sheet = workbook.get_sheet_by_name(name)
                cells += (sheet.total_height or 0) * (sheet.total_width or 0)
                if cells > _MOST_CELLS:
                    raise LimitExceeded(f"it has more than {_MOST_CELLS:,} cells")
                composer.start_page(number)
                with suppress(python_calamine.CalamineError):  # a sheet of charts only
                    rows = ([shown(cell) for cell in row] for row in sheet.iter_rows())
                    filled = (row for row in rows if any(row))
                    if first := next(filled, None):
                        composer.heading(1, name)
                        write_rows(chain([first], filled), composer)
            composer.end_page()
    except calamine.PasswordError as error:
        hint = "save a copy without password"
        raise Encrypted("it is protected by a password", hint=hint) from error
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise Damaged(f"it is not a readable spreadsheet: {error}") from error
    return composer.finish("sheet")


def shown(cell: object) -> str:
    if cell is None or cell == "":
        return ""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)  # noqa: PLR2004
    if isinstance(cell, datetime):
        is_day = cell.time() == time.min
        return cell.date().isoformat() if is_day else cell.isoformat(" ", "seconds")
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell)


def parse_csv(source: Source) -> Extracted:
    # Of a large one its beginning and the number of its lines: the text of all rows would help
    # no search.
    text, composer = beginning(source) if source.is_large else start(source)
    total = f"about {lines_in(source):,}" if source.is_large else ""
    text = text.replace("\x00", "")
    delimiter = "\t" if source.suffix in {".tsv", ".tab"} else ","
    if delimiter == ",":
        with suppress(csv.Error):
            delimiter = csv.Sniffer().sniff(text[:8192], ",;\t|").delimiter
    csv.field_size_limit(source.budget.limits.text_chars)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        write_rows(reader, composer, total=total)
    except csv.Error as error:
        raise Damaged(f"line {reader.line_num} is no valid CSV: {error}") from error
    return composer.finish("csv")


# Tables that are stored as such: Parquet files and SQLite databases, as text.

_READ_VERSIONS = slice(18, 20)  # in SQLite's header; 2 asks for a write-ahead log
_TABLES = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' "
    "AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY rowid"
)


def parse_parquet(source: Source) -> Extracted:
    import pyarrow as pa
    import pyarrow.parquet as pq

    composer = Composer(source.budget)
    try:
        with source.open() as stream, pq.ParquetFile(stream) as file:
            names = [str(name) for name in file.schema_arrow.names]
            rows = _parquet_rows(file, source)
            write_named(names, rows, composer, total=file.metadata.num_rows)
    except (pa.ArrowException, OSError) as error:
        raise Damaged(f"it is not a readable Parquet file: {error}") from error
    return composer.finish("parquet")


def _parquet_rows(file: Any, source: Source) -> Iterator[list[str]]:
    for batch in file.iter_batches(batch_size=200):
        source.budget.beat()
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield [_cell(value) for value in row]


def parse_sqlite(source: Source) -> Extracted:
    composer = Composer(source.budget)
    try:
        with closing(_opened(source)) as database:
            names = [str(name) for (name,) in database.execute(_TABLES)]
            if not names:
                raise NoText("the database holds no table")
            for name in names:
                source.budget.beat()
                composer.heading(1, name)
                quoted = '"' + name.replace('"', '""') + '"'
                (total,) = database.execute(f"SELECT count(*) FROM {quoted}").fetchone()  # noqa: S608 - quoted
                found = database.execute(f"SELECT * FROM {quoted}")  # noqa: S608 - quoted
                columns = [str(column[0]) for column in found.description]
                rows = ([_cell(value) for value in row] for row in found)
                write_named(columns, rows, composer, total=total)
    except sqlite3.Error as error:
        raise Damaged(f"it is not a readable SQLite database: {error}") from error
    return composer.finish("sqlite")


def _opened(source: Source) -> sqlite3.Connection:
    if source.path is not None:
        return sqlite3.connect(f"{source.path.as_uri()}?mode=ro&immutable=1", uri=True)
    data = bytearray(source.read())
    data[_READ_VERSIONS] = b"\x01\x01"
    database = sqlite3.connect(":memory:")
    try:
        database.deserialize(bytes(data))
        database.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        database.close()
        raise
    return database


def _cell(value: object) -> str:
    if isinstance(value, bytes):
        return f"{len(value):,} bytes" if value else ""
    return shown(value)[:5_000]
