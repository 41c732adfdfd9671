"""LangGraph's checkpoints: a file for each run beside the record of runs, or in its database. Only
types that LangGraph holds to be safe are read back: a file cannot make code run."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from secondlook.errors import RunError
from secondlook.store.database import (
    BUSY_SECONDS,
    SET_UP_LOCK,
    connecting,
    explanation,
    is_busy,
    make_private,
    make_schema,
    require,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

    from psycopg import AsyncConnection

    from secondlook.settings.sections import RunSettings, StoreAddress

T = TypeVar("T")
_PARTS = ("", "-wal", "-shm", "-journal")  # what SQLite may leave of a database beside it
_RETRY_SECONDS = 0.05


def run_checkpoints(runs: RunSettings, run: str) -> AbstractAsyncContextManager[Any]:
    if runs.store:
        return postgres_checkpoints(runs.store)
    return sqlite_checkpoints(checkpoints_file(runs.path, run))


def forget_checkpoints(runs: RunSettings, *names: str) -> None:
    if runs.store:
        forget_in_postgres(runs.store, *names)
        return
    for run in names:
        file = checkpoints_file(runs.path, run)
        try:
            for part in _PARTS:
                file.with_name(file.name + part).unlink(missing_ok=True)
        except OSError as error:
            raise _unusable(file, error) from error


def checkpoints_file(runs: Path, run: str) -> Path:
    """`runs-checkpoints/RUN.db` beside `runs.db`."""
    return runs.with_name(f"{runs.stem}-checkpoints") / f"{run}.db"


@asynccontextmanager
async def sqlite_checkpoints(path: Path) -> AsyncIterator[Any]:
    import aiosqlite
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    # Opened here, not by aiosqlite: where that fails to open a file it leaves a thread behind.
    opened: sqlite3.Connection | None = None
    try:
        make_private(path)
        opened = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
        # A lost last step is done again on resume, and its model calls are in the journal.
        opened.execute("PRAGMA synchronous=NORMAL")
    except (OSError, sqlite3.Error) as error:
        if opened is not None:
            opened.close()
        raise _unusable(path, error) from error

    async def connect() -> aiosqlite.Connection:
        return await aiosqlite.Connection(lambda: opened, iter_chunk_size=64)

    # It leaves a thread too where it is cancelled, which then speaks to a loop that has ended.
    connecting = asyncio.ensure_future(connect())
    try:
        connection = await asyncio.shield(connecting)
    except asyncio.CancelledError:
        await (await connecting).close()
        raise
    # None = nothing beyond LangGraph's own list, whatever LANGGRAPH_STRICT_MSGPACK says.
    saver = _saver_class()(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    try:
        try:
            await saver.insisted(saver.setup)
        except sqlite3.Error as error:
            raise _unusable(path, error) from error
        yield saver
    finally:
        await asyncio.shield(saver.aclose())


@cache
def _saver_class() -> type[Any]:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    class SqliteCheckpoints(WholeWrites, AsyncSqliteSaver):
        """SQLite keeps a closed connection alive as long as anyone holds a cursor."""

        failures = (sqlite3.Error,)
        patience = BUSY_SECONDS

        async def may_pass(self, error: Exception) -> bool:
            # SQLite does not wait for others where this connection has read before they wrote, nor
            # where the last of them is just closing the file: then it must begin anew.
            busy = isinstance(error, sqlite3.OperationalError) and is_busy(error)
            if busy:
                await self.conn.rollback()
            return busy

        async def begin_step_again(self, run: str) -> None:
            statement = _FORGET_STEP.format(table="writes", run="?")
            async with self.conn.execute(statement, (run, run)):
                await self.conn.commit()

    return SqliteCheckpoints


def _unusable(path: Path, error: Exception) -> RunError:
    return RunError(
        f"the checkpoints {str(path)!r} cannot be used: {error}",
        hint="check that you may write there; a damaged file can be deleted, "
        "which costs only what interrupted runs could resume from",
    )


# LangGraph's checkpoints in PostgreSQL, beside the record of runs.

_TABLES = ("checkpoint_writes", "checkpoint_blobs", "checkpoints")
_RESTART_SECONDS = 5.0


@asynccontextmanager
async def postgres_checkpoints(address: StoreAddress) -> AsyncIterator[Any]:
    require()
    import psycopg
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    async def connect() -> AsyncConnection[Any]:
        return await psycopg.AsyncConnection.connect(**connecting(address))

    try:
        await asyncio.to_thread(_set_up, address)
        # None = nothing beyond LangGraph's own list, whatever LANGGRAPH_STRICT_MSGPACK says.
        serde = JsonPlusSerializer(allowed_msgpack_modules=None)
        saver: Any = _postgres_saver_class()(await connect(), serde=serde)
        saver.connect = connect
        try:
            yield saver
        finally:
            await asyncio.shield(saver.aclose())
    except psycopg.Error as error:
        raise explanation(error, f"the checkpoints {str(address)!r}") from error


def forget_in_postgres(address: StoreAddress, *runs: str) -> None:
    import psycopg

    require()
    try:
        with psycopg.connect(**connecting(address)) as connection:
            there = connection.execute("SELECT to_regclass('checkpoint_writes') AS found")
            if not (there.fetchone() or {}).get("found"):
                return
            for table in _TABLES:
                statement = f"DELETE FROM {table} WHERE thread_id = ANY(%s)"  # noqa: S608
                connection.execute(statement.encode(), (list(runs),))
    except psycopg.Error as error:
        raise explanation(error, f"the checkpoints {str(address)!r}") from error


def _set_up(address: StoreAddress) -> None:
    """One process makes the tables. It is asked for the lock again and again, not waited for: who
    waits holds a snapshot, and to make an index beside others means to wait for all snapshots."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.postgres.base import MIGRATIONS

    with psycopg.connect(**connecting(address)) as connection:

        def first(statement: str, *values: Any) -> Any:
            row = connection.execute(statement.encode(), values).fetchone()
            return row["it"] if row else None

        if first("SELECT to_regclass('checkpoint_migrations') AS it"):
            done = first("SELECT max(v) AS it FROM checkpoint_migrations")
            if done is not None and done >= len(MIGRATIONS) - 1:
                return
        deadline = time.monotonic() + BUSY_SECONDS
        while not first("SELECT pg_try_advisory_lock(%s) AS it", SET_UP_LOCK + 1):
            if time.monotonic() > deadline:
                raise RunError("the checkpoints are in use by another process", hint="try again")
            time.sleep(_RETRY_SECONDS)
        make_schema(connection)
        PostgresSaver(connection).setup()  # closing the connection frees the lock


