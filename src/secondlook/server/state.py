"""What every route and tool may use, made once when the server starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Request

from secondlook.server.security import Guard

if TYPE_CHECKING:
    from secondlook.server.jobs import Jobs
    from secondlook.server.libraries import Libraries
    from secondlook.server.runs import Runs
    from secondlook.server.watching import Watching
    from secondlook.settings.sections import Settings


@dataclass(frozen=True, slots=True)
class Served:
    settings: Settings
    libraries: Libraries
    runs: Runs
    jobs: Jobs
    watching: Watching
    guard: Guard = field(default_factory=Guard)
    receiving: set[object] = field(default_factory=set)  # Uploads that are on their way


def served(request: Request) -> Served:
    return cast("Served", request.app.state.served)


FromServer = Annotated[Served, Depends(served)]
