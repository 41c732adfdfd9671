"""The process that works on tables: DuckDB within limits, one task after the other. A task's
database can open the files that it was given and nothing else."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import threading
import time
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from secondlook.errors import SecondlookError
from secondlook.processes import confine, own_pipes, receive, send
from secondlook.tables.cells import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

_TASKS = """compute:compute_task examine:look_closer joins:overlaps profile:profile formats:read
worker_process:select"""
"""What the process may be asked to run: a module under `secondlook.tables` and its function."""


def find(task: str) -> Callable[..., Any]:
    if task not in _TASKS.split():
        raise LookupError(f"{task!r} is no task of the worker for tables")
    module, function = task.split(":")
    found: Callable[..., Any] = getattr(import_module(f"secondlook.tables.{module}"), function)
    return found


def select(connection: Any, *, sql: str, parameters: list[Any] | None = None) -> dict[str, Any]:
    """One statement as it stands, for tests and for looking around: names and rows as text."""
    result = connection.execute(sql, parameters or [])
    names = [column[0] for column in result.description or ()]
    rows = [[None if cell is None else str(cell) for cell in row] for row in result.fetchall()]
    return {"columns": names, "rows": rows}


_PROGRESS_SECONDS = 0.2


def main() -> None:
    """Entry point of the process; the first message holds the limits."""
    inbox, outbox = own_pipes()
    limits = receive(inbox)
    confine(int(limits["address_space"]))
    post = _Post(limits["spill"])
    threading.Thread(target=post.listen, args=(inbox,), daemon=True).start()
    databases = Databases(limits)
    send(outbox, {"ready": True})
    while (job := post.jobs.get()) is not None:
        outcome = perform(job, databases, outbox)
        post.busy.clear()
        send(outbox, outcome)
    databases.close()
    shutil.rmtree(limits["spill"], ignore_errors=True)


class _Post:
    """Jobs as they come in. When the parent is gone, an idle process ends and a busy one stops:
    nobody waits for its result, and nobody else will tidy up."""

    def __init__(self, spill: str) -> None:
        self._spill = spill
        self.jobs: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.busy = threading.Event()

    def listen(self, inbox: IO[bytes]) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                job = receive(inbox)
                self.busy.set()
                self.jobs.put(job)
        if not self.busy.is_set():
            self.jobs.put(None)
            return
        shutil.rmtree(self._spill, ignore_errors=True)
        os._exit(0)


class Databases:
    """One database in memory for the files at hand; another as soon as the files differ."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self._limits = limits
        self._files: tuple[str, ...] | None = None
        self._database: duckdb.DuckDBPyConnection | None = None

    def connection(self, files: list[str], *, is_watched: bool) -> duckdb.DuckDBPyConnection:
        """To be closed by the caller. Only a session of its own can say how far it has come."""
        wanted = tuple(sorted(set(files)))
        if is_watched:
            return open_database(wanted, self._limits)
        if self._database is None or wanted != self._files:
            self.close()
            self._database, self._files = open_database(wanted, self._limits), wanted
        return self._database.cursor()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = None


def open_database(files: tuple[str, ...], limits: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """In memory, bounded, without extensions from outside, and blind to all but `files`."""
    import duckdb

    os.makedirs(limits["spill"], mode=0o700, exist_ok=True)  # noqa: PTH103 - closing removes it
    database = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": f"{limits['memory'] // 1024}KiB",
            "max_temp_directory_size": f"{limits['spill_bytes'] // 1024}KiB",
            "temp_directory": limits["spill"],
            "threads": limits["threads"],
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
            "python_enable_replacements": False,
        },
    )
    folders = [one for one in files if os.path.isdir(one)]  # noqa: PTH112 - plain strings
    allowed = {"allowed_paths": set(files) - set(folders), "allowed_directories": set(folders)}
    settings = ["TimeZone = 'UTC'", "enable_progress_bar = true"]
    settings.append("enable_progress_bar_print = false")
    settings += [f"{name} = [{', '.join(map(quoted, sorted(allowed[name])))}]" for name in allowed]
    for one in (*settings, "enable_external_access = false", "lock_configuration = true"):
        database.execute(f"SET {one}")
    return database


def perform(job: dict[str, Any], databases: Databases, outbox: IO[bytes]) -> dict[str, Any]:
    arguments: dict[str, Any] = job["arguments"]
    is_watched, last = bool(job.get("report")), float("-inf")

    def report(share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > _PROGRESS_SECONDS:
            last = now
            send(outbox, {"progress": min(1.0, max(0.0, share))})

    if is_watched:
        arguments["report"] = report
    try:
        task = find(job["task"])
        with databases.connection(job["files"], is_watched=is_watched) as connection:
            return {"value": task(connection, **arguments)}
    except BaseException as error:  # noqa: BLE001 - whatever it is, it costs one task
        return {"error": described(error)}


def described(error: BaseException) -> dict[str, str | None]:
    """An error in plain words: its class by name, and what to do."""
    if isinstance(error, SecondlookError):
        return {"kind": type(error).__name__, "said": error.message, "hint": error.hint}
    # DuckDB goes on with pages of advice; its first line says what is wrong.
    first = next(iter(str(error).splitlines()), "").strip()[:500]
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return {
            "kind": "TableError",
            "said": f"it needs more memory than work on tables may use: {first}",
            "hint": "ask about fewer columns or rows at once",
        }
    said = f"work on a table failed: {type(error).__name__}: {first}"
    return {"kind": "TableError", "said": said, "hint": None}


if __name__ == "__main__":
    main()
