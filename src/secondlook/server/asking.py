"""What is sent and what comes back when a question is asked."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from pydantic import BaseModel, ConfigDict, Field, model_validator

from secondlook.answer import Answer, Status, StopReason
from secondlook.engine.secondlook import MOST_TURNS, turn_of
from secondlook.errors import RunError, RunMissing
from secondlook.events import Answered, RunStarted
from secondlook.roles.follow_up import Turn
from secondlook.server.events import EVENT_TYPES, EventLog, Queued, Stopped
from secondlook.server.problems import Problem, json_response, responses, wire
from secondlook.server.runs import CLIENT_LEFT, Ask, LiveRun, goes_on
from secondlook.server.state import Served, served
from secondlook.settings.sections import DEFAULT_LIBRARY

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence

    from starlette.types import Receive, Scope, Send

    from secondlook.engine.record import ListedRun, RunStatus
    from secondlook.events import Event
    from secondlook.server.events import Entry
    from secondlook.server.runs import Runs

RunId = Annotated[str, Field(examples=["20260102-1f2e3d4c5b6a"])]
SeenStatus = Status | Literal["queued", "running", "interrupted"]
_MOST_NAMES = 1000
_LONGEST = 20_000
MOST = 10**12
"""Of anything: a number beyond it is a mistake."""
Name = Annotated[str, Field(max_length=1000)]
Text = Annotated[str, Field(max_length=_LONGEST)]


class Strict(BaseModel):
    """A misspelt field is told, not passed over; `"yes"` and `1` are not `true`."""

    model_config = ConfigDict(extra="forbid", strict=True)


class GivenTurn(Strict):
    question: Text
    answer: Text = ""


class Conversation(Strict):
    """What was said before: the run that came before, or the turns themselves."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": {
                "properties": {"after": {"type": "string"}, "turns": {"minItems": 1}},
                "required": ["after", "turns"],
            }
        }
    )

    after: RunId | None = Field(default=None, max_length=100)
    turns: list[GivenTurn] = Field(default_factory=list, max_length=MOST_TURNS)

    @model_validator(mode="after")
    def _one_of_them(self) -> Conversation:
        if self.after is not None and self.turns:
            raise ValueError("give either `after` or `turns`, not both")
        return self


class AskBudget(Strict):
    """No more than the server allows, whatever is asked for. What is left out is as it is set."""

    calls: int | None = Field(default=None, ge=1, le=MOST, description="Model calls.")
    tokens: int | None = Field(default=None, ge=1, le=MOST, description="Tokens, in and out.")
    money: float | None = Field(default=None, gt=0, le=MOST, description="US dollars.")
    seconds: float | None = Field(default=None, gt=0, le=MOST, description="Of time.")

    def caps(self) -> dict[str, float]:
        """Those that are given."""
        return self.model_dump(exclude_none=True)


class AskRequest(Strict):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"question": "How deep is berth 4?"},
                {"question": "Who voted?", "budget": {"calls": 3, "seconds": 20}},
                {"question": "And in 2023?", "conversation": {"after": "20260102-1f2e3d4c5b6a"}},
                {
                    "question": "Which berth is the deepest?",
                    "choices": ["berth 2", "berth 4"],
                    "workflow": "research",
                    "detach": True,
                },
            ]
        },
    )

    question: str = Field(
        min_length=1,
        pattern=r"\S",
        description="What you want to know.",
        examples=["How deep is berth 4?"],
    )
    library: str = Field(default=DEFAULT_LIBRARY, max_length=100)
    workflow: str | None = Field(
        default=None, max_length=100, description="Left out: the server's usual one."
    )
    documents: list[Name] = Field(
        default_factory=list,
        max_length=_MOST_NAMES,
        description="Look only in these: ids, paths, file names or titles.",
    )
    filters: dict[str, str] = Field(
        default_factory=dict, description="Look only in documents with such metadata."
    )
    choices: list[Name] | dict[str, Name] | None = Field(
        default=None, description="Answers to choose from, in order or by letter."
    )
    web: bool | None = Field(
        default=None, description="Whether the web may be searched; no more than the server allows."
    )
    max_risk: float | None = Field(
        default=None, gt=0, lt=1, description="Share of answers that may be wrong."
    )
    budget: AskBudget | None = Field(
        default=None, description="The most that this question may take."
    )
    conversation: Conversation | None = None
    stream: bool = Field(
        default=False, description="Send events as they happen; leaving stops the run."
    )
    detach: bool = Field(
        default=False, description="Return at once; the run goes on whoever is watching."
    )


