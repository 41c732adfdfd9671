"""A database for the record of runs and the answer memory. Statements are in the words that SQLite
and PostgreSQL share; `rowid` is the order in which rows came."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from secondlook.errors import RunError, RunMissing, RunStoreAway

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import psycopg

    from secondlook.settings.sections import RunSettings, StoreAddress

Safety = Literal["FULL", "NORMAL"]
"""A commit survives the death of the process; FULL = and that of the machine, by an fsync."""

BUSY_SECONDS = 10.0  # longer than any transaction here takes; who still waits then is told so
ALL = 1 << 62  # as a LIMIT: SQLite says -1, PostgreSQL NULL, neither the other's word
PARTS = ("events", "journal", "passages")  # tables whose rows belong to a run and go with it
# SQLite allows 999 or more variables in a statement, by build; stay below it.
_VARIABLES = 500
_RUNS_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    $rowid id $ordered PRIMARY KEY, question TEXT NOT NULL, workflow TEXT NOT NULL,
    created $ordered NOT NULL, request TEXT NOT NULL, process TEXT NOT NULL,
    heard DOUBLE PRECISION NOT NULL, status TEXT, stop_reason TEXT, answer TEXT,
    answered_at DOUBLE PRECISION
);
CREATE INDEX IF NOT EXISTS runs_by_time ON runs (created);
CREATE TABLE IF NOT EXISTS events (
    number $number_key, run TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, event TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_by_run ON events (run);
CREATE TABLE IF NOT EXISTS journal (
    $rowid run TEXT NOT NULL, key TEXT NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (run, key)
);
CREATE TABLE IF NOT EXISTS passages (
    run TEXT NOT NULL, id TEXT NOT NULL, passage TEXT NOT NULL, PRIMARY KEY (run, id)
);
"""


@dataclass(frozen=True, slots=True)
class Kind:
    name: Literal["runs", "answers"]
    what: str
    application_id: int
    schema: str
    nothing_yet: str
    begin: str
    version: int = 1

    def statements(self, dialect: Mapping[str, str]) -> list[str]:
        """What makes its tables, with the words of an engine for `$ordered` text, a `$number_key`,
        `$bytes`, and `$rowid` where an engine has no such column by itself."""
        return [one for one in Template(self.schema).substitute(dialect).split(";") if one.strip()]


RUNS = Kind(
    name="runs",
    what="the record of runs",
    application_id=0x534C524E,
    schema=_RUNS_SCHEMA,
    nothing_yet="no run has been recorded",
    begin='ask something: secondlook ask "..."',
)
Row = Mapping[str, Any]


class Result(Protocol):
    @property
    def rowcount(self) -> int: ...

    def fetchall(self) -> list[Row]: ...


class Statements(Protocol):
    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Result: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> object: ...


class Database(Protocol):
    """Threads may share one. Every method may raise `RunError`."""

    kind: Kind

    @property
    def place(self) -> str:
        """How a person is told where it is."""

    def transaction(self, safety: Safety) -> AbstractContextManager[Statements]:
        """All of it or nothing; who writes meanwhile waits."""

    def select(self, statement: str, *values: Any) -> list[Row]: ...

    def now(self) -> float:
        """Seconds since the epoch, by a clock that all who share the database go by."""

    def close(self) -> None: ...


def newer(kind: Kind, place: str, version: int) -> RunError:
    return RunError(
        f"{kind.what} {place!r} was made by a newer version of Secondlook (its format is "
        f"{version}, this one knows {kind.version})",
        hint="update Secondlook, or name another place (runs.path, runs.store)",
    )


def select_in(
    database: Database, statement: str, wanted: Sequence[str], *values: Any
) -> Iterator[Row]:
    """`statement` ends in `IN`; `wanted` may be of any length."""
    for start in range(0, len(wanted), _VARIABLES):
        part = wanted[start : start + _VARIABLES]
        marks = ", ".join("?" for _ in part)
        yield from database.select(f"{statement} ({marks})", *values, *part)


