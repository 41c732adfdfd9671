"""Work that writes to libraries: one at a time for each, in the order it came."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING

from secondlook.api.library.job import RunningJob
from secondlook.api.library.works import Uploaded
from secondlook.api.problems import Problem
from secondlook.errors import SecondlookError
from secondlook.library.lock import active_holder
from secondlook.library.published import refuse_change_at
from secondlook.library.uploads import sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.api.libraries import Libraries
    from secondlook.api.library.job import Work
    from secondlook.library import Library

log = logging.getLogger(__name__)
_KEPT = 50
"""Jobs of a library that have ended and can still be asked for."""
_MOST_WAITING = 100
_POLL_SECONDS = 0.2


class Jobs:
    """Threads may share one. Close it before the libraries."""

    def __init__(self, libraries: Libraries) -> None:
        self._libraries = libraries
        self._lock = threading.Lock()
        self._jobs: dict[str, dict[str, RunningJob]] = {}
        self._waiting: dict[str, deque[RunningJob]] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._asides: set[threading.Thread] = set()
        self._swept: set[str] = set()
        self._closed = False

    def start(self, library: str, work: Work) -> RunningJob:
        self.check_changeable(library)
        job = RunningJob(work)
        with self._lock:
            self._check_room(library)
            known = self._jobs.setdefault(library, {})
            known[job.id] = job
            _forget_old(known)
            self._waiting.setdefault(library, deque()).append(job)
            if library not in self._threads:
                self._begin_thread(library)
        return job

    def check_changeable(self, library: str) -> None:
        """Refuse a library that can only be read."""
        refuse_change_at(self._libraries.path(library))

    def get(self, library: str, job: str) -> RunningJob:
        with self._lock:
            found = self._jobs.get(library, {}).get(job)
        if found is None:
            raise Problem(
                404,
                "job_missing",
                f"there is no job {job!r} in this library",
                hint="a server forgets its jobs when it stops; the documents say what is ready",
            )
        return found

    def active(self, library: str) -> list[RunningJob]:
        """Those that wait or run, in their order."""
        with self._lock:
            return [job for job in self._jobs.get(library, {}).values() if not job.ended]

    def stop(self, library: str, job: str) -> RunningJob:
        """One that waits never begins; one that runs keeps what is stored already."""
        found = self.get(library, job)
        with self._lock:
            waits = found in self._waiting.get(library, ())
            if waits:
                self._waiting[library].remove(found)
        found.stop()
        if waits:
            found.work.drop()
            found.set_status("stopped")
        return found

    def has_taken_up(self, library: str) -> bool:
        return library in self._swept

    def take_up_all(self) -> None:
        """When the server starts: nothing of a killed one waits for somebody to look."""
        for name in self._libraries.names():
            self.take_up(name)

    def take_up(self, library: str) -> None:
        """Once for each library: what a killed server left is cleared away, and uploads that had
        arrived are taken in."""
        with self._lock:
            if library in self._swept:
                return
            self._swept.add(library)
        for staging in sweep(self._libraries.path(library)):
            self.start(library, Uploaded(staging))

    def aside(self, work: Callable[[Callable[[], bool]], None]) -> None:
        """Something that only reads, in a thread of its own. It is handed a function that tells
        whether to stop."""
        thread = threading.Thread(target=self._aside, args=(work,), name="secondlook-aside")
        with self._lock:
            self._asides.add(thread)
        thread.start()

    def _aside(self, work: Callable[[Callable[[], bool]], None]) -> None:
        try:
            work(lambda: self._closed)
        except Exception:
            log.exception("work in the background failed")
        finally:
            with self._lock:
                self._asides.discard(threading.current_thread())

    def close(self) -> None:
        """Stop everything and wait for it. Uploads that are not taken in yet stay for the next."""
        with self._lock:
            self._closed = True
            waiting = [job for jobs in self._waiting.values() for job in jobs]
            self._waiting.clear()
            running = [job for jobs in self._jobs.values() for job in jobs.values()]
            threads = [*self._threads.values(), *self._asides]
        for job in running:
            job.stop(leaving=True)
        for job in waiting:
            job.work.leave()
            job.set_status("stopped")
        for thread in threads:
            thread.join()

    def _check_room(self, library: str) -> None:
        if self._closed:
            raise Problem(503, "stopping", "the server is stopping", hint="start it again")
        if len(self._waiting.get(library, ())) >= _MOST_WAITING:
            raise Problem(
                429,
                "too_many_jobs",
                f"{_MOST_WAITING} jobs wait for this library already",
                hint="wait until some are done",
                headers={"Retry-After": "10"},
            )

    def _begin_thread(self, library: str) -> None:
        thread = threading.Thread(
            target=self._work, args=(library,), name=f"secondlook-jobs-{library}"
        )
        self._threads[library] = thread
        thread.start()

    def _work(self, library: str) -> None:
        while True:
            with self._lock:
                waiting = self._waiting.get(library)
                if not waiting:
                    del self._threads[library]
                    return
                job = waiting.popleft()
            self._do(library, job)

    def _do(self, library: str, job: RunningJob) -> None:
        job.set_status("running")
        try:
            opened = self._libraries.engine(library).library
            if _its_turn(opened, job):
                job.work.run(opened, job)
            elif job.leaving:
                job.work.leave()
            else:
                job.work.drop()
        except Exception as error:  # noqa: BLE001 - the thread must live for the jobs after it
            job.work.drop()
            job.set_status("failed", error=_said(error, library))
        else:
            job.set_status("stopped" if job.stopping else "done")


def _its_turn(library: Library, job: RunningJob) -> bool:
    """Whether nobody else writes any more; False where it is stopped before."""
    while active_holder(library.path) is not None:
        if job.wait(_POLL_SECONDS):
            return False
    return not job.stopping


def _said(error: Exception, library: str) -> str:
    if isinstance(error, SecondlookError):
        return f"{error.message} ({error.hint})" if error.hint else error.message
    if isinstance(error, OSError):
        return f"a file could not be written: {error.strerror or error}"
    log.error("a job over the library %r failed", library, exc_info=error)
    return "something went wrong that nobody foresaw; the server's log has the details"


def _forget_old(jobs: dict[str, RunningJob]) -> None:
    ended = [name for name, job in jobs.items() if job.ended]
    for name in ended[: max(0, len(ended) - _KEPT)]:
        del jobs[name]
