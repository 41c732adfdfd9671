"""DuckDB's work in a process of its own: bounded, killed when it overruns, started anew. Our own
readers, profiles and computations run there on every operating system. What files hold may be
hostile, so nothing that reads them may take this process down or keep it busy for ever."""

import contextlib
import os
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

from secondlook import errors
from secondlook.errors import SecondlookError, TableError
from secondlook.processes import Closing, ended, pipes_of, receive, send, started

_START_SECONDS = 60.0  # Imports on a cold, busy machine; counted apart from a task's own time
_WAIT_SECONDS = 0.5  # On Windows an endless wait cannot be interrupted by Ctrl-C
_LEAVE_SECONDS, _END_SECONDS = 2.0, 5.0
_GONE: dict[str, Any] = {"gone": True}


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    memory: int = 1 << 30  # What DuckDB may hold before it spills to disk
    address_space: int = 6 << 30
    """Of the whole process, where the system can bound it. Engines reserve far more than they
    use."""
    spill_bytes: int = 16 << 30
    threads: int = field(default_factory=lambda: max(1, min(4, os.cpu_count() or 1)))


class Worker(Closing):
    """Runs the tasks that `worker_process` lists, one after the other. Threads may share it. The
    process starts with the first call. Use it as a context manager, or `close()` it."""

    def __init__(self, limits: WorkerLimits | None = None) -> None:
        self._limits = limits or WorkerLimits()
        self._turn = threading.Lock()
        self._process: _Process | None = None
        self._closed = threading.Event()
        self.values: dict[tuple[Path, str], tuple[str, ...]] = {}
        """What columns hold, by file and name: the same for every question (`Desk.values`)."""

    def call(
        self,
        task: str,
        /,
        *,
        seconds: float | None,
        on_progress: Callable[[float], None] | None = None,
        **arguments: Any,
    ) -> Any:
        """What the task gives back. Its database may open the files and folders that are given as
        `Path`s among the arguments (also in lists), and no others. Raises what the task raised,
        `TableError` where it took longer than `seconds` or the process died."""
        files: list[str] = []
        job = {"task": task, "arguments": _plain(arguments, files), "files": files}
        job["report"] = on_progress is not None
        with self._turn:
            if self._process is not None and not self._process.is_alive():
                self._drop()
            if self._process is None and not self._closed.is_set():
                self._process = _Process(self._limits)
            process = self._process
            if process is None or self._closed.is_set():
                # `close()` may have come while the process started, and found none to end.
                if process is not None:
                    process.kill()
                raise TableError("the worker for tables is closed")
            try:
                outcome = process.run(job, seconds, on_progress)
            except BaseException:
                # Ctrl-C, for example: a task is left running that nobody waits for.
                process.kill()
                self._drop()
                raise
        if "error" in outcome:
            error = outcome["error"]  # as the class that its name says, if it is one of ours
            kind = getattr(errors, str(error.get("kind")), TableError)
            if not (isinstance(kind, type) and issubclass(kind, SecondlookError)):
                kind = TableError
            raise kind(str(error.get("said")), hint=error.get("hint"))
        return outcome["value"]

    @property
    def pid(self) -> int | None:
        """Of its process; None while there is none."""
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """Ends the process, busy or not. Safe to call twice and from another thread."""
        self._closed.set()
        if not self._turn.acquire(blocking=False):
            if (process := self._process) is not None:
                process.kill()
            self._turn.acquire()
        try:
            self._drop()
        finally:
            self._turn.release()

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()


def _plain(value: Any, files: list[str]) -> Any:
    """Paths become strings and are noted: they are what may be opened."""
    if isinstance(value, Path):
        files.append(os.path.abspath(value))  # noqa: PTH100 - links stay as they are
        return files[-1]
    if isinstance(value, dict):
        return {str(name): _plain(one, files) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, files) for one in value]
    return value


class _Process:
    """One process. A thread of its own starts it and reads what it says."""

    def __init__(self, limits: WorkerLimits) -> None:
        # Made by the process itself, once it listens: so it is never there without its keeper.
        self._spill = str(Path(tempfile.gettempdir()) / f"secondlook-tables-{token_hex(8)}")
        self._said: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._killed = False
        self._is_ready = False
        self._process = started("secondlook.tables.worker_process")
        self._inbox, self._outbox = pipes_of(self._process)
        self._hearing = threading.Thread(target=self._hear, name="tables-worker", daemon=True)
        self._hearing.start()
        self._tell({**asdict(limits), "spill": self._spill})

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return not self._killed and self._process.poll() is None

    def run(
        self,
        job: dict[str, Any],
        seconds: float | None,
        on_progress: Callable[[float], None] | None,
    ) -> dict[str, Any]:
        """Its value or its error. Raises where there is neither."""
        if not self._is_ready:
            self._next(_START_SECONDS, time.monotonic())
            self._is_ready = True
        self._tell(job)
        started = time.monotonic()
        while True:
            message = self._next(seconds, started)
            if "progress" in message and on_progress is not None:
                on_progress(message["progress"])
            elif "value" in message or "error" in message:
                return message

    def _next(self, seconds: float | None, started: float) -> dict[str, Any]:
        while True:
            left = _WAIT_SECONDS if seconds is None else started + seconds - time.monotonic()
            with contextlib.suppress(queue.Empty):
                message = self._said.get(timeout=min(_WAIT_SECONDS, max(0.0, left)))
                if message is not _GONE:
                    return message
                if self._killed:
                    raise TableError("work on a table was stopped")
                code = self._process.wait()
                why = f"signal {-code}" if code < 0 else f"exit code {code}"
                raise TableError(
                    f"the process that works on tables died ({why})",
                    hint="the file may be damaged, or need more memory than it may use",
                )
            if seconds is not None and time.monotonic() - started >= seconds:
                raise TableError(
                    f"work on a table took longer than {seconds:g} s and was stopped",
                    hint="ask about fewer rows or columns, or allow more time",
                )

    def _tell(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # it died; reading its answer will tell
            send(self._inbox, message)

    def _hear(self) -> None:
        with contextlib.suppress(EOFError, OSError, ValueError):
            while True:
                self._said.put(receive(self._outbox))
        self._said.put(_GONE)

    def kill(self) -> None:
        self._killed = True
        with contextlib.suppress(OSError):
            self._process.kill()

    def end(self) -> None:
        ended(self._process, _LEAVE_SECONDS)
        self._hearing.join(_END_SECONDS)
        shutil.rmtree(self._spill, ignore_errors=True)
