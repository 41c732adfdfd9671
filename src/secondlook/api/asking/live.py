"""A question as it was asked of the server, and the run that it became."""

from __future__ import annotations

import threading
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from secondlook.answer import Answer  # noqa: TC001  # callers read the annotations
from secondlook.api.asking.events import Queued, Stopped
from secondlook.api.asking.log import EventLog
from secondlook.api.problems import Problem
from secondlook.events import Answered, RunStarted
from secondlook.memory.runs import RunStatus
from secondlook.settings.serving import DEFAULT_LIBRARY

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

    from secondlook.api.asking.events import SeenEvent
    from secondlook.api.problems import ProblemDetails
    from secondlook.nodes.stand_alone import Turn

SeenStatus = RunStatus | Literal["queued"]
CANCELLED = "it was stopped"
CLIENT_LEFT = "who asked has gone"
SERVER_STOPS = "the server is stopping"


@dataclass(frozen=True, slots=True)
class Ask:
    """One question, whichever door it came through."""

    question: str
    library: str = DEFAULT_LIBRARY
    workflow: str | None = None
    documents: tuple[str, ...] = ()
    filters: Mapping[str, object] = field(default_factory=dict)
    choices: Mapping[str, str] | Sequence[str] | None = None
    max_risk: float | None = None
    budget: Mapping[str, float] | None = None
    """Of this question, within the server's own."""
    web: bool | None = None
    """None = as the server is set."""
    after: str | None = None
    """The run before it in a conversation."""
    turns: tuple[Turn, ...] = ()
    """What was said before, made from `after` or given."""

    def options(self) -> dict[str, Any]:
        """As `Secondlook.astream` takes them."""
        return {
            "workflow": self.workflow,
            "documents": list(self.documents) or None,
            "filters": dict(self.filters) or None,
            "choices": self.choices,
            "max_risk": self.max_risk,
            "budget": self.budget,
            "earlier": self.turns,
            "caller": {"library": self.library, "after": self.after},
        }


@dataclass(slots=True, eq=False)
class LiveRun:
    """A run of this process: waiting, going on, or ended not long ago."""

    id: str
    ask: Ask
    resumed: bool = False
    log: EventLog = field(default_factory=EventLog)
    status: SeenStatus = "queued"
    workflow: str | None = None
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    answer: Answer | None = None
    problem: ProblemDetails | None = None
    """Why it could not be carried out at all."""
    stopping: str = CANCELLED
    task: asyncio.Task[Any] | None = None
    noting: Future[None] | None = None
    """Done when a run that waits is recorded."""
    put_away: threading.Event = field(default_factory=threading.Event)
    """Set when nothing works on it any more."""

    @property
    def ended(self) -> bool:
        return self.log.closed

    @property
    def position(self) -> int | None:
        last = self.log.last
        waits = self.status == "queued" and isinstance(last, Queued)
        return last.position if waits and isinstance(last, Queued) else None

    def went_on(self, recorded: RunStatus) -> bool:
        """Whether it was left here and taken up by another process, as its record says."""
        left = self.ended and self.answer is None and self.put_away.is_set()
        return left and recorded != "interrupted"

    def see(self, event: SeenEvent) -> None:
        """Take in an event of the engine."""
        if isinstance(event, RunStarted):
            self.workflow = event.workflow
        if isinstance(event, Answered):
            self.answer = event.answer
            self.status = event.answer.status
        self.log.append(event, last=isinstance(event, Answered))

    def catch_up(self, recorded: Sequence[SeenEvent]) -> None:
        """Take in what happened while another process worked on it."""
        log = EventLog(recorded)
        if log.number > self.log.number:
            self.log = log

    def begin_again(self) -> None:
        """It waits for its turn, whatever it was before."""
        self.status = "queued"
        self.problem = None
        self.stopping = CANCELLED
        self.log.reopen()

    def stop(self, why: str, problem: ProblemDetails | None = None) -> None:
        """It ends without an answer."""
        if not self.ended:
            self.status = "interrupted"
            self.problem = problem
            event = Stopped(run=self.id, why=why, problem=problem)
            self.log.append(event, last=True)

    async def answered(self) -> Answer:
        """The answer, once it is there; a `Problem` where none will come."""
        await self.until()
        if self.answer is not None:
            return self.answer
        raise self.failure()

    async def until(self, *kinds: type) -> None:
        """Wait for an event of such a kind, or for the end."""
        async with aclosing(self.log.follow()) as entries:
            async for entry in entries:
                if entry is not None and isinstance(entry.event, kinds):
                    return

    def failure(self) -> Problem:
        """What a client is told of a run that ended without an answer."""
        if self.problem is not None:
            known = self.problem
            return Problem(known.status, known.code, known.detail, hint=known.hint)
        last = self.log.last
        why = last.why if isinstance(last, Stopped) else CANCELLED
        return Problem(
            409,
            "run_stopped",
            f"the run {self.id!r} ended without an answer: {why}",
            hint=f"POST /api/runs/{self.id}/resume takes it up",
        )
