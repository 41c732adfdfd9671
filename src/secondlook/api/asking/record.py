"""Runs that were recorded: by this server, by one before it, or by the command line."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from secondlook.errors import RunMissing
from secondlook.memory.runs import RunStore

if TYPE_CHECKING:
    from secondlook.events import Event
    from secondlook.memory.runs import ListedRun, RunStatus, StoredRun
    from secondlook.memory.stops import Stops
    from secondlook.settings import RunSettings


class Record:
    """Every method reads or writes a file: call it in a thread. Threads may share one."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._store: RunStore | None = None

    def get(self, run: str) -> StoredRun:
        """By its whole id."""
        stored = self._opened(run).get(run)
        if stored.run != run:  # the command line takes a start of it, and `last`
            raise _missing(run)
        return stored

    def find(self, run: str) -> StoredRun | None:
        try:
            return self.get(run)
        except RunMissing:
            return None

    def events(self, run: str) -> list[Event]:
        return self._opened(run).events(run)

    def news(self, run: str, after: int) -> tuple[RunStatus, list[Event]]:
        """How a run stands, and its events but the first so many. What is no longer running has
        no events that are not among them."""
        status = self.get(run).status
        return status, self._opened(run).events(run, after=after)

    def stops(self, run: str) -> Stops:
        return self._opened(run).stops()

    def page(self, limit: int, offset: int) -> list[ListedRun]:
        try:
            return self._opened("").page(limit, offset)
        except RunMissing:  # none has been recorded yet
            return []

    def remove(self, run: str) -> None:
        self._opened(run).remove(run)

    def close(self) -> None:
        with self._lock:
            store, self._store = self._store, None
        if store is not None:
            store.close()

    def _opened(self, run: str) -> RunStore:
        with self._lock:
            if self._store is None:
                try:
                    self._store = RunStore.of(self._settings, create=False)
                except RunMissing:  # none has been recorded yet
                    raise _missing(run) from None
            return self._store


def _missing(run: str) -> RunMissing:
    return RunMissing(f"there is no run {run!r}", hint="GET /api/runs lists them")
