"""Parsing in other processes, so that a crash, a hang or a bomb costs one file. A thread feeds each
process; one more kills those that show no sign of life."""

from __future__ import annotations

import contextlib
import queue
import re
import signal
import threading
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from secondlook.document import Extracted  # noqa: TC001  # replies are checked against it
from secondlook.errors import Damaged, ExtractionError, LimitExceeded
from secondlook.files import digest
from secondlook.processes import Closing, ended, pipes_of, receive, send, started
from secondlook.retrieval.parse.source import DEFAULT_LIMITS, Parsed, ParseLimits

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Key = TypeVar("Key")
T = TypeVar("T")
_HASH = re.compile("([0-9a-f]{64})?")  # it becomes part of a path

_WATCH_SECONDS, _LEAVE_SECONDS = 0.25, 0.5
_START_SECONDS = 60.0  # imports on a cold, busy machine; counted apart from the file's own time


@dataclass(slots=True)
class _Worker:
    """One process, owned by one thread; the watchman only reads the times and kills."""

    limits: ParseLimits
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    alive: float = 0.0  # when it last showed a sign of life; 0 while it has nothing to do
    verdict: str = ""  # why it was killed
    lock: threading.Lock = field(default_factory=threading.Lock)

    def parse(self, path: Path) -> list[Parsed]:
        found = self.run({"path": str(path)}, partial(_believed, path=path))
        return [Parsed("", "", 0, error=found)] if isinstance(found, ExtractionError) else found

    def run(
        self, job: dict[str, Any], believed: Callable[[dict[str, Any]], T]
    ) -> T | ExtractionError:
        try:
            is_gone = self.process is None or self.process.poll() is not None
            if is_gone:
                self.stop()
            with self.lock:
                self.verdict = ""
                self.started = self.alive = time.monotonic() + (_START_SECONDS if is_gone else 0.0)
            if self.process is None:
                self.process = started("secondlook.retrieval.parse.worker")
                with contextlib.suppress(OSError):  # it died at once; reading its answer will tell
                    send(pipes_of(self.process)[0], asdict(self.limits))
            told, said = pipes_of(self.process)
            send(told, job)
            while not (message := receive(said)):  # an empty one is a sign of life
                with self.lock:
                    self.alive = time.monotonic()
                    self.started = min(self.started, self.alive)
            found = believed(message)
            if message.get("is_spent"):
                self.stop()
        except (EOFError, OSError) as error:
            return self._reason(error)
        except ExtractionError as error:
            return error
        else:
            return found
        finally:
            with self.lock:
                self.alive = 0.0

    def _reason(self, error: Exception) -> ExtractionError:
        verdict, code = self.verdict, self.stop()
        if verdict:
            return LimitExceeded(verdict)
        if code is not None and code < 0:
            name = next((sign.name for sign in signal.Signals if sign == -code), f"signal {-code}")
            # Native libraries abort when they are refused memory.
            why = ", most likely for want of memory" if -code == signal.SIGABRT else ""
            return Damaged(f"the parser crashed on it ({name}{why})")
        return Damaged(f"the parser ended without a result (exit code {code}, {error!r})")

    def judge(self, now: float) -> None:
        """Kills the process when it overstays; the thread that waits for it then wakes."""
        with self.lock:
            if self.alive and now - self.alive > self.limits.idle_seconds:
                self.kill(f"the parser showed no sign of life for {self.limits.idle_seconds:g} s")
            elif self.alive and now - self.started > self.limits.total_seconds:
                self.kill(f"it took longer than {self.limits.total_seconds:g} s")

    def kill(self, verdict: str) -> None:
        process = self.process
        if process is not None:
            self.verdict = self.verdict or verdict
            with contextlib.suppress(OSError):
                process.kill()

    def stop(self) -> int | None:
        process, self.process = self.process, None
        return None if process is None else ended(process, _LEAVE_SECONDS)


def _believed(message: dict[str, Any], path: Path) -> list[Parsed]:
    """What a parser says. It read a file of a stranger: nothing of it is run, all of it is checked.
    Raises EOFError where it is not what was agreed."""
    from pydantic import TypeAdapter, ValidationError

    try:
        said = TypeAdapter(list[_Said]).validate_python(message["parsed"])
    except (LookupError, ValidationError) as error:
        raise EOFError("its reply is not what was agreed") from error
    if not all(_HASH.fullmatch(one.sha256) for one in said):
        raise EOFError("it names a file by something else than its hash")
    if any(one.sha256 not in {"", digest(path)} for one in said if not one.member):
        raise EOFError("it read another file, or the file was changed meanwhile")
    return [
        Parsed(one.member, one.sha256, one.bytes, one.extracted, one.error and _error(*one.error))
        for one in said
    ]


