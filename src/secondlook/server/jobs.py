"""Work that writes to a library: one job at a time for each library, in the order they came."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections import deque
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, Field

from secondlook.errors import SecondlookError
from secondlook.library.manifest import active_holder
from secondlook.library.publish import refuse_change
from secondlook.library.report import is_address
from secondlook.library.survey import MEMBER_SEPARATOR
from secondlook.library.uploads import Staging, sweep
from secondlook.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

    from secondlook.library.library import Library
    from secondlook.library.report import FileChange, Progress, Text
    from secondlook.server.libraries import Libraries
    from secondlook.settings.sections import Settings

log = logging.getLogger(__name__)

JobStatus = Literal["queued", "running", "done", "failed", "stopped"]
FileStatus = Literal["waiting", "indexing", "ready", "failed", "unchanged"]
Stage = Literal["waiting", "looking", "reading", "tables", "indexing", "checking", "finishing"]
ENDED: Final[frozenset[JobStatus]] = frozenset({"done", "failed", "stopped"})
MOST_FILES = 200  # listed of one job; failed ones beyond it are listed too, up to as many again
LOOSE: Final = ("stdin:", "text:")  # how paths of what lies in no file begin
_KEPT = 50  # jobs of a library that have ended and can still be asked for
_MOST_WAITING = 100
_MOST_PASSAGES = 200_000  # of one job
_POLL_SECONDS = 0.2


def name_of(path: str) -> str:
    """Of a file its name, of a page its address, of a text what it was called."""
    if is_address(path):
        return path
    for loose in LOOSE:
        path = path.removeprefix(loose)
    return PurePath(path).name or path


class JobFile(BaseModel):
    name: str = Field(description="As it is stored; a client's own name may have been changed.")
    status: FileStatus
    share: float = Field(default=0.0, ge=0, le=1, description="How much of it is done.")
    reason: str | None = Field(default=None, description="Why it failed, or what is notable.")
    document: str | None = Field(default=None, description="The document that came of it.")


class Job(BaseModel):
    """Files being added. One job at a time writes to a library; others wait for their turn."""

    id: str
    status: JobStatus
    stage: Stage = Field(default="waiting", description="What it is at, or was at last.")
    files: list[JobFile] = Field(default_factory=list)
    files_total: int = 0
    share: float = Field(default=0.0, ge=0, le=1)
    started: str = Field(description="When it was asked for; ISO 8601 in UTC.")
    error: str | None = Field(default=None, description="Why all of it failed.")


class RunningJob:
    """Threads may share one. `form` is a snapshot; listeners are called on every change of it."""

    def __init__(self, work: Placed | Uploaded | Rebuilt) -> None:
        self.work = work
        self.id = secrets.token_hex(6)
        self._lock = threading.Lock()
        self._listeners: set[Callable[[], None]] = set()
        self._stop = threading.Event()
        self._raised = False
        self.leaving = False
        self.refused: str | None = None
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

    async def changes(self) -> AsyncGenerator[Job]:
        """The job whenever it has changed, until it has ended; a slow reader gets the latest."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended with its server
                loop.call_soon_threadsafe(news.set)

        with self._lock:
            self._listeners.add(wake)
        try:
            sent: Job | None = None
            while sent is None or sent.status not in ENDED:
                news.clear()
                form = self.form()
                if form == sent:
                    await news.wait()
                else:
                    sent = form
                    yield form
        finally:
            with self._lock:
                self._listeners.discard(wake)

    # For the thread that does the work

    def stop(self, *, leaving: bool = False) -> None:
        """`leaving`: the server stops, and the next one goes on with it."""
        self.leaving = leaving
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def wait_for(self, library: Library) -> bool:
        """Until nothing else writes to the library; False where the job is stopped before."""
        while active_holder(library.path) is not None:
            if self._stop.wait(_POLL_SECONDS):
                return False
        return not self.stopping

    def set_status(self, status: JobStatus, *, error: str | None = None) -> None:
        with self._changing() as form:
            form.status, form.error = status, error
            if status == "done":
                form.share = 1.0
            for file in form.files if status in ENDED else ():
                if file.status in {"waiting", "indexing"}:
                    why = error or "it was stopped before this file was stored"
                    file.status, file.reason = "failed", why

    def expect(self, places: Sequence[Path]) -> None:
        with self._changing() as form:
            self._places = {str(place): at for at, place in enumerate(places)}
            if not form.files:
                form.files = [JobFile(name=place.name, status="waiting") for place in places]
                form.files_total = len(places)

    def progress(self, told: Progress) -> None:
        """Raises KeyboardInterrupt, once, to stop an `add` as Ctrl-C does."""
        if told.passages_read > _MOST_PASSAGES:
            self.refused = f"it holds more than {_MOST_PASSAGES:,} passages: add it in parts"
            self._stop.set()
        if self.stopping and not self._raised and told.stage != "finishing":
            self._raised = True
            raise KeyboardInterrupt
        with self._changing() as form:
            form.stage = told.stage
            if not self._places:
                form.files_total = max(form.files_total, told.files_total)
            if told.stage not in {"waiting", "looking"}:
                at = self._places.get(told.current.partition(MEMBER_SEPARATOR)[0])
                open_ = [file for file in form.files if file.status in {"waiting", "indexing"}]
                file = form.files[at] if at is not None else open_[0] if open_ else None
                if file is not None and file.status in {"waiting", "indexing"}:
                    file.status, file.share = "indexing", max(file.share, told.share)
            done = told.files_done + told.share
            form.share = max(form.share, min(done / max(told.files_total, 1), 1.0))

    def done(self, change: FileChange) -> None:
        """Members of an archive count as the archive."""
        with self._changing() as form:
            anchor = change.path.partition(MEMBER_SEPARATOR)[0]
            failed = change.change == "failed"
            most = 2 * MOST_FILES if failed else MOST_FILES
            if anchor not in self._places and len(form.files) < most:
                self._places[anchor] = len(form.files)
                form.files.append(JobFile(name=name_of(anchor), status="waiting"))
            if (at := self._places.get(anchor)) is None:
                return
            file = form.files[at]
            if failed and file.status in {"ready", "unchanged"}:
                return  # another member of the archive could be read
            file.share, file.reason = 1.0, change.reason or None
            if failed:
                file.status = "failed"
                return
            file.status = "unchanged" if change.change == "unchanged" else "ready"
            file.document = change.document or file.document

    def mark(self, place: Path, *, reason: str) -> None:
        with self._changing() as form:
            if (at := self._places.get(str(place))) is not None:
                form.files[at].reason = f"{form.files[at].reason or ''}{reason}"

    def forget_waiting(self) -> None:
        """At the end of work whose files have other names than what was asked for."""
        with self._changing() as form:
            form.files = [one for one in form.files if one.status not in {"waiting", "indexing"}]
            form.files_total = len(form.files)

    @contextmanager
    def _changing(self) -> Iterator[Job]:
        with self._lock:
            before = self._form.model_copy(deep=True)
            yield self._form
            listeners = list(self._listeners) if self._form != before else []
        for listener in listeners:
            listener()