@cache
def _postgres_saver_class() -> type[Any]:
    import psycopg
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    class PostgresCheckpoints(WholeWrites, AsyncPostgresSaver):
        connect: Callable[[], Coroutine[Any, Any, AsyncConnection[Any]]]
        failures = (psycopg.Error,)
        patience = _RESTART_SECONDS

        async def may_pass(self, error: Exception) -> bool:
            """A server may restart meanwhile."""
            async with self.lock:  # of several writes that failed one connects anew
                if self.conn.closed:
                    with suppress(psycopg.OperationalError):
                        self.conn = await self.connect()
            return isinstance(error, psycopg.OperationalError)

        async def begin_step_again(self, run: str) -> None:
            async with self._cursor() as cursor:
                statement = _FORGET_STEP.format(table="checkpoint_writes", run="%s")
                await cursor.execute(statement.encode(), (run, run))

    return PostgresCheckpoints


# What checkpointers of every engine have in common here.

_NAMESPACE = "checkpoint_ns"
_FORGET_STEP = (
    # A graph that is called by another keeps checkpoints under a namespace of its own.
    "DELETE FROM {table} WHERE thread_id = {run} AND checkpoint_id IN "
    "(SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = {run} GROUP BY checkpoint_ns)"
)


class WholeWrites:
    """Put before one of LangGraph's checkpointers, which lets writes stop half-way when a run is
    cancelled, and with them a lock. What cannot be written does not end the run: an answer matters
    more. From then on nothing is written; the run can be taken up from the last whole
    checkpoint."""

    failures: tuple[type[Exception], ...] = ()
    patience = 0.0  # seconds for which it is tried again
    conn: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.writing: set[asyncio.Task[Any]] = set()
        self.given_up = False

    async def may_pass(self, error: Exception) -> bool:
        """Whether to begin anew may help. What is written twice is written once."""
        raise NotImplementedError

    async def begin_step_again(self, run: str) -> None:
        """Forget what the step in which a run stopped had written: a cancelled node may leave
        values and not where they lead. The whole step is done again."""
        raise NotImplementedError

    async def aput(self, config: Any, checkpoint: Any, *others: Any) -> Any:
        put = super().aput  # type: ignore[misc]
        await self._tried(lambda: put(config, checkpoint, *others))
        place = {name: config["configurable"].get(name, "") for name in ("thread_id", _NAMESPACE)}
        return {"configurable": {**place, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(self, *arguments: Any, **options: Any) -> None:
        put = super().aput_writes  # type: ignore[misc]
        await self._tried(lambda: put(*arguments, **options))

    async def aget_tuple(self, *arguments: Any, **options: Any) -> Any:
        get = super().aget_tuple  # type: ignore[misc]
        return await self.insisted(lambda: get(*arguments, **options))

    async def aclose(self) -> None:
        while self.writing:
            await asyncio.wait(self.writing)
        await self.conn.close()

    async def insisted(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        deadline = time.monotonic() + self.patience
        while True:
            try:
                return await work()
            except self.failures as error:
                if time.monotonic() > deadline or not await self.may_pass(error):
                    raise
            await asyncio.sleep(_RETRY_SECONDS)

    async def _tried(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        if self.given_up:
            return
        task = asyncio.ensure_future(self.insisted(work))
        self.writing.add(task)
        task.add_done_callback(self.writing.discard)
        try:
            await asyncio.shield(task)
        except self.failures:
            self.given_up = True
