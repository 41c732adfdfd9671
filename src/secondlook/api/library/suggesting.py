"""Questions to begin with, made in the background and kept until the library changes."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING

from fastapi import APIRouter

from secondlook.api.library.forms import Suggestions
from secondlook.api.library.opened import Opened, OpenedLibrary  # noqa: TC001
from secondlook.api.problems import responses
from secondlook.errors import SecondlookError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secondlook.library import Library

    Stopping = Callable[[], bool]

router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])
log = logging.getLogger(__name__)
_NOTHING = Suggestions(questions=[], ready=True)


class Suggesting:
    """Threads may share one. What was made of a library is good until its documents change, and
    one thread at a time makes it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Path, tuple[frozenset[str], Suggestions]] = {}
        self._making: set[Path] = set()

    def made(self, library: Path, version: frozenset[str]) -> Suggestions | None:
        with self._lock:
            known = self._made.get(library)
        return known[1] if known is not None and known[0] == version else None

    def begin(self, library: Path) -> bool:
        """Whether the caller is the one to make them."""
        with self._lock:
            begins = library not in self._making
            self._making.add(library)
        return begins

    def make(self, library: Library, version: frozenset[str], stopping: Stopping) -> None:
        """What fails here costs a suggestion and nothing else."""
        from secondlook.api.library.made_questions import suggestions

        made = []
        try:
            made = suggestions(library, stopping)
        except SecondlookError as error:
            log.warning("no questions could be suggested: %s", error)
        finally:
            with self._lock:
                if not stopping():
                    self._made[library.path] = version, Suggestions(questions=made, ready=True)
                self._making.discard(library.path)


_suggesting = Suggesting()


@router.get("/suggestions", summary="Questions to begin with", responses=responses(404))
async def suggest(opened: OpenedLibrary) -> Suggestions:
    """Up to three that this library answers, made from its own files: each was tried. They are
    made in the background, while nothing is being taken in; until then `ready` is false."""
    return await asyncio.to_thread(_suggested, opened)


def _suggested(opened: Opened) -> Suggestions:
    library, jobs = opened.library, opened.jobs
    version = frozenset(item.id for item in library.documents())
    found = _suggesting.made(library.path, version) if version else _NOTHING
    if found is not None:
        return found
    if not jobs.active(opened.name) and _suggesting.begin(library.path):
        jobs.aside(lambda stopping: _suggesting.make(library, version, stopping))
    return Suggestions(questions=[], ready=False)
