"""What a client is told of work on a library."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import deque
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict  # noqa: TC002

from secondlook.errors import SecondlookError
from secondlook.library.manifest import active_holder
from secondlook.library.publish import refuse_change_at
from secondlook.library.survey import MEMBER_SEPARATOR
from secondlook.library.uploads import sweep
from secondlook.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.library.library import Library
    from secondlook.library.report import FileChange, Progress
    from secondlook.library.uploads import Staging
    from secondlook.server.libraries import Libraries

JobStatus = Literal["queued", "running", "done", "failed", "stopped"]
FileStatus = Literal["waiting", "indexing", "ready", "failed", "unchanged"]
Stage = Literal["waiting", "looking", "reading", "tables", "indexing", "finishing"]
ENDED: Final[frozenset[JobStatus]] = frozenset({"done", "failed", "stopped"})
_FILE: Final[JsonDict] = {
    "name": "report.pdf",
    "status": "ready",
    "share": 1.0,
    "reason": None,
    "document": "9f86d081884c7d65",
}


class JobFile(BaseModel):
    name: str = Field(description="As it is stored; a client's own name may have been changed.")
    status: FileStatus
    share: float = Field(default=0.0, ge=0, le=1, description="How much of it is done.")
    reason: str | None = Field(default=None, description="Why it failed, or what is notable.")
    document: str | None = Field(default=None, description="The document that came of it.")


class Job(BaseModel):
    """Files being taken in. One at a time writes to a library; others wait for their turn."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "5f1c0a9be2d7",
                "status": "done",
                "stage": "finishing",
                "files": [_FILE],
                "files_total": 1,
                "share": 1.0,
                "started": "2026-01-02T10:00:00+00:00",
                "error": None,
            }
        }
    )

    id: str
    status: JobStatus
    stage: Stage = Field(default="waiting", description="What it is at, or was at last.")
    files: list[JobFile] = Field(
        default_factory=list,
        description="Of a folder with very many files the first ones, and those that failed.",
    )
    files_total: int = 0
    share: float = Field(default=0.0, ge=0, le=1)
    started: str = Field(description="When it was asked for; ISO 8601 in UTC.")
    error: str | None = Field(default=None, description="Why all of it failed.")


# One piece of work on a library: how far it is, and who wants to know.

MOST_FILES = 200
"""Listed of one job; failed ones beyond it are listed too, up to as many again."""
_READ, _EMBEDDED = 0.3, 0.9
"""Shares of a file's work after it was read, and after it was embedded."""
_MAY_STOP = frozenset({"waiting", "looking", "reading", "tables", "indexing"})


class Work(Protocol):
    def names(self) -> list[str]:
        """Of the files, where they are known before it begins."""

    def run(self, library: Library, job: RunningJob) -> None: ...

    def drop(self) -> None:
        """It was stopped before it began."""

    def leave(self) -> None:
        """The server stops: what is not done must be found again by the next one."""


class RunningJob:
    """Threads may share one. `form` is a snapshot; listeners hear of every change of it."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.id = secrets.token_hex(6)
        self._lock = threading.Lock()
        self._listeners: set[Callable[[], None]] = set()
        self._stop = threading.Event()
        self._stop_told = False
        self.leaving = False
        self._places: dict[str, int] = {}
        started = datetime.now(UTC).isoformat(timespec="seconds")
        files = [JobFile(name=name, status="waiting") for name in work.names()]
        self._form = Job(
            id=self.id, status="queued", files=files, files_total=len(files), started=started
        )

    def form(self) -> Job:
        with self._lock:
            return self._form.model_copy(deep=True)

    @property
    def ended(self) -> bool:
        return self._form.status in ENDED

    @contextmanager
    def listening(self, listener: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            self._listeners.add(listener)
        try:
            yield
        finally:
            with self._lock:
                self._listeners.discard(listener)

    # For whoever does the work

    def stop(self, *, leaving: bool = False) -> None:
        """`leaving`: the server stops, and the next one goes on with it."""
        self.leaving = leaving
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether it was stopped meanwhile."""
        return self._stop.wait(seconds)

    def set_status(self, status: JobStatus, *, error: str | None = None) -> None:
        with self._changing() as form:
            form.status, form.error = status, error
            if status == "done":
                form.share = 1.0
            if status in ENDED:
                _end_files(form, error or "it was stopped before this file was stored")

    def expect(self, places: Sequence[Path]) -> None:
        """Where the files lie that are being taken in, in the order of their names."""
        with self._changing() as form:
            self._places = {str(place): at for at, place in enumerate(places)}
            if not form.files:
                form.files = [JobFile(name=place.name, status="waiting") for place in places]
                form.files_total = len(places)

    def progress(self, told: Progress) -> None:
        """Raises KeyboardInterrupt, once, to stop an `add` as Ctrl-C does."""
        if self.stopping and not self._stop_told and told.stage in _MAY_STOP:
            self._stop_told = True
            raise KeyboardInterrupt
        with self._changing() as form:
            form.stage = told.stage
            if not self._places:
                form.files_total = max(form.files_total, told.files_total)
            self._advance(form, told)
            form.share = _whole_share(form, told)

    def done(self, change: FileChange) -> None:
        with self._changing() as form:
            at = self._place(form, change)
            if at is not None:
                form.files[at] = _changed(form.files[at], change)

    def mark(self, place: Path, *, reason: str) -> None:
        """What is notable about a file beside its status."""
        with self._changing() as form:
            at = self._places.get(str(place))
            if at is not None:
                form.files[at].reason = f"{form.files[at].reason or ''}{reason}"

    @contextmanager
    def _changing(self) -> Iterator[Job]:
        with self._lock:
            before = self._form.model_copy(deep=True)
            yield self._form
            listeners = list(self._listeners) if self._form != before else []
        for listener in listeners:
            listener()

    def _place(self, form: Job, change: FileChange) -> int | None:
        """Members of an archive count as the archive."""
        anchor = change.path.partition(MEMBER_SEPARATOR)[0]
        most = 2 * MOST_FILES if change.change == "failed" else MOST_FILES
        if anchor not in self._places and len(form.files) < most:
            self._places[anchor] = len(form.files)
            form.files.append(JobFile(name=PurePath(anchor).name, status="waiting"))
        return self._places.get(anchor)

    def _advance(self, form: Job, told: Progress) -> None:
        if told.stage in {"waiting", "looking"}:
            return
        current = self._places.get(told.current.partition(MEMBER_SEPARATOR)[0])
        if current is not None and told.stage == "tables":
            _begin(form.files[current], _READ * told.share)
        elif current is not None and told.stage == "indexing":
            _begin(form.files[current], _EMBEDDED)
        next_one = next((file for file in form.files if _is_open(file)), None)
        if next_one is not None:
            _begin(next_one, _embedded_share(told))


