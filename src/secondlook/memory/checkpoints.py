"""LangGraph's checkpoints: a file for each run, in a folder beside the record of runs, or in the
database that holds that record.

Runs with files of their own never wait for each other, and a run is forgotten by deleting its file:
in one file for all, a run that ends and one that writes lock each other out of it.
State holds references and plain data, never passages, so a checkpoint stays small. Only types that
LangGraph holds to be safe are read back: whoever can write the file cannot have code run.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from secondlook.errors import RunError
from secondlook.memory.database import BUSY_SECONDS
from secondlook.memory.sqlite import is_busy, make_private
from secondlook.memory.whole_writes import WholeWrites

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    import aiosqlite

    from secondlook.memory.place import Place

T = TypeVar("T")
_PARTS = ("", "-wal", "-shm", "-journal")
"""What SQLite may leave of a database beside it."""
_RETRY_SECONDS = 0.05


def run_checkpoints(place: Place, run: str) -> AbstractAsyncContextManager[Any]:
    """A checkpointer for a run, with the methods of `WholeWrites`."""
    if place.store is None:
        return checkpoints(checkpoints_file(place.path, run))
    from secondlook.memory import checkpoints_postgres

    return checkpoints_postgres.checkpoints(place.store)


def forget_checkpoints(place: Place, *runs: str) -> None:
    """Delete the checkpoints of runs that are finished or removed."""
    if place.store is None:
        forget(place.path, *runs)
        return
    from secondlook.memory import checkpoints_postgres

    checkpoints_postgres.forget(place.store, *runs)


def checkpoints_file(runs: Path, run: str) -> Path:
    """`runs-checkpoints/RUN.db` beside `runs.db`."""
    return runs.with_name(f"{runs.stem}-checkpoints") / f"{run}.db"


@asynccontextmanager
async def checkpoints(path: Path) -> AsyncIterator[Any]:
    """A checkpointer on that file, which is made where there is none."""
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    # None = nothing beyond LangGraph's own list, whatever LANGGRAPH_STRICT_MSGPACK says.
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    connection = await _connected(_opened(path))
    saver = _saver_class()(connection, serde=strict)
    try:
        try:
            await saver.insisted(saver.setup)
        except sqlite3.Error as error:
            raise _unusable(path, error) from error
        yield saver
    finally:
        await asyncio.shield(saver.aclose())


async def _connected(opened: sqlite3.Connection) -> aiosqlite.Connection:
    """Opened before, not by aiosqlite: where that fails to open a file it leaves a thread behind.

    It does so too where it is cancelled, and that thread then speaks to a loop which has ended."""
    import aiosqlite

    async def connect() -> aiosqlite.Connection:
        return await aiosqlite.Connection(lambda: opened, iter_chunk_size=64)

    connecting = asyncio.ensure_future(connect())
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        await (await connecting).close()
        raise


def _opened(path: Path) -> sqlite3.Connection:
    try:
        make_private(path)
        opened = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise _unusable(path, error) from error
    try:
        # A lost last step is done again on resume, and its model calls are in the journal.
        opened.execute("PRAGMA synchronous=NORMAL")
    except sqlite3.Error as error:
        opened.close()
        raise _unusable(path, error) from error
    return opened


async def begin_step_again(saver: WholeWrites, run: str) -> None:
    """Forget what the step in which a run stopped had written.

    A node that is cancelled may leave its values and not where they lead, and the graph would then
    take the run for finished. The whole step is done again; replies of models are in the journal.
    """
    await saver.begin_step_again(run)


@cache
def _saver_class() -> type[Any]:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    class SqliteCheckpoints(WholeWrites, AsyncSqliteSaver):
        """SQLite keeps a closed connection, its transaction and its lock alive for as long as
        anyone holds a cursor."""

        failures = (sqlite3.Error,)

        async def insisted(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
            return await _insisted(work, self.conn.rollback)

        async def begin_step_again(self, run: str) -> None:
            # A graph that is called by another keeps checkpoints under a namespace of its own.
            statement = (
                "DELETE FROM writes WHERE thread_id = ? AND checkpoint_id IN "
                "(SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? "
                "GROUP BY checkpoint_ns)"
            )
            async with self.conn.execute(statement, (run, run)):
                await self.conn.commit()

        async def aclose(self) -> None:
            await self.written()
            await self.conn.close()

    return SqliteCheckpoints


async def _insisted(
    work: Callable[[], Coroutine[Any, Any, T]], undo: Callable[[], Coroutine[Any, Any, None]]
) -> T:
    """SQLite does not wait for others where this connection has read before they wrote, nor where
    the last of them is just closing the file: then it must begin anew. What is written twice is
    written once."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return await work()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
        await undo()
        await asyncio.sleep(_RETRY_SECONDS)


def forget(runs: Path, *forgotten: str) -> None:
    """Delete the checkpoints of runs that are finished or removed."""
    for run in forgotten:
        file = checkpoints_file(runs, run)
        try:
            for part in _PARTS:
                file.with_name(file.name + part).unlink(missing_ok=True)
        except OSError as error:
            raise _unusable(file, error) from error


def _unusable(path: Path, error: Exception) -> RunError:
    return RunError(
        f"the checkpoints {str(path)!r} cannot be used: {error}",
        hint="check that you may write there; a damaged file can be deleted, "
        "which costs only what interrupted runs could resume from",
    )