class Accepted(BaseModel):
    """A run that goes on by itself."""

    run: RunId
    status: SeenStatus = Field(examples=["running"])
    events: str = Field(examples=["/api/runs/20260102-1f2e3d4c5b6a/events"])
    url: str = Field(examples=["/api/runs/20260102-1f2e3d4c5b6a"])


class RunRow(BaseModel):
    """A run as it is listed."""

    id: RunId
    question: str
    workflow: str | None = Field(description="None while it waits.")
    status: SeenStatus
    stop_reason: StopReason | None
    started: str
    short: str | None
    after: RunId | None = Field(description="The run before it in its conversation.")
    library: str | None = Field(description="None where it is of a library not served here.")


class RunList(BaseModel):
    runs: list[RunRow]


class RunView(BaseModel):
    id: RunId
    question: str
    workflow: str | None
    status: SeenStatus
    position: int | None = Field(default=None, description="Its place in the queue; 1 = next.")
    started: str
    after: RunId | None = None
    library: str | None = None
    answer: Answer | None = None


class RunState(BaseModel):
    id: RunId
    status: SeenStatus


# What a question may lean on: the runs before it, or turns that the client tells.


def turns_before(runs: Runs, after: str) -> tuple[Turn, ...]:
    """The turns of a conversation up to the run named, as `chat` would remember them. Reads the
    record: call it in a thread."""
    answer, before = _step(runs, after)
    if answer is None:
        raise Problem(
            409,
            "run_unfinished",
            f"the run {after!r} has no answer to go on from",
            hint="wait for it, resume it, or name the one before it",
        )
    turns = [turn_of(answer)]
    seen = {after}
    while before is not None and before not in seen and len(turns) < MOST_TURNS:
        seen.add(before)
        try:
            answer, before = _step(runs, before)
        except Problem:  # deleted, or beyond what is kept: the conversation begins after it
            break
        if answer is not None:  # one that was stopped was never a turn
            turns.insert(0, turn_of(answer))
    return tuple(turns)


def turns_given(turns: Sequence[GivenTurn]) -> tuple[Turn, ...]:
    return tuple(Turn(asked=turn.question, text=turn.answer) for turn in turns)


def _step(runs: Runs, run: str) -> tuple[Answer | None, str | None]:
    """The answer of a run, and the run before it."""
    live = runs.live(run)
    if live is not None:
        return live.answer, live.ask.after
    stored = runs.record.find(run)
    if stored is None:
        raise Problem(
            422,
            "conversation_missing",
            f"there is no run {run!r} to go on from",
            hint="GET /api/runs lists them; or send the turns themselves",
        )
    return stored.answer, (stored.request.get("caller") or {}).get("after")


# A run as server-sent events, from the start or from where a client left off.

KEEP_ALIVE_SECONDS: Final = 15.0
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
STREAM_DOCS: dict[str, Any] = {
    "description": "Server-sent events: `id` is the number to come back with, `event` is one of "
    f"{', '.join(f'`{name}`' for name in EVENT_TYPES)}, `data` is JSON (docs/runs.md). "
    "The last one is `answered` or `stopped`.",
    "content": {
        "text/event-stream": {
            "itemSchema": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "event": {"enum": list(EVENT_TYPES)},
                    "data": {"type": "string", "contentMediaType": "application/json"},
                },
                "required": ["id", "event", "data"],
            },
            "example": 'id: 1000000\nevent: run_started\ndata: {"type": "run_started", '
            '"run": "20260102-1f2e3d4c5b6a", "at": 0.0, "question": "How deep is berth 4?", '
            '"workflow": "linear"}\n\n',
        }
    },
}