class Placed:
    """Files and folders where they lie, `again` even if unchanged; only within `within`, if any."""

    def __init__(
        self, paths: Sequence[Path], *, again: bool = False, within: Sequence[Path] = ()
    ) -> None:
        self._paths = tuple(paths)
        self._options: dict[str, Any] = {"force": again, "within": tuple(within)}

    def names(self) -> list[str]:
        return []

    def run(self, library: Library, job: RunningJob) -> None:
        if len(self._paths) <= MOST_FILES and all(path.is_file() for path in self._paths):
            job.expect(self._paths)
        with suppress(KeyboardInterrupt):
            library.add(self._paths, progress=job.progress, done=job.done, **self._options)

    def drop(self) -> None:
        """It was stopped before it began, or the server stops: nothing has been stored."""

    leave = drop


class Followed(Placed):
    """A watched folder: what is gone goes, and nothing is told of what stays as it was."""

    def __init__(self, folder: Path, changed: Callable[[], None]) -> None:
        super().__init__([folder])
        self._changed = changed

    def run(self, library: Library, job: RunningJob) -> None:
        known = {item.path: item.reason for item in library.failed_files()}

        def done(change: FileChange) -> None:
            if change.change != "unchanged" and known.get(change.path) != change.reason:
                self._changed()
                if change.change != "removed":
                    job.done(change)

        with suppress(KeyboardInterrupt):
            library.add(self._paths, prune=True, wary=True, progress=job.progress, done=done)


class Fetched(Placed):
    """Web addresses, which a person named."""

    def __init__(self, addresses: Sequence[str], depth: int) -> None:
        super().__init__([])
        self._addresses, self._depth = tuple(addresses), depth

    def names(self) -> list[str]:
        return list(self._addresses)

    def run(self, library: Library, job: RunningJob) -> None:
        how: dict[str, Any] = {"progress": job.progress, "done": job.done}
        with suppress(KeyboardInterrupt):
            library.add_web(self._addresses, depth=self._depth, **how)
            job.forget_waiting()  # a redirect was stored under the address that it leads to


