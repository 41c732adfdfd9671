"""What every route and tool may use, made once when the server starts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Request

from secondlook.retrieval.parse.pages import PageViewer
from secondlook.server.fetches import Fetches
from secondlook.server.security import Guard
from secondlook.settings.sections import DEFAULT_LIBRARY

if TYPE_CHECKING:
    from secondlook.server.jobs import Jobs
    from secondlook.server.libraries import Libraries
    from secondlook.server.runs import Runs
    from secondlook.server.watching import Watching
    from secondlook.settings.sections import Settings


@dataclass(frozen=True, slots=True)
class Served:
    libraries: Libraries
    runs: Runs
    jobs: Jobs
    watching: Watching
    guard: Guard = field(default_factory=Guard)
    viewer: PageViewer = field(default_factory=PageViewer)
    looking: asyncio.Lock = field(default_factory=asyncio.Lock)  # held by who has the viewer
    receiving: set[object] = field(default_factory=set)  # Uploads that are on their way
    fetches: Fetches = field(default_factory=Fetches)
    changing: Lock = field(default_factory=Lock)  # held while settings change
    keeps: bool = False  # whether a change is written to the person's own settings

    @property
    def settings(self) -> Settings:
        """As they are now: the page may change some."""
        return self.libraries.settings(DEFAULT_LIBRARY)


def served(request: Request) -> Served:
    return cast("Served", request.app.state.served)


FromServer = Annotated[Served, Depends(served)]