class EventStream(EventSourceResponse):
    """`left` is called when nobody reads any more, for whatever reason."""

    def __init__(self, pieces: AsyncIterable[bytes], *, left: Callable[[], None]) -> None:
        super().__init__(pieces, headers=_HEADERS)
        self._left = left

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._left()


def live_stream(live: LiveRun, after: int = 0, *, left: Callable[[], None]) -> EventStream:
    return EventStream(pieces(live.log, after), left=left)


def stored_stream(log: EventLog, after: int) -> EventStream:
    """Of a run that has ended. Who has it all already is given the end once more: a server that
    was killed may have sent events that it had not recorded."""
    return EventStream(pieces(log, min(after, log.number - 1)), left=lambda: None)


async def pieces(log: EventLog, after: int) -> AsyncIterator[bytes]:
    async with aclosing(log.follow(after, idle=KEEP_ALIVE_SECONDS)) as entries:
        async for entry in entries:
            yield KEEPALIVE_COMMENT if entry is None else sent(entry)


def sent(entry: Entry) -> bytes:
    return format_sse_event(
        data_str=wire(entry.event), event=entry.event.type, id=str(entry.number)
    )


# `POST /api/ask`: one question, answered at once, as a stream, or by itself.

ask_router = APIRouter(prefix="/api", tags=["questions"])
STREAM: Final = "text/event-stream"
_SECONDS_TO_BEGIN = 2.0
"""Within them most mistakes of a question show: they are told at once, not in its events."""
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Answer,
        "description": "The answer, whatever its status; or, streaming, its events.",
        "content": {STREAM: STREAM_DOCS["content"][STREAM]},
    },
    202: {"model": Accepted, "description": "The run goes on by itself (`detach`)."},
    **responses(404, 409, 422, 429, 503),
}


@ask_router.post("/ask", summary="Ask a question", responses=_RESPONSES)
async def ask(
    body: AskRequest, request: Request, served: Annotated[Served, Depends(served)]
) -> Response:
    """Answers with the whole answer; with `stream` (or `Accept: text/event-stream`) with events,
    ending in the answer; with `detach` at once, and the run goes on without you. An answer that
    says "I don't know" is an answer: 200."""
    live = served.runs.start(await question_of(body, served))
    if body.detach:
        await begun(live)
        return json_response(accepted(live), 202)

    def left() -> None:
        if not live.ended:
            served.runs.cancel(live.id, CLIENT_LEFT)

    if body.stream or _accepts_stream(request):
        await begun(live)
        return live_stream(live, left=left)
    try:
        answer = await _answered(live, request)
        return json_response(answer) if answer else Response(status_code=204)
    finally:
        left()


async def question_of(body: AskRequest, served: Served) -> Ask:
    said = body.conversation
    after = said.after if said else None
    turns: tuple[Turn, ...] = turns_given(said.turns) if said else ()
    if after is not None:
        turns = await asyncio.to_thread(turns_before, served.runs, after)
    return Ask(
        question=body.question,
        library=body.library,
        workflow=body.workflow,
        documents=tuple(body.documents),
        filters=body.filters,
        choices=body.choices,
        max_risk=body.max_risk,
        budget=body.budget.caps() if body.budget else None,
        web=body.web,
        after=after,
        turns=turns,
    )


async def begun(live: LiveRun) -> None:
    """Wait until it is under way or in the queue, and recorded as such: whoever is told of it
    finds it there, also if this server dies. What cannot be carried out is told here."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SECONDS_TO_BEGIN):
            await live.until(RunStarted, Queued, Stopped)
            if live.noting is not None:
                await asyncio.shield(asyncio.wrap_future(live.noting))
    if live.problem is not None:
        raise live.failure()


def accepted(live: LiveRun) -> Accepted:
    url = f"/api/runs/{live.id}"
    return Accepted(run=live.id, status=live.status, events=f"{url}/events", url=url)


def _accepts_stream(request: Request) -> bool:
    return STREAM in request.headers.get("accept", "")


async def _answered(live: LiveRun, request: Request) -> Answer | None:
    """The answer; None where the client has gone before it was there."""
    answer = asyncio.create_task(live.answered())
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else None
    finally:
        answer.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


# Runs that another process works on, watched through the record that both share.

SHORTEST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 2.0
"""Seconds between two looks at the record: rarer while nothing happens."""
_GROWTH = 1.5
_MOST_FAILURES = 30
"""Looks in a row at a record that cannot be read, before the stream ends without a last event."""
STOPS_WITHIN: Final = 5.0
"""Seconds in which another process is expected to stop. A server looks every second."""
INTERRUPTED: Final = "it was interrupted"
DELETED: Final = "it was deleted"


async def recorded_stream(runs: Runs, run: str, after: int) -> EventStream:
    """The events of a run that is not in this server's memory, for as long as it goes on."""
    status, events = await asyncio.to_thread(runs.record.news, run, 0)
    log = EventLog()
    _take(log, run, status, events)
    if log.closed:
        return stored_stream(log, after)
    return EventStream(_followed(runs, run, log, after), left=lambda: None)