def drop_runs(database: Database, runs: Iterable[str]) -> None:
    rows = [(run,) for run in runs]
    with database.transaction("NORMAL") as db:
        db.executemany("DELETE FROM runs WHERE id = ?", rows)
        for table in PARTS:
            db.executemany(f"DELETE FROM {table} WHERE run = ?", rows)  # noqa: S608


def storable(text: str) -> str:
    """Databases take valid Unicode alone, PostgreSQL without NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def open_database(runs: RunSettings, kind: Kind, *, create: bool = True) -> Database:
    """Where runs are recorded: files of this machine, or a PostgreSQL that several share."""
    if runs.store:
        return PostgresDatabase(runs.store, kind=kind, create=create)
    file = runs.path if kind.name == "runs" else memory_file(runs.path)
    return SqliteDatabase(file, kind=kind, create=create)


def memory_file(runs: Path) -> Path:
    return runs.with_name(f"{runs.stem}-memory.db")


# The engine of one machine: SQLite files, opening one, transactions, and what errors mean.

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
        address = IN_MEMORY
        if file is not None:
            if create:
                try:
                    make_private(file)
                except OSError as error:
                    said = f"{kind.what} {str(file)!r} cannot be written: {error.strerror or error}"
                    raise RunError(said, hint=_MAKE_ROOM) from error
            elif not file.exists():
                raise RunMissing(f"{kind.nothing_yet} at {str(file)!r}", hint=kind.begin)
            address = str(file.absolute())
            if not create and not os.access(file.parent, os.W_OK):
                # Nothing may be written: it can still be read, though WAL needs a little help.
                log = file.with_name(f"{file.name}-wal")
                how = "mode=ro" if log.exists() else "immutable=1"
                address = f"{file.absolute().as_uri()}?{how}"
        with self._explained():
            self._db = _connected(address, self.file, kind)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextlib.contextmanager
    def transaction(self, safety: Safety) -> Iterator[Any]:
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

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _explanation(error, self.file, self.kind) from error


def _connected(address: str, file: Path, kind: Kind) -> sqlite3.Connection:
    db = sqlite3.connect(
        address,
        uri=address.startswith("file:"),
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    with contextlib.ExitStack() as undone:
        undone.callback(db.close)
        db.row_factory = sqlite3.Row
        # What a person removes is gone from the file, not only from its index.
        db.execute("PRAGMA secure_delete=ON")
        db.execute("BEGIN")  # all of it at one moment: another process may be setting it up
        application, version = (
            int(db.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("application_id", "user_version")
        )
        holds_tables = db.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
        db.execute("COMMIT")
        if application == kind.application_id and version > kind.version:
            raise newer(kind, str(file), version)
        if application != kind.application_id:
            if application or version or holds_tables:
                said = f"{str(file)!r} is the database of another program"
                raise RunError(said, hint=f"name another file for {kind.what} (runs.path)")
            _set_up(db, kind)
        undone.pop_all()
    return db


def _set_up(db: sqlite3.Connection, kind: Kind) -> None:
    deadline = time.monotonic() + BUSY_SECONDS
    while True:  # SQLite does not wait here when another process begins the same file
        try:
            db.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)
    db.execute("BEGIN IMMEDIATE")
    for statement in kind.statements(_DIALECT):
        db.execute(statement)
    db.execute(f"PRAGMA application_id={kind.application_id}")
    db.execute(f"PRAGMA user_version={kind.version}")
    db.execute("COMMIT")


def make_private(file: Path) -> None:
    """Make the file and its folder where they are missing: what it will hold is nobody else's."""
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))


def _explanation(error: sqlite3.Error, file: Path, kind: Kind) -> RunError:
    said = f"{kind.what} {str(file)!r}"
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return RunError(f"{said} is closed", hint="open it again")
    code = _code(error)
    if code in _BUSY:
        return RunError(f"{said} is in use by another process", hint="try again")
    if code in _CANNOT_WRITE or code == sqlite3.SQLITE_CANTOPEN:
        return RunError(f"{said} cannot be written: {error}", hint=_MAKE_ROOM)
    return RunError(f"{said} is damaged: {error}", hint="move the file away: a new one is begun")


def is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in _BUSY


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of it is detail


