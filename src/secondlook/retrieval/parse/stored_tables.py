"""Tables that are stored as such: Parquet files and SQLite databases, as text.

Only tables are looked at: views, virtual tables and triggers of a database could make reading it
run what its author wrote.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, NoText
from secondlook.retrieval.parse.compose import Composer
from secondlook.retrieval.parse.rows import write_named
from secondlook.retrieval.parse.sheets import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_BATCH_ROWS = 200
_READ_VERSIONS = slice(18, 20)
"""Bytes of SQLite's header; 2 asks for a write-ahead log, which a copy in memory has none of."""
_LONGEST_CELL = 5_000
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
    for batch in file.iter_batches(batch_size=_BATCH_ROWS):
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
                _write_table(database, name, composer)
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


def _write_table(database: sqlite3.Connection, name: str, composer: Composer) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    (total,) = database.execute(f"SELECT count(*) FROM {quoted}").fetchone()  # noqa: S608 - quoted
    found = database.execute(f"SELECT * FROM {quoted}")  # noqa: S608 - quoted
    columns = [str(column[0]) for column in found.description]
    rows = ([_cell(value) for value in row] for row in found)
    write_named(columns, rows, composer, total=total)


def _cell(value: object) -> str:
    if isinstance(value, bytes):
        return f"{len(value):,} bytes" if value else ""
    return shown(value)[:_LONGEST_CELL]
