"""LangGraph's checkpoints in PostgreSQL, beside the record of runs.

All runs of an event loop share a few connections, which are there while a run is.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from secondlook.errors import RunError
from secondlook.memory.database import BUSY_SECONDS
from secondlook.memory.postgres import SET_UP_LOCK, connecting, make_schema, require
from secondlook.memory.postgres_errors import explanation
from secondlook.memory.whole_writes import WholeWrites

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from psycopg import AsyncConnection
    from psycopg_pool import AsyncConnectionPool

    from secondlook.settings import StoreAddress

T = TypeVar("T")
MOST_CONNECTIONS = 8
"""Of one event loop, for any number of runs: each is used for a few milliseconds at a time."""
_TABLES = ("checkpoint_writes", "checkpoint_blobs", "checkpoints")
_RESTART_SECONDS = 5.0
_RETRY_SECONDS = 0.05


@dataclass(slots=True)
class _Shared:
    pool: AsyncConnectionPool[AsyncConnection[Any]]
    ready: asyncio.Task[None]
    runs: int = 0


_POOLS: dict[tuple[asyncio.AbstractEventLoop, str], _Shared] = {}


@asynccontextmanager
async def checkpoints(address: StoreAddress) -> AsyncIterator[Any]:
    """A checkpointer in that database, whose tables are made where there are none."""
    import psycopg
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    try:
        async with _pool(address) as pool:
            # None = nothing beyond LangGraph's own list, whatever LANGGRAPH_STRICT_MSGPACK says.
            saver = _saver_class()(pool, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
            try:
                yield saver
            finally:
                await asyncio.shield(saver.written())
    except psycopg.Error as error:
        raise explanation(error, f"the checkpoints {str(address)!r}") from error


def forget(address: StoreAddress, *runs: str) -> None:
    """Delete the checkpoints of runs that are finished or removed."""
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


@asynccontextmanager
async def _pool(address: StoreAddress) -> AsyncIterator[AsyncConnectionPool[AsyncConnection[Any]]]:
    key = (asyncio.get_running_loop(), address.get_secret_value())
    shared = _POOLS.get(key)
    if shared is None:
        shared = _POOLS[key] = _opened(address)
    shared.runs += 1
    try:
        await asyncio.shield(shared.ready)
        yield shared.pool
    finally:
        shared.runs -= 1
        if not shared.runs:
            _POOLS.pop(key, None)
            await asyncio.shield(_closed(shared))


def _opened(address: StoreAddress) -> _Shared:
    require()
    from psycopg_pool import AsyncConnectionPool

    told = connecting(address)
    pool = AsyncConnectionPool(
        told.pop("conninfo"),
        kwargs=told,
        min_size=1,
        max_size=MOST_CONNECTIONS,
        timeout=BUSY_SECONDS,
        open=False,
        check=AsyncConnectionPool.check_connection,
        name="secondlook-checkpoints",
    )
    return _Shared(pool, asyncio.ensure_future(_ready(address, pool)))


async def _ready(address: StoreAddress, pool: AsyncConnectionPool[AsyncConnection[Any]]) -> None:
    # Tried by ourselves first: the pool would try for long and then not say what is wrong.
    await asyncio.to_thread(_set_up, address)
    await pool.open(wait=True, timeout=BUSY_SECONDS)


async def _closed(shared: _Shared) -> None:
    await asyncio.wait([shared.ready])
    await shared.pool.close()


def _set_up(address: StoreAddress) -> None:
    """One process makes the tables. It is asked for the lock again and again, not waited for: who
    waits holds a snapshot, and to make an index beside others means to wait for all snapshots."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver

    with psycopg.connect(**connecting(address)) as connection:
        if _is_set_up(connection):
            return
        deadline = time.monotonic() + BUSY_SECONDS
        while not _first(connection, "SELECT pg_try_advisory_lock(%s) AS it", SET_UP_LOCK + 1):
            if time.monotonic() > deadline:
                raise RunError("the checkpoints are in use by another process", hint="try again")
            time.sleep(_RETRY_SECONDS)
        make_schema(connection)
        PostgresSaver(connection).setup()  # closing the connection frees the lock


def _is_set_up(connection: Any) -> bool:
    from langgraph.checkpoint.postgres.base import MIGRATIONS

    if not _first(connection, "SELECT to_regclass('checkpoint_migrations') AS it"):
        return False
    done = _first(connection, "SELECT max(v) AS it FROM checkpoint_migrations")
    return done is not None and done >= len(MIGRATIONS) - 1


def _first(connection: Any, statement: str, *values: Any) -> Any:
    return connection.execute(statement, values).fetchone()["it"]


@cache
def _saver_class() -> type[Any]:
    import psycopg
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    class PostgresCheckpoints(WholeWrites, AsyncPostgresSaver):
        failures = (psycopg.Error,)

        async def insisted(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
            """What is written twice is written once, so a server may restart meanwhile."""
            deadline = time.monotonic() + _RESTART_SECONDS
            while True:
                try:
                    return await work()
                except psycopg.OperationalError:
                    if time.monotonic() > deadline:
                        raise
                await asyncio.sleep(_RETRY_SECONDS)

        async def begin_step_again(self, run: str) -> None:
            async with self._cursor() as cursor:
                await cursor.execute(
                    "DELETE FROM checkpoint_writes WHERE thread_id = %s AND checkpoint_id IN "
                    "(SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = %s "
                    "GROUP BY checkpoint_ns)",
                    (run, run),
                )

    return PostgresCheckpoints
