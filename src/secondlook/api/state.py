"""What every route may use, made once when the server starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from fastapi import Request  # noqa: TC002  # FastAPI reads it

if TYPE_CHECKING:
    from secondlook.api.asking.runs import Runs
    from secondlook.api.libraries import Libraries
    from secondlook.api.library.jobs import Jobs
    from secondlook.api.security import Guard
    from secondlook.settings import Settings


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
