"""The engine of several machines: PostgreSQL, in a schema of its own.

One connection for each store, which is opened anew when it was lost: a server that restarts costs
what was being written at that moment, and nothing that comes after.
"""

from __future__ import annotations

import contextlib
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from secondlook.errors import RunError, RunMissing
from secondlook.memory.database import BUSY_SECONDS, Kind, Safety
from secondlook.memory.postgres_errors import explanation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import psycopg

    from secondlook.settings import StoreAddress

T = TypeVar("T")
SCHEMA = "secondlook"
SET_UP_LOCK = 0x534C524E
"""Of all who begin with one database, one makes the tables."""
_CONNECT_SECONDS = 5
_RESTART_SECONDS = 5.0
"""A server that was there is waited for so long: restarting takes a second or two."""
_RETRY_SECONDS = 0.1
_DIALECT = {
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
_BEGIN = {
    "FULL": "BEGIN",
    "NORMAL": "BEGIN; SET LOCAL synchronous_commit TO off",
}


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
        try:
            with self._explained():
                self._connection = self._connected()
                self._find(self._connection, create=create)
        except BaseException:
            self.close()
            raise

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
        with self._lock, self._explained():
            connection = self._insisted(lambda held: _begun(held, safety))
            try:
                yield _Translated(connection)
                connection.execute("COMMIT")
            except BaseException:
                _rolled_back(connection)
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
        self._connection = self._waited_for()
        return work(self._connection)

    def _held(self) -> psycopg.Connection[Any]:
        if self._closed:
            raise RunError(f"{self.kind.what} {self.place!r} is closed", hint=self.kind.open_again)
        if self._connection is None:
            self._connection = self._connected()
        return self._connection

    def _waited_for(self) -> psycopg.Connection[Any]:
        import psycopg

        deadline = time.monotonic() + _RESTART_SECONDS
        while True:
            try:
                return self._connected()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_RETRY_SECONDS)

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

    def _find(self, connection: psycopg.Connection[Any], *, create: bool) -> None:
        version = _version(connection, self.kind)
        if version is None and not create:
            said = f"{self.kind.nothing_yet} at {self.place!r}"
            raise RunMissing(said, hint=self.kind.begin)
        if version is None:
            version = self._set_up(connection)
        if version > self.kind.version:
            raise RunError(
                f"{self.kind.what} {self.place!r} was made by a newer version of Secondlook "
                f"(its format is {version}, this one knows {self.kind.version})",
                hint="update Secondlook, or name another database (runs.store)",
            )

    def _set_up(self, connection: psycopg.Connection[Any]) -> int:
        # Waited for before the transaction: within one, what was made meanwhile is not seen.
        connection.execute("SELECT pg_advisory_lock(%s)", (SET_UP_LOCK,))
        try:
            with connection.transaction():
                found = _version(connection, self.kind)
                return self._made(connection) if found is None else found
        finally:
            connection.execute("SELECT pg_advisory_unlock(%s)", (SET_UP_LOCK,))

    def _made(self, connection: psycopg.Connection[Any]) -> int:
        make_schema(connection)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS formats (what TEXT PRIMARY KEY, version INTEGER)"
        )
        for statement in self.kind.statements(_DIALECT):
            connection.execute(statement.encode())
        row = (self.kind.name, self.kind.version)
        connection.execute("INSERT INTO formats VALUES (%s, %s)", row)
        return self.kind.version

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise explanation(error, f"{self.kind.what} {self.place!r}") from error


class _Translated:
    """Statements in the words of the port."""

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
        raise RunError(
            f"runs.store {str(address)!r} cannot be read",
            hint="write postgresql://USER@HOST/DATABASE",
        ) from None
    # Statements that a server prepares are lost on the way through a pooler.
    return {
        "conninfo": told,
        "autocommit": True,
        "row_factory": dict_row,
        "prepare_threshold": None,
    }


def require() -> None:
    """Say what to install where it is missing."""
    try:
        import psycopg  # noqa: F401
        import psycopg_pool  # noqa: F401
        from langgraph.checkpoint import postgres  # noqa: F401
    except ImportError as error:
        raise RunError(
            f"runs cannot be recorded in PostgreSQL: {error}",
            hint="pip install 'secondlook[postgres]'",
        ) from error


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


def _begun(connection: psycopg.Connection[Any], safety: Safety) -> psycopg.Connection[Any]:
    connection.execute(_BEGIN[safety])
    return connection


def _rolled_back(connection: psycopg.Connection[Any]) -> None:
    import psycopg

    with contextlib.suppress(psycopg.Error):  # a lost connection is rolled back by the server
        connection.execute("ROLLBACK")