# The engine of several machines: PostgreSQL, in a schema of its own.

T = TypeVar("T")
SCHEMA = "secondlook"
SET_UP_LOCK = 0x534C524E  # of all who begin with one database, one makes the tables
_CONNECT_SECONDS = 5
_RESTART_SECONDS = 5.0  # a server that was there is waited for so long
_POSTGRES_RETRY_SECONDS = 0.1
_POSTGRES_DIALECT = {
    "ordered": 'TEXT COLLATE "C"',
    "number_key": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "bytes": "BYTEA",
    "rowid": "rowid BIGINT GENERATED ALWAYS AS IDENTITY,",
}
_OPTIONS = " ".join(
    f"-c {option}"
    for option in (
        f"search_path={SCHEMA}",
        f"lock_timeout={int(BUSY_SECONDS * 1000)}",
        # Who stops in the middle must not lock all others out.
        "idle_in_transaction_session_timeout=60000",
        "client_min_messages=warning",
    )
)
_BEGIN = {"FULL": "BEGIN", "NORMAL": "BEGIN; SET LOCAL synchronous_commit TO off"}


class PostgresDatabase:
    """One connection, shared by the threads of a process."""

    def __init__(self, address: StoreAddress, *, kind: Kind, create: bool = True) -> None:
        require()
        self.kind = kind
        self._address = address
        self._lock = threading.RLock()
        self._closed = False
        self._ahead = 0.0
        self._connection: psycopg.Connection[Any] | None = None
        with contextlib.ExitStack() as undone, self._explained():
            undone.callback(self.close)
            self._connection = self._connected()
            version = _version(self._connection, kind)
            if version is None and not create:
                raise RunMissing(f"{kind.nothing_yet} at {self.place!r}", hint=kind.begin)
            if version is None:
                version = self._set_up(self._connection)
            if version > kind.version:
                raise newer(kind, self.place, version)
            undone.pop_all()

    @property
    def place(self) -> str:
        return str(self._address)

    def now(self) -> float:
        """By the server's clock: machines seldom agree on the time."""
        return time.time() + self._ahead

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._let_go()

    @contextlib.contextmanager
    def transaction(self, safety: Safety) -> Iterator[_Translated]:
        import psycopg

        with self._lock, self._explained():
            self._insisted(lambda held: held.execute(_BEGIN[safety]))
            connection = self._held()
            try:
                yield _Translated(connection)
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(psycopg.Error):  # else the server rolls it back
                    connection.execute("ROLLBACK")
                raise

    def select(self, statement: str, *values: Any) -> list[Any]:
        with self._lock, self._explained():
            return self._insisted(
                lambda held: _Translated(held).execute(statement, values)
            ).fetchall()

    def _insisted(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """What can be done twice without harm, on a new connection where the old one is gone."""
        import psycopg

        held = self._held()
        try:
            return work(held)
        except psycopg.OperationalError:
            if not held.closed:
                raise
        self._let_go()
        deadline = time.monotonic() + _RESTART_SECONDS
        while True:
            try:
                self._connection = self._connected()
                break
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_POSTGRES_RETRY_SECONDS)
        return work(self._connection)

    def _held(self) -> psycopg.Connection[Any]:
        if self._closed:
            raise RunError(f"{self.kind.what} {self.place!r} is closed", hint="open it again")
        if self._connection is None:
            self._connection = self._connected()
        return self._connection

    def _let_go(self) -> None:
        held, self._connection = self._connection, None
        if held is not None:
            held.close()

    def _connected(self) -> psycopg.Connection[Any]:
        import psycopg

        connection = psycopg.connect(**connecting(self._address))
        try:
            row = connection.execute(
                "SELECT extract(epoch FROM clock_timestamp())::double precision AS now"
            ).fetchone()
        except BaseException:
            connection.close()
            raise
        self._ahead = float(row["now"]) - time.time() if row else 0.0
        return connection

    def _set_up(self, connection: psycopg.Connection[Any]) -> int:
        # Waited for before the transaction: within one, what was made meanwhile is not seen.
        connection.execute("SELECT pg_advisory_lock(%s)", (SET_UP_LOCK,))
        try:
            with connection.transaction():
                found = _version(connection, self.kind)
                if found is not None:
                    return found
                make_schema(connection)
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS formats (what TEXT PRIMARY KEY, version INTEGER)"
                )
                for statement in self.kind.statements(_POSTGRES_DIALECT):
                    connection.execute(statement.encode())
                row = (self.kind.name, self.kind.version)
                connection.execute("INSERT INTO formats VALUES (%s, %s)", row)
                return self.kind.version
        finally:
            connection.execute("SELECT pg_advisory_unlock(%s)", (SET_UP_LOCK,))

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise explanation(error, f"{self.kind.what} {self.place!r}") from error


