"""What every route may use, made once when the server starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from fastapi import Request  # noqa: TC002

if TYPE_CHECKING:
    from secondlook.library.library import Library
    from secondlook.server.jobs import Jobs
    from secondlook.server.libraries import Libraries
    from secondlook.server.runs import Runs
    from secondlook.server.security import Guard
    from secondlook.settings.sections import Settings


@dataclass(frozen=True, slots=True)
class Served:
    settings: Settings
    libraries: Libraries
    runs: Runs
    jobs: Jobs
    guard: Guard


def served(request: Request) -> Served:
    """A dependency: `Annotated[Served, Depends(served)]`."""
    return cast("Served", request.app.state.served)


# What the tools work with: the same on HTTP, where it is the server's own, and on stdio.

DEFAULT_LIBRARY = "default"


@dataclass(frozen=True, slots=True)
class Service:
    settings: Settings
    libraries: Libraries
    runs: Runs
    jobs: Jobs

    def library(self, name: str = DEFAULT_LIBRARY) -> Library:
        """The first call opens it and takes its time: call it in a thread."""
        return self.libraries.engine(name).library
