"""A sign of life of the runs that are worked on, for who cannot see this process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS_BETWEEN = 20.0


class Heartbeat:
    """A thread that goes on for as long as there are runs."""

    def __init__(
        self, beat: Callable[[list[str]], None], *, seconds: float = SECONDS_BETWEEN
    ) -> None:
        """`beat` is told which runs are worked on; what goes wrong in it is its own business."""
        self._beat = beat
        self._seconds = seconds
        self._changed = threading.Condition()
        self._runs: dict[str, None] = {}
        self._thread: threading.Thread | None = None

    def add(self, run: str) -> None:
        with self._changed:
            self._runs[run] = None
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._go_on, name="secondlook-heartbeat", daemon=True
                )
                self._thread.start()

    def discard(self, run: str) -> None:
        with self._changed:
            self._runs.pop(run, None)
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._runs.clear()
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _go_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._runs, self._seconds)
                if not self._runs:
                    self._thread = None
                    return
                runs = list(self._runs)
            self._beat(runs)