def _is_open(file: JobFile) -> bool:
    return file.status == "waiting" or (file.status == "indexing" and file.share < _EMBEDDED)


def _begin(file: JobFile, share: float) -> None:
    if file.status in {"waiting", "indexing"}:
        file.status = "indexing"
        file.share = max(file.share, share)


def _embedded_share(told: Progress) -> float:
    """Of the file that is being read now: more cannot be told while several go in at once."""
    waiting = told.passages_read - told.passages
    if not told.passages_read or told.files_total > 1 or not waiting:
        return 0.0
    return _READ + (_EMBEDDED - _READ) * told.passages / told.passages_read


def _whole_share(form: Job, told: Progress) -> float:
    if form.files and len(form.files) >= form.files_total:
        share = sum(file.share for file in form.files) / len(form.files)
    else:
        share = told.files_done / told.files_total if told.files_total else 0.0
    return max(form.share, min(share, 1.0))


def _changed(file: JobFile, change: FileChange) -> JobFile:
    if change.change == "failed":
        if file.status in {"ready", "unchanged"}:  # another member of the same archive
            return file
        return file.model_copy(
            update={"status": "failed", "share": 1.0, "reason": change.reason or None}
        )
    return JobFile(
        name=file.name,
        status="unchanged" if change.change == "unchanged" else "ready",
        share=1.0,
        reason=change.reason or None,
        document=change.document or file.document,
    )


def _end_files(form: Job, why: str) -> None:
    """What has no end yet did not get to it."""
    for file in form.files:
        if file.status in {"waiting", "indexing"}:
            file.status, file.reason = "failed", why


# What a job does: take in an upload, take in files by path, read files again.

_KEPT_BEFORE = "; the version before it is kept"


class Uploaded:
    """Files that have arrived. What cannot be read is deleted, and what it would have replaced is
    there again."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging

    def names(self) -> list[str]:
        return [entry.name for entry in self._staging.entries()]

    def run(self, library: Library, job: RunningJob) -> None:
        kept: set[Path] = set()

        def done(change: FileChange) -> None:
            if change.change != "failed":
                kept.add(Path(change.path.partition(MEMBER_SEPARATOR)[0]))
            job.done(change)

        try:
            places = self._staging.put_in_place()
            job.expect(places)
            with suppress(KeyboardInterrupt):
                library.add(places, progress=job.progress, done=done)
        finally:
            self._settle(library, job, kept)

    def _settle(self, library: Library, job: RunningJob, kept: set[Path]) -> None:
        if job.leaving:
            self._staging.leave()
            return
        restored = self._staging.settle(kept)
        if restored:
            library.add(restored)
        for place in restored:
            job.mark(place, reason=_KEPT_BEFORE)

    def drop(self) -> None:
        self._staging.discard()

    def leave(self) -> None:
        self._staging.leave()


class Placed:
    """Files and folders where they lie: read again even if unchanged where `again` says so, and
    only those that really lie in one of the folders of `within`, where it names any."""

    def __init__(
        self, paths: Sequence[Path], *, again: bool = False, within: Sequence[Path] = ()
    ) -> None:
        self._paths = tuple(paths)
        self._again = again
        self._within = tuple(within)

    def names(self) -> list[str]:
        return []

    def run(self, library: Library, job: RunningJob) -> None:
        if len(self._paths) <= MOST_FILES and all(path.is_file() for path in self._paths):
            job.expect(self._paths)
        with suppress(KeyboardInterrupt):
            library.add(
                self._paths,
                force=self._again,
                within=self._within,
                progress=job.progress,
                done=job.done,
            )

    def drop(self) -> None:
        pass

    def leave(self) -> None:
        pass


# Work that writes to libraries: one at a time for each, in the order it came.

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
