"""What can be seen of a run besides the engine's own events."""

from __future__ import annotations

from typing import Literal

from secondlook.answer import Record
from secondlook.api.problems import ProblemDetails  # noqa: TC001  # pydantic reads it
from secondlook.events import Event


class Queued(Record):
    """It waits for others to end; told again whenever its place changes."""

    type: Literal["queued"] = "queued"
    run: str
    position: int
    """1 = the next."""


class Stopped(Record):
    """The last event of a run that ended without an answer."""

    type: Literal["stopped"] = "stopped"
    run: str
    why: str
    problem: ProblemDetails | None = None
    """Where it could not be carried out at all."""


SeenEvent = Event | Queued | Stopped
EVENT_TYPES = (
    "queued",
    "run_started",
    "node_started",
    "passages_found",
    "token",
    "redrafted",
    "warned",
    "node_finished",
    "routed",
    "answered",
    "stopped",
)