@dataclass(frozen=True, slots=True)
class _Said:
    member: str
    sha256: str
    bytes: int
    extracted: Extracted | None
    error: tuple[str, str, str | None] | None


def _seen(message: dict[str, Any], form: type[T], sha256: str) -> T:
    """What a parser saw of a file with that hash, in that form."""
    from pydantic import TypeAdapter, ValidationError

    try:
        if "error" in message:
            raise _error(
                *TypeAdapter(tuple[str, str, str | None]).validate_python(message["error"])
            )
        if message["sha256"] != sha256:
            raise ExtractionError("the file was changed since it was read", hint="add it again")
        return TypeAdapter(form).validate_python(message["seen"])
    except (LookupError, ValidationError) as error:
        raise EOFError("its reply is not what was agreed") from error


def _error(name: str, message: str, hint: str | None) -> ExtractionError:
    kinds = {kind.__name__: kind for kind in ExtractionError.__subclasses__()}
    return kinds.get(name, ExtractionError)(message, hint=hint)


class ParserPool(Closing):
    def __init__(self, workers: int = 1, limits: ParseLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._size = max(1, workers)
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()  # key, work, queue of outcomes
        self._looking = threading.Lock()
        self._workers: list[_Worker] = []
        self._threads: list[threading.Thread] = []
        self._closed = threading.Event()

    def parse(self, jobs: Iterable[tuple[Key, Path]]) -> Iterator[tuple[Key, list[Parsed]]]:
        """Outcomes as they complete, in no fixed order. Takes jobs only as fast as it gives."""
        return self._outcomes((key, partial(_Worker.parse, path=path)) for key, path in jobs)

    def look(self, path: Path, sha256: str, wish: dict[str, Any], form: type[T]) -> T:
        """What else `worker.py` can say of a file with that hash. Raises ExtractionError."""
        believed = partial(_seen, form=form, sha256=sha256)
        job = {"path": str(path), "wish": wish}
        with self._looking:
            found: T | ExtractionError
            ((_, found),) = self._outcomes([(None, lambda worker: worker.run(job, believed))])
        if isinstance(found, ExtractionError):
            raise found
        return found

    def _outcomes(
        self, jobs: Iterable[tuple[Key, Callable[[_Worker], T]]]
    ) -> Iterator[tuple[Key, T]]:
        if self._closed.is_set():
            raise ValueError("the parser pool is closed")
        done: queue.SimpleQueue[tuple[Key, T]] = queue.SimpleQueue()
        waiting = iter(jobs)
        in_flight, is_exhausted = 0, False
        try:
            while True:
                while not is_exhausted and in_flight < 2 * self._size:
                    if (job := next(waiting, None)) is None:
                        is_exhausted = True
                    else:
                        self._jobs.put((*job, done))
                        if not self._threads:
                            self._spawn_thread(self._watch)
                        if len(self._workers) < self._size:
                            self._workers.append(_Worker(self._limits))
                            self._spawn_thread(self._work, self._workers[-1])
                        in_flight += 1
                if not in_flight:
                    return
                # On Windows an endless wait cannot be interrupted by Ctrl-C.
                with contextlib.suppress(queue.Empty):
                    yield done.get(timeout=1.0)
                    in_flight -= 1
                if self._closed.is_set():
                    raise ValueError("the parser pool was closed while it was working")
        finally:
            self._forget_waiting()

    def close(self) -> None:
        self._closed.set()
        self._forget_waiting()
        for _ in self._threads:
            self._jobs.put(None)
        give_up = time.monotonic() + 5.0
        while any(thread.is_alive() for thread in self._threads) and time.monotonic() < give_up:
            # Again and again: a process that is just being started cannot be killed yet.
            for worker in self._workers:
                worker.kill("the work was stopped")
            for thread in self._threads:
                thread.join(_WATCH_SECONDS / 5)
        self._threads.clear()

    def _spawn_thread(self, target: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _work(self, worker: _Worker) -> None:
        while not self._closed.is_set() and (job := self._jobs.get()) is not None:
            key, work, done = job
            done.put((key, work(worker)))
        worker.stop()

    def _watch(self) -> None:
        while not self._closed.wait(_WATCH_SECONDS):
            for worker in self._workers:
                worker.judge(time.monotonic())

    def _forget_waiting(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
