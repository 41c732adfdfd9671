"""Watched folders of the libraries that are served: what changes in one becomes a job."""

from __future__ import annotations

import logging
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

log = logging.getLogger(__name__)
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
            if self._stop.is_set() or library in self._threads:
                return
            path = self._libraries.path(library)
            try:
                folders = about(path).watched
            except SecondlookError as error:
                log.warning("%s", error.message)  # everything that asks for the list says so
                return
            if not folders:
                return
            thread = threading.Thread(target=self._watch, args=(library, path), daemon=True)
            self._waits[library] = dict.fromkeys(folders, "")
            self._threads[library] = thread
            thread.start()

    def waits(self, library: str) -> dict[str, str]:
        return dict(self._waits.get(library, {}))

    def close(self) -> None:
        self._stop.set()
        with self._lock:
            threads = list(self._threads.values())
        for thread in threads:
            thread.join()

    def _watch(self, library: str, path: Path) -> None:
        waits = self._waits[library]

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

        while True:
            try:
                watch(path, compare=compare, say=say, stop=self._stop)
                over = False
            except SecondlookError as error:  # the package is missing, the list cannot be read
                log.warning("%s (%s)", error.message, error.hint)
                waits.update(dict.fromkeys(waits, f"{error.message} ({error.hint})"))
                over = True
            with self._lock:  # a folder may have been switched on just now
                if over or self._stop.is_set() or not about(path).watched:
                    del self._threads[library]
                    return

    def _changed(self) -> None:
        self.changes += 1
