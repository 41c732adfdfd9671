"""The engine of one machine: SQLite files, opening one, transactions, and what errors mean.

WAL mode: any number of readers beside one writer, in any process.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.errors import RunError, RunMissing
from secondlook.memory.database import BUSY_SECONDS, RUNS, Kind, Safety

if TYPE_CHECKING:
    from collections.abc import Iterator

IN_MEMORY = ":memory:"
_DIALECT = {
    "ordered": "TEXT",
    "number_key": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "bytes": "BLOB",
    "rowid": "",
}
_CANNOT_WRITE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_MAKE_ROOM = (
    "check that the disk has room and that you may write there, or name another file (runs.path)"
)
_RETRY_SECONDS = 0.01


class SqliteDatabase:
    """One connection, shared by the threads of a process."""

    def __init__(self, file: Path | None, *, create: bool = True, kind: Kind = RUNS) -> None:
        """No file: what is stored ends with this object."""
        self.file = file or Path(IN_MEMORY)
        self.kind = kind
        self._lock = threading.RLock()
        if file is None:
            address = IN_MEMORY
        else:
            self._find(file, create=create)
            address = _address(file, create=create)
        with self._explained():
            self._db = self._connected(address)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextlib.contextmanager
    def transaction(self, safety: Safety) -> Iterator[Any]:
        """Of `Statements`, which a connection is."""
        with self._lock, self._explained():
            self._db.execute(f"PRAGMA synchronous={safety}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SQLite itself rolls back when the disk is full
                    self._db.execute("ROLLBACK")
                raise

    def select(self, statement: str, *values: Any) -> list[Any]:
        with self._lock, self._explained():
            return self._db.execute(statement, values).fetchall()

    @property
    def place(self) -> str:
        return str(self.file)

    def now(self) -> float:
        return time.time()

    def _find(self, file: Path, *, create: bool) -> None:
        if create:
            self._make(file)
        elif not file.exists():
            raise RunMissing(f"{self.kind.nothing_yet} at {str(file)!r}", hint=self.kind.begin)

    def _make(self, file: Path) -> None:
        try:
            make_private(file)
        except OSError as error:
            raise RunError(
                f"{self.kind.what} {str(file)!r} cannot be written: {error.strerror or error}",
                hint=_MAKE_ROOM,
            ) from error

    def _connected(self, address: str) -> sqlite3.Connection:
        db = sqlite3.connect(
            address,
            uri=address.startswith("file:"),
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            db.row_factory = sqlite3.Row
            # What a person removes is gone from the file, not only from its index.
            db.execute("PRAGMA secure_delete=ON")
            if not self._is_ours(db):
                _set_up(db, self.kind)
        except BaseException:
            db.close()
            raise
        return db

    def _is_ours(self, db: sqlite3.Connection) -> bool:
        """False for a file that is still empty."""
        db.execute("BEGIN")  # all of it at one moment: another process may be setting it up
        application, version = _pragma(db, "application_id"), _pragma(db, "user_version")
        holds_tables = db.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
        db.execute("COMMIT")
        if application == self.kind.application_id and version > self.kind.version:
            raise RunError(
                f"{self.kind.what} {str(self.file)!r} was made by a newer version of Secondlook "
                f"(its format is {version}, this one knows {self.kind.version})",
                hint="update Secondlook, or move the file away: a new one is begun",
            )
        if application == self.kind.application_id:
            return True
        if application or version or holds_tables:
            raise RunError(
                f"{str(self.file)!r} is the database of another program",
                hint=f"name another file for {self.kind.what} (runs.path)",
            )
        return False

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _explanation(error, self.file, self.kind) from error


def _address(file: Path, *, create: bool) -> str:
    """Where nothing may be written the record can still be read, though WAL needs a little help."""
    if create or os.access(file.parent, os.W_OK):
        return str(file.absolute())
    log = file.with_name(f"{file.name}-wal")
    return f"{file.absolute().as_uri()}?{'mode=ro' if log.exists() else 'immutable=1'}"


def _set_up(db: sqlite3.Connection, kind: Kind) -> None:
    _use_wal(db)
    db.execute("BEGIN IMMEDIATE")
    for statement in kind.statements(_DIALECT):
        db.execute(statement)
    db.execute(f"PRAGMA application_id={kind.application_id}")
    db.execute(f"PRAGMA user_version={kind.version}")
    db.execute("COMMIT")


def _use_wal(db: sqlite3.Connection) -> None:
    """SQLite does not wait here when another process begins the same file: wait ourselves."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def make_private(file: Path) -> None:
    """Make the file and its folder where they are missing: what it will hold is nobody else's."""
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))


def _explanation(error: sqlite3.Error, file: Path, kind: Kind) -> RunError:
    said = f"{kind.what} {str(file)!r}"
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return RunError(f"{said} is closed", hint=kind.open_again)
    code = _code(error)
    if code in _BUSY:
        return RunError(f"{said} is in use by another process", hint="try again")
    if code in _CANNOT_WRITE or code == sqlite3.SQLITE_CANTOPEN:
        return RunError(f"{said} cannot be written: {error}", hint=_MAKE_ROOM)
    return RunError(f"{said} is damaged: {error}", hint="move the file away: a new one is begun")


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds what this one needs: to try again may help."""
    return _code(error) in _BUSY


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of it is detail


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])
