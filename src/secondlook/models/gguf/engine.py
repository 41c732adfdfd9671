"""One model's worker process and the line of calls that wait for it.

A thread owns the process: it starts it, feeds it one call after the other and reads what comes
back. The kernel ends the process together with that thread, and calls may come from any number
of event loops, so nothing in here belongs to one of them.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.errors import ModelError, ModelUnavailable
from secondlook.models.gguf.failures import INSTALL_HINT, UnusableModel, closed
from secondlook.models.gguf.header import read_header
from secondlook.models.gguf.process import Launch, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable

_JOIN_SECONDS = 5.0


@dataclass(eq=False, slots=True)
class Job:
    """One call. `deliver` is called in the engine's thread or under its lock: it must not wait."""

    message: dict[str, Any]
    deliver: Callable[[dict[str, Any] | ModelError], None]
    ahead: int = 0
    """Calls that are served before this one."""
    is_abandoned: bool = False


class Engine:
    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._changed = threading.Condition()
        self._line: deque[Job] = deque()
        self._current: Job | None = None
        self._process: WorkerProcess | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    @property
    def waiting(self) -> int:
        """Calls in line, without the one that is being served."""
        return len(self._line)

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.is_usable else None

    def submit(self, job: Job) -> None:
        with self._changed:
            if self._is_closed:
                raise closed(self._launch.spec)
            self._line.append(job)
            self._tell_places()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            self._changed.notify()

    def abandon(self, job: Job) -> None:
        """Nobody waits for it any more: it leaves the line, or the work on it is killed."""
        with self._changed:
            job.is_abandoned = True
            if job in self._line:
                self._line.remove(job)
                self._tell_places()
            elif job is self._current and self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """Ends the process, busy or not. Safe to call twice."""
        with self._changed:
            self._is_closed = True
            while self._line:
                self._line.popleft().deliver(closed(self._launch.spec))
            if self._current is not None and self._process is not None:
                self._process.kill()
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_JOIN_SECONDS)

    def _tell_places(self) -> None:
        ahead = 0 if self._current is None else 1
        for place, job in enumerate(self._line, ahead):
            job.ahead = place
            if place:
                job.deliver({"kind": "queued", "ahead": place})

    def _work(self) -> None:
        while (job := self._take()) is not None:
            try:
                outcome: dict[str, Any] | ModelError = self._serve(job)
            except ModelError as error:
                outcome = error
            with self._changed:
                self._current = None
            job.deliver(outcome)
        self._end_process()

    def _take(self) -> Job | None:
        with self._changed:
            while not self._line:
                if self._is_closed:
                    return None
                self._changed.wait()
            self._current = self._line.popleft()
            self._current.ahead = 0
            self._current.deliver({"kind": "queued", "ahead": 0})
            self._tell_places()
            return self._current

    def _serve(self, job: Job) -> dict[str, Any]:
        """The result of the call; pieces of text are delivered on the way."""
        try:
            return self._ready_process(job).converse(job.message, job.deliver)
        except ModelError:
            raise
        except Exception as error:  # whatever it was, the next call gets a fresh process
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> ModelUnavailable:
        with self._changed:
            process, self._process = self._process, None
        if process is None:
            return ModelUnavailable(f"cannot start the model {self._launch.spec!r}: {error}")
        death = process.died()
        return closed(self._launch.spec) if self._is_closed else death

    def _ready_process(self, job: Job) -> WorkerProcess:
        process = self._process
        if process is not None and process.is_usable:
            return process
        self._end_process()
        check_runnable(self._launch.path)
        process = self._start(job)
        try:
            process.load()
        except ModelError:
            self._end_process()
            raise
        return process

    def _start(self, job: Job) -> WorkerProcess:
        with self._changed:  # so that whoever abandons the job finds the process to kill
            if job.is_abandoned or self._is_closed:
                raise closed(self._launch.spec)
            self._process = WorkerProcess(self._launch)
            return self._process

    def _end_process(self) -> None:
        with self._changed:
            process, self._process = self._process, None
        if process is not None:
            process.end()


def check_runnable(path: str) -> None:
    """Says what is wrong before a process is started for nothing."""
    read_header(Path(path))
    if find_spec("xllamacpp") is None:
        raise UnusableModel("models in GGUF files need the package xllamacpp", hint=INSTALL_HINT)


_registry = threading.RLock()  # a chat that is collected gives back wherever the collector runs
_engines: dict[Launch, Engine] = {}
_users: dict[Launch, int] = {}


def lease(launch: Launch) -> Engine:
    """The engine of this model in this process, shared by all who lease it."""
    with _registry:
        _users[launch] = _users.get(launch, 0) + 1
        return _engines.setdefault(launch, Engine(launch))


def give_back(launch: Launch) -> None:
    """The last one to give an engine back ends its process."""
    with _registry:
        _users[launch] -= 1
        if _users[launch]:
            return
        del _users[launch]
        engine = _engines.pop(launch)
    engine.close()
