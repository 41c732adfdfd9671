"""Watched folders of the libraries that are served: what changes in one becomes a job."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from secondlook.errors import LibraryBusy, SecondlookError
from secondlook.library.about import about
from secondlook.library.watch import watch
from secondlook.server.jobs import Followed
from secondlook.server.problems import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.server.jobs import Jobs
    from secondlook.server.libraries import Libraries

_POLL_SECONDS = 0.2


class Watching:
    """A thread for each library that has folders on its list. Close it before the jobs."""

    def __init__(self, libraries: Libraries, jobs: Jobs) -> None:
        self._libraries, self._jobs = libraries, jobs
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads: dict[str, threading.Thread] = {}
        self._waits: dict[str, dict[str, str]] = {}
        self.changes = 0

    def begin(self, library: str) -> None:
        """Where it has folders to watch. One that is watched already takes up its new list."""
        with self._lock:
            running = self._threads.get(library)
            if self._stop.is_set() or (running is not None and running.is_alive()):
                return
            path = self._libraries.path(library)
            if not about(path).watched:
                return
            thread = threading.Thread(target=self._watch, args=(library, path), daemon=True)
            self._threads[library] = thread
            thread.start()

    def waits(self, library: str) -> dict[str, str]:
        return dict(self._waits.get(library, {}))

    def close(self) -> None:
        self._stop.set()
        for thread in list(self._threads.values()):
            thread.join()

    def _watch(self, library: str, path: Path) -> None:
        waits = self._waits.setdefault(library, {})

        def say(folder: Path, why: str) -> None:
            waits[str(folder)] = why

        def compare(folder: Path) -> None:
            try:
                job = self._jobs.start(library, Followed(folder, self._changed))
            except Problem as problem:
                raise LibraryBusy(problem.detail) from problem
            while not job.ended and not self._stop.wait(_POLL_SECONDS):
                pass
            if error := job.form().error:
                raise SecondlookError(error)

        try:
            watch(path, compare=compare, say=say, stop=self._stop)
        except SecondlookError as error:  # the package is missing, the list cannot be read
            waits.update(dict.fromkeys(waits, error.message))

    def _changed(self) -> None:
        self.changes += 1