async def _followed(runs: Runs, run: str, log: EventLog, after: int) -> AsyncIterator[bytes]:
    feeding = asyncio.create_task(_feed(runs, run, log))
    try:
        async for piece in pieces(log, after):
            yield piece
    finally:
        feeding.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await feeding


async def _feed(runs: Runs, run: str, log: EventLog) -> None:
    """Look at the record until the run has ended, whoever ended it, or this server does."""
    pause, failures = SHORTEST_PAUSE, 0
    while not log.closed:
        await asyncio.sleep(pause)
        known = len(log)
        try:
            status, events = await asyncio.to_thread(runs.record.news, run, known)
            _take(log, run, status, events)
            failures = 0
        except RunMissing:
            log.append(Stopped(run=run, why=DELETED), last=True)
        except RunError:
            failures += 1
        if runs.ending or failures == _MOST_FAILURES:
            log.close()
        pause = SHORTEST_PAUSE if len(log) > known else min(pause * _GROWTH, LONGEST_PAUSE)


async def stopped_elsewhere(runs: Runs, run: str) -> RunStatus:
    """Ask whoever works on a run to stop, and tell how the run stands once nobody does."""
    status = await _status(runs, run)
    if status != "running":
        return status
    stops = await asyncio.to_thread(runs.record.stops, run)
    await asyncio.to_thread(stops.ask, run)
    try:
        async with asyncio.timeout(STOPS_WITHIN):
            while status == "running":
                await asyncio.sleep(SHORTEST_PAUSE)
                status = await _status(runs, run)
    except TimeoutError:
        await asyncio.to_thread(stops.withdraw, run)
        raise goes_on(run, await asyncio.to_thread(stops.worker, run)) from None
    return status


async def _status(runs: Runs, run: str) -> RunStatus:
    return (await asyncio.to_thread(runs.record.get, run)).status


def _take(log: EventLog, run: str, status: RunStatus, events: list[Event]) -> None:
    for event in events:
        log.append(event, last=isinstance(event, Answered))
    if not log.closed and status != "running":
        log.append(Stopped(run=run, why=INTERRUPTED), last=True)


# `/api/runs`: what was asked, what goes on, and how to watch, stop, resume and delete it.

runs_router = APIRouter(prefix="/api/runs", tags=["runs"])
RunPath = Annotated[str, Path(alias="run", max_length=100, examples=["20260102-1f2e3d4c5b6a"])]
ServedBy = Annotated[Served, Depends(served)]


