"""SQLite files: every table of theirs, read by Python's own engine, which writes nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from secondlook.errors import Damaged, NoText
from secondlook.tables.reading.forms import identifier
from secondlook.tables.reading.headers import named
from secondlook.tables.reading.rows import rows_part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.tables.reading.parts import Part

_TABLES = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' "
    "AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY rowid"
)
_TEXTS = ("CHAR", "CLOB", "TEXT")


def sqlite_parts(path: Path, stage: Path) -> Iterator[Part]:
    try:
        with closing(_opened(path)) as database:
            names = [name for (name,) in database.execute(_TABLES)]
            if not names:
                raise NoText("it is a database without tables")
            for number, name in enumerate(names):
                yield _table_part(database, name, stage / f"table-{number}.csv", path)
    except sqlite3.Error as error:
        raise Damaged(f"it is no readable SQLite file: {error}") from error


def _opened(path: Path) -> sqlite3.Connection:
    """Immutable: no lock is taken and no journal is written beside it."""
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    return database


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
        dates_only={n for n, at in enumerate(kept) if any(t in declared[at] for t in _TEXTS)},
        missing=("",),
    )
