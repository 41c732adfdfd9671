"""How a library fills itself: pasted texts, web addresses, and folders that are watched."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.datastructures import Headers

from secondlook.errors import UsageError
from secondlook.library.about import about, keep_in_step
from secondlook.library.report import is_address, pasted
from secondlook.library.watch import require_watchfiles
from secondlook.server.jobs import Fetched, Job, Pasted
from secondlook.server.library import OpenedLibrary  # noqa: TC001
from secondlook.server.security import LOOPBACK, host_name, is_loopback
from secondlook.server.state import FromServer, Served  # noqa: TC001
from secondlook.server.uploads import allowed_places

router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])
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