@runs_router.get("", summary="List runs, newest first")
async def list_runs(
    served: ServedBy,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> RunList:
    return await asyncio.to_thread(_listed, served, limit, offset)


@runs_router.get("/{run}", summary="One run and its answer", responses=responses(404))
async def show_run(run: RunPath, served: ServedBy) -> RunView:
    view = await asyncio.to_thread(_view, served.runs, run)
    return json_response(view)  # type: ignore[return-value]  # as valid JSON


@runs_router.get(
    "/{run}/events",
    summary="What happens in a run",
    response_class=Response,
    responses={200: STREAM_DOCS, **responses(404)},
)
async def run_events(
    run: RunPath,
    served: ServedBy,
    after: Annotated[
        int | None, Query(ge=0, description="The number of the last event you have.")
    ] = None,
    last_event_id: Annotated[
        str | None, Header(description="The same, as browsers say it.")
    ] = None,
) -> Response:
    """From the start, or from the event after the one named, also where another server named it.
    Ends after the last one. A run that goes on in another process is watched all the same."""
    number = after if after is not None else _number(last_event_id)
    live = await asyncio.to_thread(served.runs.here, run)
    if live is not None:
        return live_stream(live, number, left=lambda: None)
    return await recorded_stream(served.runs, run, number)


@runs_router.post(
    "/{run}/cancel", status_code=202, summary="Stop a run", responses=responses(404, 409)
)
async def cancel_run(run: RunPath, served: ServedBy) -> RunState:
    """Its events end with `stopped`. One that has ended is left as it is; one that another server
    works on is stopped there."""
    live = await asyncio.to_thread(served.runs.here, run)
    if live is not None:
        served.runs.cancel(run)
        return RunState(id=run, status=live.status)
    return RunState(id=run, status=await stopped_elsewhere(served.runs, run))


@runs_router.post(
    "/{run}/resume",
    status_code=202,
    summary="Take up a run that ended without an answer",
    responses=responses(404, 409, 429),
)
async def resume_run(run: RunPath, served: ServedBy) -> Accepted:
    """What it had done and paid for is not done again. Its events go on from the number of the
    last one."""
    live = await asyncio.to_thread(served.runs.resume, run)
    await begun(live)
    return accepted(live)


@runs_router.delete(
    "/{run}", status_code=204, summary="Delete a run", responses=responses(404, 409)
)
async def delete_run(run: RunPath, served: ServedBy) -> None:
    """With every trace of it: its checkpoints, and what was remembered of it."""
    await asyncio.to_thread(served.runs.forget, run)


def _number(last_event_id: str | None) -> int:
    """A browser sends back what it was sent; anything else counts as the start."""
    given = (last_event_id or "").strip()
    return int(given) if given.isascii() and given.isdigit() and len(given) < 16 else 0  # noqa: PLR2004


def _listed(served: Served, limit: int, offset: int) -> RunList:
    """Those in memory that are not recorded come first: they wait, or are never recorded."""
    recorded = served.runs.record.page(limit + offset, 0)
    known = {row.run for row in recorded}
    fresh = [
        _row(live)
        for live in served.runs.unrecorded()
        if live.id not in known and served.runs.record.find(live.id) is None
    ]
    rows = [*fresh, *(_recorded_row(served, row) for row in recorded)]
    return RunList(runs=rows[offset : offset + limit])


def _row(live: LiveRun) -> RunRow:
    answer = live.answer
    return RunRow(
        id=live.id,
        question=live.ask.question,
        workflow=live.workflow or live.ask.workflow,
        status=live.status,
        stop_reason=answer.stop_reason if answer else None,
        started=live.started,
        short=answer.short if answer else None,
        after=live.ask.after,
        library=live.ask.library,
    )


def _recorded_row(served: Served, row: ListedRun) -> RunRow:
    live = served.runs.live(row.run)
    if live is not None and live.went_on(row.status):
        live = None
    caller = row.request.get("caller") or {}
    return RunRow(
        id=row.run,
        question=row.question,
        workflow=row.workflow,
        status=live.status if live else row.status,
        stop_reason=row.stop_reason,
        started=row.created,
        short=row.short,
        after=caller.get("after"),
        library=served.runs.library_of(row.request),
    )


def _view(runs: Runs, run: str) -> RunView:
    live = runs.here(run)
    return _seen(live) if live else _recorded(runs, run)


def _seen(live: LiveRun) -> RunView:
    return RunView(
        id=live.id,
        question=live.ask.question,
        workflow=live.workflow or live.ask.workflow,
        status=live.status,
        position=live.position,
        started=live.started,
        after=live.ask.after,
        library=live.ask.library,
        answer=live.answer,
    )


def _recorded(runs: Runs, run: str) -> RunView:
    stored = runs.record.get(run)
    caller = stored.request.get("caller") or {}
    return RunView(
        id=stored.run,
        question=stored.question,
        workflow=stored.workflow,
        status=stored.status,
        started=stored.created,
        after=caller.get("after"),
        library=runs.library_of(stored.request),
        answer=stored.answer,
    )
