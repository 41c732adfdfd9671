"""How a library fills itself: pasted texts, web addresses, and folders that are watched."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.datastructures import Headers

from secondlook.errors import LibraryBusy, SecondlookError, UsageError
from secondlook.library.about import about, keep_in_step
from secondlook.library.report import is_address, pasted
from secondlook.library.watch import require_watchfiles, watch
from secondlook.server.jobs import Fetched, Followed, Job, Pasted
from secondlook.server.library import OpenedLibrary  # noqa: TC001
from secondlook.server.problems import Problem
from secondlook.server.security import LOOPBACK, host_name, is_loopback
from secondlook.server.state import FromServer, Served  # noqa: TC001
from secondlook.server.uploads import allowed_places

if TYPE_CHECKING:
    from secondlook.server.jobs import Jobs
    from secondlook.server.libraries import Libraries

router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])
_POLL_SECONDS = 0.2
_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class _Strict(BaseModel, extra="forbid", strict=True):
    pass


# Texts and web addresses


class PastedText(_Strict):
    text: str = Field(min_length=1, max_length=1_000_000)
    title: str = Field(default="", max_length=200, description="Empty: its first line.")


class Addresses(_Strict):
    addresses: list[str] = Field(
        min_length=1, max_length=20, examples=[["https://example.org/guide"]]
    )
    depth: int = Field(default=0, ge=0, le=5, description="Links to follow, on the same site.")


@router.post("/texts", status_code=202)
async def add_text(opened: OpenedLibrary, asked: PastedText) -> Job:
    """A text of the same title is replaced."""
    return opened.jobs.start(opened.name, Pasted(pasted(asked.text, asked.title))).form()


@router.post("/addresses", status_code=202)
async def add_addresses(opened: OpenedLibrary, asked: Addresses) -> Job:
    """Pages of the web, by http or https, never of a private address; robots.txt is respected."""
    for address in asked.addresses:
        if not is_address(address):
            said = f"{address[:200]!r} is not a web address"
            raise UsageError(said, hint="it begins with https://")
    return opened.jobs.start(opened.name, Fetched(asked.addresses, asked.depth)).form()


# Folders that are watched


class WatchedFolder(BaseModel):
    folder: str = Field(description="Its path; to a visitor from elsewhere its name alone.")
    waits: str = Field(description="What keeps the library out of step with it; mostly empty.")


class WatchedFolders(BaseModel):
    folders: list[WatchedFolder]
    allowed: bool = Field(description="Whether this client may watch folders by their path.")
    changes: int = Field(description="Goes up with every file that a watch changed.")


class WatchFolder(_Strict):
    folder: str = Field(min_length=1, max_length=4096, examples=["/home/ada/papers"])
    on: bool = True


@router.get("/watched")
async def list_watched(
    opened: OpenedLibrary, request: Request, state: FromServer
) -> WatchedFolders:
    """The folders that this library is kept in step with while the server runs."""
    return await asyncio.to_thread(_watched, opened, request, state)


@router.put("/watched")
async def watch_folder(
    opened: OpenedLibrary, asked: WatchFolder, request: Request, state: FromServer
) -> WatchedFolders:
    """From the machine that the server runs on any folder; from elsewhere those of `serve.roots`.
    Switched off, what was read of it stays."""

    def switch() -> WatchedFolders:
        if is_local(request, state):
            folder = Path(asked.folder).expanduser()
            if not folder.is_absolute():
                raise UsageError("the folder needs its whole path", hint="such as /home/ada/papers")
        else:
            (folder,) = allowed_places([asked.folder], state.settings.serve.root_paths)
        if asked.on:
            require_watchfiles()
        keep_in_step(opened.library.path, [folder], on=asked.on)
        state.watching.begin(opened.name)
        return _watched(opened, request, state)

    return await asyncio.to_thread(switch)


def _watched(opened: OpenedLibrary, request: Request, state: Served) -> WatchedFolders:
    local, waits = is_local(request, state), state.watching.waits(opened.name)
    allowed = local or bool(state.settings.serve.roots)
    return WatchedFolders(
        folders=[
            WatchedFolder(folder=one if allowed else Path(one).name, waits=waits.get(one, ""))
            for one in about(opened.library.path).watched
        ],
        allowed=allowed,
        changes=state.watching.changes,
    )


def is_local(request: Request, state: Served) -> bool:
    """Whether the request comes from this machine itself, and through no proxy on it."""
    headers = Headers(scope=request.scope)
    peer = request.client.host if request.client else ""
    return (
        is_loopback(peer)
        and host_name(headers.get("host", "")) in LOOPBACK
        and not state.settings.serve.origins
        and not any(name in headers for name in _FORWARDED)
    )


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
