"""One piece of work on a library: how far it is, and who wants to know."""

from __future__ import annotations

import secrets
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol

from secondlook.api.library.job_forms import ENDED, Job, JobFile, JobStatus
from secondlook.library.survey import MEMBER_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from secondlook.library import FileChange, Library, Progress

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
