"""One writer at a time. The lock dies with its process, so a killed writer leaves none behind."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from secondlook.errors import LibraryBusy, LibraryError
from secondlook.library.manifest import now
from secondlook.library.texts import MAKE_ROOM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOCK_NAME = "write.lock"
HOLDER_NAME = "writer.json"
_POLL_SECONDS = 0.1


@contextmanager
def writing(
    library: Path, *, wait: float, waiting: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold the write lock. `waiting` is told who holds it, once, if it is not free at once."""
    import filelock

    lock = filelock.FileLock(library / LOCK_NAME)
    deadline = time.monotonic() + wait
    told = False
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except filelock.Timeout:
            who = holder(library) or "another process"
            if time.monotonic() >= deadline:
                raise LibraryBusy(
                    f"the library at {str(library)!r} is being written by {who}",
                    hint="wait for it to finish; searching works meanwhile",
                ) from None
            if waiting and not told:
                waiting(who)
                told = True
            time.sleep(_POLL_SECONDS)
        except OSError as error:
            raise _not_writable(library, error) from error
    try:
        try:
            _announce(library)
        except OSError as error:
            raise _not_writable(library, error) from error
        yield
    finally:
        (library / HOLDER_NAME).unlink(missing_ok=True)
        lock.release()


def _not_writable(library: Path, error: OSError) -> LibraryError:
    return LibraryError(
        f"the library at {str(library)!r} cannot be written: {error.strerror or error}",
        hint=MAKE_ROOM,
    )


def holder(library: Path) -> str | None:
    """Who is writing, in words; None when nobody is known to be."""
    try:
        said = json.loads((library / HOLDER_NAME).read_text(encoding="utf-8"))
        return f"pid {said['pid']} on {said['host']} since {said['since']} ({said['command']})"
    except (OSError, ValueError, KeyError, TypeError):
        return None


def active_holder(library: Path) -> str | None:
    """As `holder`, but None when the lock is free: a killed writer leaves its name behind."""
    import filelock

    if not (library / HOLDER_NAME).exists():
        return None
    probe = filelock.FileLock(library / LOCK_NAME)
    try:
        with probe.acquire(timeout=0):
            return None
    except filelock.Timeout:
        return holder(library)


def _announce(library: Path) -> None:
    command = " ".join([os.path.basename(sys.argv[0]) or "python", *sys.argv[1:2]])  # noqa: PTH119
    said = {"pid": os.getpid(), "host": socket.gethostname(), "since": now(), "command": command}
    (library / HOLDER_NAME).write_text(json.dumps(said), encoding="utf-8")
