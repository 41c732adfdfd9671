"""The process that works on tables: DuckDB within limits, one task after the other.

It is started as a plain program, as the parsers are: `multiprocessing` would import the caller's
main script again. A task's database can open the files that it was given and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import struct
import sys
import threading
import time
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from secondlook.errors import SecondlookError

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

# What the worker process may be asked to run: functions under `secondlook.tables`, by name.

TASKS: frozenset[str] = frozenset(
    {
        "compute:compute_task",
        "examine:look_closer",
        "joins:overlaps",
        "profile:profile",
        "formats:read",
        "formats:read_rows",
        "worker_process:select",
    }
)
"""As `module:function`; the module is under `secondlook.tables`."""


def find(task: str) -> Callable[..., Any]:
    if task not in TASKS:
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


# How the worker process and its parent talk: JSON with its length in front, nothing to
# unpickle.

_LENGTH = struct.Struct("<Q")
_LONGEST = 1 << 30


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    body = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode()
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any]:
    """The next message. Raises EOFError when the other side is gone or speaks something else."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    if length > _LONGEST:
        raise EOFError(f"a message of {length:,} bytes")
    try:
        message = json.loads(_exactly(stream, length))
    except (ValueError, RecursionError) as error:
        raise EOFError("a message that is no JSON") from error
    if not isinstance(message, dict):
        raise EOFError("a message that is no object")  # noqa: TRY004 - as if it were gone
    return message


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


_PROGRESS_SECONDS = 0.2


def main() -> None:
    """Entry point of the process; the first message holds the limits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to decide
    inbox, outbox = _private_pipes()
    limits = receive(inbox)
    confine(limits)
    post = _Post(limits["spill"])
    threading.Thread(target=post.listen, args=(inbox,), daemon=True).start()
    databases = Databases(limits)
    send(outbox, {"ready": True})
    while (job := post.next()) is not None:
        outcome = perform(job, databases, outbox)
        post.done()
        send(outbox, outcome)
    databases.close()
    shutil.rmtree(limits["spill"], ignore_errors=True)


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Keeps the pipes, and points the standard streams at nothing: engines chatter."""
    inbox = os.fdopen(os.dup(0), "rb")
    outbox = os.fdopen(os.dup(1), "wb", buffering=1 << 20)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    return inbox, outbox


class _Post:
    """Jobs as they come in. When the parent is gone, an idle process ends and a busy one stops:
    nobody waits for its result, and nobody else will tidy up."""

    def __init__(self, spill: str) -> None:
        self._spill = spill
        self._jobs: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._busy = threading.Event()

    def next(self) -> dict[str, Any] | None:
        return self._jobs.get()

    def done(self) -> None:
        self._busy.clear()

    def listen(self, inbox: IO[bytes]) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                job = receive(inbox)
                self._busy.set()
                self._jobs.put(job)
        if not self._busy.is_set():
            self._jobs.put(None)
            return
        shutil.rmtree(self._spill, ignore_errors=True)
        os._exit(0)


def confine(limits: dict[str, Any]) -> None:
    """Bounds memory as far as the system allows."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = int(limits["address_space"])
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS knows the limit but refuses it
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


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
    database.execute("SET TimeZone = 'UTC'")
    database.execute("SET enable_progress_bar = true")
    database.execute("SET enable_progress_bar_print = false")
    database.execute(f"SET allowed_paths = {_listed(set(files) - set(folders))}")
    database.execute(f"SET allowed_directories = {_listed(folders)}")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def _listed(paths: set[str] | list[str]) -> str:
    quoted = ("'" + path.replace("'", "''") + "'" for path in sorted(paths))
    return f"[{', '.join(quoted)}]"


def perform(job: dict[str, Any], databases: Databases, outbox: IO[bytes]) -> dict[str, Any]:
    arguments: dict[str, Any] = job["arguments"]
    if job.get("report"):
        arguments["report"] = _reporter(outbox)
    try:
        task = find(job["task"])
        is_watched = bool(job.get("report"))
        with databases.connection(job["files"], is_watched=is_watched) as connection:
            return {"value": task(connection, **arguments)}
    except BaseException as error:  # noqa: BLE001 - whatever it is, it costs one task
        return {"error": described(error)}


def _reporter(outbox: IO[bytes]) -> Callable[[float], None]:
    last = float("-inf")

    def report(share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > _PROGRESS_SECONDS:
            last = now
            send(outbox, {"progress": min(1.0, max(0.0, share))})

    return report


def described(error: BaseException) -> dict[str, str | None]:
    """An error in plain words: its class by name, and what to do."""
    if isinstance(error, SecondlookError):
        return {"kind": type(error).__name__, "said": error.message, "hint": error.hint}
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return {
            "kind": "TableError",
            "said": f"it needs more memory than work on tables may use: {first_line(error)}",
            "hint": "ask about fewer columns or rows at once",
        }
    said = f"{type(error).__name__}: {first_line(error)}"
    return {"kind": "TableError", "said": f"work on a table failed: {said}", "hint": None}


def first_line(error: BaseException) -> str:
    """DuckDB goes on with pages of advice; its first line says what is wrong."""
    return next(iter(str(error).splitlines()), "").strip()[:500]


if __name__ == "__main__":
    main()
