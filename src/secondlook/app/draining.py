"""Stopping in good order: each run finishes the step that it is at, and is left to be taken up."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langgraph.runtime import RunControl


class Draining:
    """Of one engine. Signal handlers and any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._controls: set[RunControl] = set()
        self._asked = False

    def ask(self) -> None:
        """From now on no run begins another step."""
        self._asked = True
        # A signal may come while this thread is in `control`: the lock lets it pass again.
        with self._lock:
            for control in self._controls:
                control.request_drain()

    @contextmanager
    def control(self) -> Iterator[RunControl]:
        """Of one run, by which its graph is stopped."""
        from langgraph.runtime import RunControl

        control = RunControl()
        with self._lock:
            self._controls.add(control)
        if self._asked:
            control.request_drain()
        try:
            yield control
        finally:
            with self._lock:
                self._controls.discard(control)