class Pasted(Placed):
    def __init__(self, text: Text) -> None:
        super().__init__([])
        self._text = text

    def names(self) -> list[str]:
        return [self._text.name]

    def run(self, library: Library, job: RunningJob) -> None:
        with suppress(KeyboardInterrupt):
            for change in library.add_texts([self._text], progress=job.progress).changes:
                job.done(change)
            job.forget_waiting()


class Uploaded:
    """What cannot be read is deleted, and what it would have replaced is there again."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self.drop = staging.discard
        self.leave = staging.leave

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
            if job.leaving:
                self._staging.leave()
            elif restored := self._staging.settle(kept):
                library.add(restored)
                for place in restored:
                    job.mark(place, reason="; the version before it is kept")


class Rebuilt:
    """The index made anew from the stored texts, by settings that changed since it was made."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def names(self) -> list[str]:
        return []

    def run(self, library: Library, job: RunningJob) -> None:
        with suppress(KeyboardInterrupt):
            make = type(library).rebuild
            make(library.path, settings=self._settings, progress=job.progress).close()

    def drop(self) -> None:
        """The index that is there stays."""

    leave = drop


class Jobs:
    """Threads may share one. Close it before the libraries."""

    def __init__(self, libraries: Libraries) -> None:
        self._libraries = libraries
        self._lock = threading.Lock()
        self._jobs: dict[str, dict[str, RunningJob]] = {}
        self._waiting: dict[str, deque[RunningJob]] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._swept: set[str] = set()
        self._closed = False

    def start(self, library: str, work: Placed | Uploaded | Rebuilt) -> RunningJob:
        refuse_change(self._libraries.path(library))  # one that can only be read
        job = RunningJob(work)
        with self._lock:
            if self._closed:
                raise Problem(503, "stopping", "the server is stopping", hint="start it again")
            waiting = self._waiting.setdefault(library, deque())
            if len(waiting) >= _MOST_WAITING:
                said = f"{_MOST_WAITING} jobs wait for this library already"
                raise Problem(429, "too_many_jobs", said, headers={"Retry-After": "10"})
            known = self._jobs.setdefault(library, {})
            known[job.id] = job
            for old in [one.id for one in known.values() if one.ended][:-_KEPT]:
                del known[old]
            waiting.append(job)
            if library not in self._threads:
                thread = threading.Thread(target=self._work, args=(library,))
                self._threads[library] = thread
                thread.start()
        return job

    def get(self, library: str, job: str) -> RunningJob:
        with self._lock:
            found = self._jobs.get(library, {}).get(job)
        if found is None:
            hint = "a server forgets its jobs when it stops; the documents say what is ready"
            raise Problem(404, "job_missing", f"there is no job {job!r} here", hint=hint)
        return found

    def active(self, library: str) -> list[RunningJob]:
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

    def take_up(self, library: str) -> None:
        """Once for each library: clear away what a killed server left, add what had arrived."""
        with self._lock:
            if library in self._swept:
                return
            self._swept.add(library)
        for staging in sweep(self._libraries.path(library)):
            self.start(library, Uploaded(staging))

    def close(self) -> None:
        """Stop everything and wait for it. Uploads that are not added yet stay for the next."""
        with self._lock:
            self._closed = True
            waiting = [job for jobs in self._waiting.values() for job in jobs]
            self._waiting.clear()
            running = [job for jobs in self._jobs.values() for job in jobs.values()]
            threads = list(self._threads.values())
        for job in running:
            job.stop(leaving=True)
        for job in waiting:
            job.work.leave()
            job.set_status("stopped")
        for thread in threads:
            thread.join()

    def _work(self, library: str) -> None:
        while True:
            with self._lock:
                waiting = self._waiting.get(library)
                if not waiting:
                    del self._threads[library]
                    return
                job = waiting.popleft()
            job.set_status("running")
            try:
                opened = self._libraries.engine(library).library
                if job.wait_for(opened):
                    job.work.run(opened, job)
                else:
                    (job.work.leave if job.leaving else job.work.drop)()
            except Exception as error:  # noqa: BLE001  # the thread must live for the jobs after it
                job.work.drop()
                job.set_status("failed", error=_said(error, library))
            else:
                status: JobStatus = "stopped" if job.stopping else "done"
                job.set_status("failed" if job.refused else status, error=job.refused)


def _said(error: Exception, library: str) -> str:
    if isinstance(error, SecondlookError):
        return f"{error.message} ({error.hint})" if error.hint else error.message
    if isinstance(error, OSError):
        return f"a file could not be written: {error.strerror or error}"
    log.error("a job over the library %r failed", library, exc_info=error)
    return "an unexpected error happened; the server's log has the details"
