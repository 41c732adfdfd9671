"""Folders that a library is kept in step with, for as long as somebody watches them. Every burst of
changes is followed by a comparison of the whole folder, which costs a stat per file: so an event
that is missed, or a kill, loses nothing."""

from __future__ import annotations

import importlib.util
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from secondlook.errors import LibraryBusy, SecondlookError, UsageError
from secondlook.library.about import about
from secondlook.retrieval.discover import is_usually_left_out

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

INSTALL: Final = "pip install watchfiles"
_STEP_MS, _BURST_MS = 400, 3000  # a burst ends when nothing changes for a step, or after this
_LOOK_MS = 1000  # how often the list of folders, and whether each is there, is looked at
_LOOKS_PER_COMPARISON = 30  # where the system does not tell of changes
_AT_LEAST_EVERY_SECONDS = 600.0
_TRY_AGAIN_SECONDS = 2.0


def require_watchfiles() -> None:
    if importlib.util.find_spec("watchfiles") is None:
        raise UsageError("watching folders needs the package watchfiles", hint=INSTALL)


def watch(
    library: Path,
    *,
    compare: Callable[[Path], None],
    say: Callable[[Path, str], None],
    stop: threading.Event,
) -> None:
    """Until `stop` is set or no folder is left. `compare` brings the library in step with a folder;
    after `LibraryBusy` it is called again. `say` is told what keeps a folder out of step, and ""
    when that is over."""
    require_watchfiles()
    library = library.absolute()
    there: dict[Path, tuple[int, int] | None] = {}
    due: set[Path] = set()
    told: dict[Path, str] = {}
    changes = _changes(library, [], stop)
    compared = time.monotonic()
    while not stop.is_set() and (folders := [Path(one) for one in about(library).watched]):
        now = {folder: _identity(folder) for folder in folders}
        present = {folder for folder in folders if now[folder]}
        if now != there:
            # Armed before it is compared: what changes meanwhile is seen in one or the other.
            due |= {folder for folder in present if now[folder] != there.get(folder)}
            there, changes = now, _changes(library, sorted(present), stop)
            next(changes, None)
        for folder in [] if stop.is_set() else folders:
            if folder not in present:
                why = "it is not there; nothing is removed"
            elif folder in due:
                why = _compared(folder, compare, due)
                compared = time.monotonic()
            else:
                continue
            if told.get(folder, "") != why:
                say(folder, why)
            told[folder] = why
        if due & present:
            stop.wait(_TRY_AGAIN_SECONDS)
        for changed in next(changes, ()):
            due |= {folder for folder in folders if folder in (changed, *changed.parents)}
        if time.monotonic() - compared > _AT_LEAST_EVERY_SECONDS:
            due |= set(folders)  # of a network drive nobody tells what others change


def _compared(folder: Path, compare: Callable[[Path], None], due: set[Path]) -> str:
    """What is wrong, if anything. An empty folder may be the place of a disk that is away."""
    try:
        compare(folder)
        due.discard(folder)
        if not any(folder.iterdir()):
            return "it is empty; nothing is removed, as its disk may be away"
    except LibraryBusy as busy:
        return busy.message
    except SecondlookError as error:  # tried again after the next change
        due.discard(folder)
        return error.message
    except OSError:
        due.discard(folder)  # it went away just now, which is seen next
    return ""


def _identity(folder: Path) -> tuple[int, int] | None:
    """Another one after a disk is mounted there; None while it is away."""
    with suppress(OSError):
        status = folder.stat()
        return (status.st_dev, status.st_ino) if folder.is_dir() else None
    return None


def _changes(library: Path, folders: list[Path], stop: threading.Event) -> Iterator[set[Path]]:
    """What changed, after each burst, or nothing after a while."""
    import watchfiles

    def matters(_: watchfiles.Change, path: str) -> bool:
        place = Path(path)
        if library in (place, *place.parents):
            return False
        roots = [folder for folder in folders if folder in place.parents]
        return any(not is_usually_left_out(place.relative_to(root)) for root in roots)

    options: dict[str, Any] = {"debounce": _BURST_MS, "step": _STEP_MS, "rust_timeout": _LOOK_MS}
    # OSError: the system watches no more folders, or one went away just now. Then they are compared
    # now and then.
    with suppress(OSError, RuntimeError):
        if folders:
            for burst in watchfiles.watch(
                *folders,
                watch_filter=matters,
                stop_event=stop,
                yield_on_timeout=True,
                ignore_permission_denied=True,
                **options,
            ):
                yield {Path(path) for _, path in burst}
    looks = 0
    while not stop.wait(_LOOK_MS / 1000):
        looks += 1
        yield set(folders) if looks % _LOOKS_PER_COMPARISON == 0 else set()
