"""What the processes below ours do while an attack runs, seen through /proc."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

_SET_CHILD_SUBREAPER = 36
_PAUSE_SECONDS = 0.05
_GONE_WITHIN_SECONDS = 3.0
_ZOMBIE = "Z"


@contextlib.contextmanager
def orphans_come_to_us() -> Iterator[None]:
    """A process that lost its parent would else become init's, where we could not find it."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def descendants() -> set[int]:
    """Living processes below ours."""
    parents = {pid: parent for pid, (parent, state) in _processes() if state != _ZOMBIE}
    found: set[int] = set()
    fresh = {os.getpid()}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found


def left_over(before: set[int], *, within: float = _GONE_WITHIN_SECONDS) -> set[int]:
    """Processes that were not there before, after a moment in which to go."""
    until = time.monotonic() + within
    while True:
        stayed = descendants() - before
        if not stayed or time.monotonic() > until:
            return stayed
        time.sleep(_PAUSE_SECONDS)


def end(processes: set[int]) -> None:
    """Kill what stayed, and reap it where it has become ours."""
    for pid in processes:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(pid, 0)


def resident_bytes(pid: int | None = None) -> int:
    """Memory that a process really holds; 0 where it is gone."""
    try:
        pages = Path(f"/proc/{pid or 'self'}/statm").read_text("ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class MemoryWatch:
    """The most that a process below ours, and ours itself, held meanwhile."""

    def __init__(self, *, ignoring: set[int]) -> None:
        self._ignored = ignoring
        self._at_first = resident_bytes()
        self._ended = threading.Event()
        self.peak = 0
        self.grown = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self._look()
            if self._ended.wait(_PAUSE_SECONDS):
                return

    def _look(self) -> None:
        held = [resident_bytes(pid) for pid in descendants() - self._ignored]
        self.peak = max([self.peak, *held])
        self.grown = max(self.grown, resident_bytes() - self._at_first)


def _processes() -> Iterator[tuple[int, tuple[int, str]]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                text = (folder / "stat").read_text("utf-8", "replace")
                # The name of the program stands in brackets and may hold anything.
                state, parent = text.rpartition(")")[2].split()[:2]
                yield int(folder.name), (int(parent), state)