class _Translated:
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        return self._connection.execute(_translated(statement), values)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_translated(statement), rows)


@cache
def _translated(statement: str) -> bytes:
    return statement.replace("%", "%%").replace("?", "%s").encode()


def connecting(address: StoreAddress) -> dict[str, Any]:
    """What a connection to it is opened with, for code that is async and code that is not."""
    from psycopg.conninfo import make_conninfo
    from psycopg.errors import ProgrammingError
    from psycopg.rows import dict_row

    try:
        told = make_conninfo(
            address.get_secret_value(),
            options=_OPTIONS,
            connect_timeout=_CONNECT_SECONDS,
            application_name="secondlook",
        )
    except ProgrammingError:  # its words may quote a password
        said = f"runs.store {str(address)!r} cannot be read"
        raise RunError(said, hint="write postgresql://USER@HOST/DATABASE") from None
    # Statements that a server prepares are lost on the way through a pooler.
    return {
        "conninfo": told,
        "autocommit": True,
        "row_factory": dict_row,
        "prepare_threshold": None,
    }


def require() -> None:
    try:
        import psycopg  # noqa: F401
        from langgraph.checkpoint import postgres  # noqa: F401
    except ImportError as error:
        hint = "pip install langgraph-checkpoint-postgres 'psycopg[binary]' psycopg-pool"
        raise RunError(f"runs cannot be recorded in PostgreSQL: {error}", hint=hint) from error


def make_schema(connection: psycopg.Connection[Any]) -> None:
    """Asked for first: to make what is there already needs a right as well."""
    there = connection.execute("SELECT to_regnamespace(%s) AS found", (SCHEMA,)).fetchone()
    if there is None or there["found"] is None:
        connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())


def _version(connection: psycopg.Connection[Any], kind: Kind) -> int | None:
    there = connection.execute("SELECT to_regclass('formats') AS found").fetchone()
    if there is None or there["found"] is None:
        return None
    row = connection.execute("SELECT version FROM formats WHERE what = %s", (kind.name,)).fetchone()
    return None if row is None else int(row["version"])


# What an error of PostgreSQL means, in words without a password.

_LOCKED = {"55P03", "40P01", "40001"}
_CANNOT_WRITE_THERE = {"53100", "53200", "42501", "25006"}
_GOING = ("57P", "08", "53300")


def explanation(error: psycopg.Error, said: str) -> RunError:
    state = error.sqlstate or ""
    words = str(error).strip().partition("\n")[0] or type(error).__name__  # the rest are guesses
    if state in _LOCKED:
        return RunError(f"{said} is in use by another process", hint="try again")
    if state in _CANNOT_WRITE_THERE:
        hint = "its disk needs room, and its user CREATE on the database or a schema secondlook"
        return RunError(f"{said} cannot be written: {words}", hint=hint)
    if state and not state.startswith(_GOING):
        return RunError(f"{said} is damaged: {words}", hint="name another database (runs.store)")
    if "FATAL:" in words or "no password supplied" in words:  # it answers, and lets nobody in
        hint = (
            "check user and database in runs.store; a password belongs in PGPASSWORD or ~/.pgpass"
        )
        return RunError(f"{said} cannot be entered: {words}", hint=hint)
    hint = "check that the server runs and that runs.store names it; then try again"
    return RunStoreAway(f"{said} cannot be reached: {words}", hint=hint)
