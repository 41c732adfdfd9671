"""`/api/ask` and `/api/runs`: ask a question; list, watch, stop, resume and delete runs."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from pydantic import BaseModel, ConfigDict, Field

from secondlook.answer import Answer, Status, StopReason
from secondlook.engine.secondlook import MOST_TURNS, turn_of
from secondlook.errors import RunError, RunMissing
from secondlook.events import Answered, Event, RunStarted
from secondlook.roles.follow_up import Turn
from secondlook.server.events import EVENT_TYPES, EventLog, Queued, Stopped
from secondlook.server.problems import Problem, json_response, responses, wire
from secondlook.server.runs import CLIENT_LEFT, Ask, LiveRun, Runs
from secondlook.server.state import FromServer, Served  # noqa: TC001
from secondlook.settings.sections import DEFAULT_LIBRARY

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable

    from starlette.types import Receive, Scope, Send

    from secondlook.engine.record import ListedRun, RunStatus, StoredRun

router = APIRouter(prefix="/api")

RunId = Annotated[str, Field(examples=["20260102-1f2e3d4c5b6a"])]
RunPath = Annotated[str, Path(alias="run", max_length=100, examples=["20260102-1f2e3d4c5b6a"])]
SeenStatus = Status | Literal["queued", "running", "interrupted"]
Feedback = Literal["right", "wrong", "should_have_answered"]
MOST = 10**12  # a number beyond it is a mistake
Name = Annotated[str, Field(max_length=1000)]
Text = Annotated[str, Field(max_length=20_000)]


class Strict(BaseModel):
    """A misspelt field is an error; `"yes"` and `1` are not `true`."""

    model_config = ConfigDict(extra="forbid", strict=True)


class GivenTurn(Strict):
    question: Text
    answer: Text = ""


class Conversation(Strict):
    """What was said before: the run that came before, or the turns themselves."""

    after: RunId | None = Field(default=None, max_length=100)
    turns: list[GivenTurn] = Field(default_factory=list, max_length=MOST_TURNS)


class AskBudget(Strict):
    """Within the server's own budget. What is left out is as the server is set."""

    calls: int | None = Field(default=None, ge=1, le=MOST, description="Model calls.")
    tokens: int | None = Field(default=None, ge=1, le=MOST, description="Tokens, in and out.")
    money: float | None = Field(default=None, gt=0, le=MOST, description="US dollars.")
    seconds: float | None = Field(default=None, gt=0, le=MOST)

    def caps(self) -> dict[str, float]:
        return self.model_dump(exclude_none=True)


class AskRequest(Strict):
    question: str = Field(min_length=1, pattern=r"\S", examples=["How deep is berth 4?"])
    library: str = Field(default=DEFAULT_LIBRARY, max_length=100)
    workflow: str | None = Field(default=None, max_length=100)
    documents: list[Name] = Field(default_factory=list, max_length=1000)
    trust: list[Name] = Field(
        default_factory=list, max_length=100, description="Read although they give a model orders."
    )
    filters: dict[str, str] = Field(default_factory=dict)
    choices: list[Name] | dict[str, Name] | None = None
    web: bool | None = None
    max_risk: float | None = Field(default=None, gt=0, lt=1)
    budget: AskBudget | None = None
    conversation: Conversation | None = None
    stream: bool = False
    detach: bool = Field(default=False, description="Return at once; the run goes on by itself.")


class Accepted(BaseModel):
    run: RunId
    status: SeenStatus = Field(examples=["running"])
    events: str = Field(examples=["/api/runs/20260102-1f2e3d4c5b6a/events"])
    url: str = Field(examples=["/api/runs/20260102-1f2e3d4c5b6a"])


class RunState(BaseModel):
    id: RunId
    status: SeenStatus


class _Run(RunState):
    question: str
    workflow: str | None = Field(description="None while it waits.")
    started: str
    after: RunId | None = Field(description="The run before it in its conversation.")
    library: str | None = Field(description="None where its library is not served here.")
    title: str | None = Field(default=None, description="Of the thread that begins with it.")
    feedback: Feedback | None = None


class RunFeedback(Strict):
    feedback: Feedback | None = Field(description="`null` takes it back.")


class RunRow(_Run):
    stop_reason: StopReason | None
    short: str | None


class RunList(BaseModel):
    runs: list[RunRow]


class RunView(_Run):
    position: int | None = Field(default=None, description="Its place in the queue; 1 = next.")
    answer: Answer | None = None


# Server-sent events, from the start or from where a client left off.

KEEP_ALIVE_SECONDS: Final = 15.0
STREAM: Final = "text/event-stream"
STREAM_DOCS: dict[str, Any] = {
    "description": "Server-sent events: `id` is the number to come back with, `event` is one of "
    f"{', '.join(f'`{name}`' for name in EVENT_TYPES)}, `data` is JSON (docs/runs.md). "
    "The last one is `answered` or `stopped`.",
    "content": {STREAM: {}},
}


class EventStream(EventSourceResponse):
    """`left` is called when nobody reads any more, for whatever reason."""

    def __init__(
        self, pieces: AsyncIterable[bytes], *, left: Callable[[], None] = lambda: None
    ) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(pieces, headers=headers)
        self._left = left

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._left()


async def pieces(log: EventLog, after: int = 0) -> AsyncIterator[bytes]:
    async with aclosing(log.follow(after, idle=KEEP_ALIVE_SECONDS)) as entries:
        async for entry in entries:
            if entry is None:
                yield KEEPALIVE_COMMENT
            else:
                event, number = entry.event, str(entry.number)
                yield format_sse_event(data_str=wire(event), event=event.type, id=number)


# `POST /api/ask`

_SECONDS_TO_BEGIN = 2.0  # most mistakes of a question show within them: they are sent at once
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"model": Answer, "description": "The answer, or its events.", "content": {STREAM: {}}},
    202: {"model": Accepted, "description": "The run goes on by itself (`detach`)."},
    **responses(404, 409, 422, 429, 503),
}


@router.post("/ask", tags=["questions"], responses=_RESPONSES)
async def ask(body: AskRequest, request: Request, served: FromServer) -> Response:
    """The whole answer; with `stream` (or `Accept: text/event-stream`) events that end in it; with
    `detach` at once, and the run goes on. "I don't know" is an answer: 200."""
    live = served.runs.start(await _question(body, served))
    if body.detach:
        await begun(live)
        return json_response(_accepted(live), 202)
    if body.stream or STREAM in request.headers.get("accept", ""):
        await begun(live)
        return EventStream(pieces(live.log), left=lambda: leave(served.runs, live))
    async with left_when_gone(request, served.runs, live):
        return json_response(await live.answered())


async def _question(body: AskRequest, served: Served) -> Ask:
    said = body.conversation or Conversation()
    turns = tuple(Turn(asked=turn.question, text=turn.answer) for turn in said.turns)
    if said.after is not None:
        turns = await asyncio.to_thread(turns_before, served.runs, said.after)
    same = ("question", "library", "workflow", "filters", "choices", "max_risk", "web")
    return Ask(
        **{name: getattr(body, name) for name in same},
        documents=tuple(body.documents),
        trust=tuple(body.trust),
        budget=body.budget.caps() if body.budget else None,
        after=said.after,
        turns=turns,
    )


def turns_before(runs: Runs, after: str) -> tuple[Turn, ...]:
    """The turns of a conversation up to that run. Reads the record: call it in a thread."""
    turns: list[Turn] = []
    seen: set[str] = set()
    before: str | None = after
    while before is not None and before not in seen and len(turns) < MOST_TURNS:
        seen.add(before)
        found: LiveRun | StoredRun | None = runs.live(before) or runs.record.find(before)
        if found is None:
            if turns:  # deleted, or beyond what is kept: the conversation begins after it
                break
            said = f"there is no run {after!r} to go on from"
            hint = "GET /api/runs lists them; or send the turns themselves"
            raise Problem(422, "conversation_missing", said, hint=hint)
        if found.answer is not None:
            turns.insert(0, turn_of(found.answer))
        elif before == after:  # further back, one that was stopped was never a turn
            said = f"the run {after!r} has no answer to go on from"
            hint = "wait for it, resume it, or name the one before it"
            raise Problem(409, "run_unfinished", said, hint=hint)
        before = found.ask.after if isinstance(found, LiveRun) else _after(found)
    return tuple(turns)


def _after(stored: StoredRun | ListedRun) -> str | None:
    after: str | None = (stored.request.get("caller") or {}).get("after")
    return after


async def begun(live: LiveRun) -> None:
    """Wait until it runs or waits and is recorded, so that its id can be found by any server."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SECONDS_TO_BEGIN):
            await live.until(RunStarted, Queued, Stopped)
            if live.noting is not None:
                await asyncio.shield(asyncio.wrap_future(live.noting))
    if live.problem is not None:
        raise live.failure()


def leave(runs: Runs, live: LiveRun) -> None:
    """A client that goes stops its run: nobody else would read the answer."""
    if not live.ended:
        runs.cancel(live.id, CLIENT_LEFT)


@asynccontextmanager
async def left_when_gone(request: Request, runs: Runs, live: LiveRun) -> AsyncIterator[None]:
    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        leave(runs, live)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        leave(runs, live)


def _accepted(live: LiveRun) -> Accepted:
    url = f"/api/runs/{live.id}"
    return Accepted(run=live.id, status=live.status, events=f"{url}/events", url=url)


# Runs that another process works on, watched through the record that both share.

SHORTEST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 2.0  # seconds between two looks at the record: rarer while nothing happens
_MOST_FAILURES = 30  # looks in a row at a record that cannot be read, before the stream ends
STOPS_WITHIN: Final = 5.0  # seconds for another process to stop; a server looks every second


async def recorded_stream(runs: Runs, run: str, after: int) -> EventStream:
    """The events of a run that is not in this server's memory, for as long as it goes on."""
    status, events = await asyncio.to_thread(_news, runs, run, 0)
    log = EventLog()
    _take(log, run, status, events)
    if log.closed:
        # A client that has it all already gets the end once more: a server that was killed may
        # have sent events that it had not recorded.
        return EventStream(pieces(log, min(after, log.number - 1)))

    async def followed() -> AsyncIterator[bytes]:
        feeding = asyncio.create_task(_feed(runs, run, log))
        try:
            async for piece in pieces(log, after):
                yield piece
        finally:
            feeding.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await feeding

    return EventStream(followed())


def _news(runs: Runs, run: str, after: int) -> tuple[RunStatus, list[Event]]:
    """The status is read first: a run that is not running has no event beyond these."""
    return runs.record.get(run).status, runs.record.store(run).events(run, after=after)


async def _feed(runs: Runs, run: str, log: EventLog) -> None:
    pause, failures = SHORTEST_PAUSE, 0
    while not log.closed:
        await asyncio.sleep(pause)
        known = len(log)
        try:
            status, events = await asyncio.to_thread(_news, runs, run, known)
            _take(log, run, status, events)
            failures = 0
        except RunMissing:
            log.append(Stopped(run=run, why="it was deleted"), last=True)
        except RunError:
            failures += 1
        if runs.ending or failures == _MOST_FAILURES:
            log.close()
        pause = SHORTEST_PAUSE if len(log) > known else min(pause * 1.5, LONGEST_PAUSE)


def _take(log: EventLog, run: str, status: RunStatus, events: list[Event]) -> None:
    for event in events:
        log.append(event, last=isinstance(event, Answered))
    if not log.closed and status != "running":
        log.append(Stopped(run=run, why="it was interrupted"), last=True)


async def stopped_elsewhere(runs: Runs, run: str) -> RunStatus:
    """Ask the process that works on a run to stop; the status once it has."""
    status = (await asyncio.to_thread(runs.record.get, run)).status
    if status != "running":
        return status
    store = await asyncio.to_thread(runs.record.store, run)
    await asyncio.to_thread(store.ask_to_stop, run)
    try:
        async with asyncio.timeout(STOPS_WITHIN):
            while status == "running":
                await asyncio.sleep(SHORTEST_PAUSE)
                status = (await asyncio.to_thread(runs.record.get, run)).status
    except TimeoutError:
        await asyncio.to_thread(store.ask_to_stop, run, withdrawn=True)
        worker = await asyncio.to_thread(store.worker, run)
        said = f"{worker} works on the run {run!r} and was asked to stop, but goes on"
        raise Problem(409, "run_elsewhere", said, hint="stop it there") from None
    return status


# `/api/runs`


@router.get("/runs", tags=["runs"])
async def list_runs(
    served: FromServer,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> RunList:
    rows = await asyncio.to_thread(run_rows, served.runs, limit + offset)
    return RunList(runs=rows[offset : offset + limit])


def run_rows(runs: Runs, most: int, *, short: bool = True) -> list[RunRow]:
    """Those in memory that are not recorded come first: they wait, or are never recorded."""
    recorded: list[ListedRun] = []
    with contextlib.suppress(RunMissing):  # None has been recorded yet
        recorded = runs.record.store().page(most, short=short)
    known = {row.run for row in recorded}
    rows = []
    for live in runs.in_memory():
        if live.id not in known and runs.record.find(live.id) is None:
            answer = live.answer
            ended = (answer.stop_reason, answer.short) if answer else (None, None)
            rows.append(RunRow(**_live(live), stop_reason=ended[0], short=ended[1]))
    for row in recorded:
        told = RunRow(**_recorded(runs, row), stop_reason=row.stop_reason, short=row.short)
        here = runs.live(row.run)
        if here is not None and not here.went_on(row.status):
            told.status = here.status
        rows.append(told)
    return rows


@router.get("/runs/{run}", tags=["runs"])
async def show_run(run: RunPath, served: FromServer) -> RunView:
    view = await asyncio.to_thread(run_view, served.runs, run)
    return json_response(view)  # type: ignore[return-value]  # valid JSON


def run_view(runs: Runs, run: str) -> RunView:
    live = runs.here(run)
    if live is None:
        stored = runs.record.get(run)
        return RunView(**_recorded(runs, stored), answer=stored.answer)
    said: dict[str, Any] = {}
    with contextlib.suppress(RunError):  # it is shown whatever became of its record
        said = _said(runs.record.get(run))
    return RunView(**_live(live) | said, position=live.position, answer=live.answer)


@router.put("/runs/{run}/feedback", status_code=204, tags=["runs"])
async def judge_run(run: RunPath, body: RunFeedback, served: FromServer) -> None:
    """What a person says of an answer, kept with its run."""

    def judged() -> None:
        served.runs.answer(run)  # 409 where there is none yet
        served.runs.record.store(run).note(run, feedback=body.feedback)

    await asyncio.to_thread(judged)


def _live(live: LiveRun) -> dict[str, Any]:
    ask = {name: getattr(live.ask, name) for name in ("question", "after", "library")}
    workflow = live.workflow or live.ask.workflow
    own = {"id": live.id, "workflow": workflow, "status": live.status, "started": live.started}
    return own | ask


def _recorded(runs: Runs, stored: StoredRun | ListedRun) -> dict[str, Any]:
    same = {name: getattr(stored, name) for name in ("question", "workflow", "status")}
    own = {"id": stored.run, "started": stored.created, "after": _after(stored)}
    return same | own | _said(stored) | {"library": runs.library_of(stored.request)}


def _said(stored: StoredRun | ListedRun) -> dict[str, Any]:
    """What a person said of it afterwards."""
    caller = stored.request.get("caller") or {}
    return {name: caller.get(name) for name in ("title", "feedback")}


@router.get(
    "/runs/{run}/events", tags=["runs"], response_class=Response, responses={200: STREAM_DOCS}
)
async def run_events(
    run: RunPath,
    served: FromServer,
    after: Annotated[int | None, Query(ge=0)] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """From the start, or after the event named, also where another process works on the run."""
    given = (last_event_id or "").strip()  # anything but what was sent counts as the start
    is_number = given.isascii() and given.isdigit() and len(given) < 16  # noqa: PLR2004
    number = after if after is not None else int(given) if is_number else 0
    live = await asyncio.to_thread(served.runs.here, run)
    if live is not None:
        return EventStream(pieces(live.log, number))
    return await recorded_stream(served.runs, run, number)


@router.post("/runs/{run}/cancel", status_code=202, tags=["runs"])
async def cancel_run(run: RunPath, served: FromServer) -> RunState:
    """Its events end with `stopped`, also where another server works on it."""
    live = await asyncio.to_thread(served.runs.here, run)
    if live is not None:
        served.runs.cancel(run)
        return RunState(id=run, status=live.status)
    return RunState(id=run, status=await stopped_elsewhere(served.runs, run))


@router.post("/runs/{run}/resume", status_code=202, tags=["runs"])
async def resume_run(run: RunPath, served: FromServer) -> Accepted:
    """What was paid for is not done again. Its events go on from the number of the last one."""
    live = await asyncio.to_thread(served.runs.resume, run)
    await begun(live)
    return _accepted(live)


@router.delete("/runs/{run}", status_code=204, tags=["runs"])
async def delete_run(run: RunPath, served: FromServer) -> None:
    """With every trace of it: its checkpoints, and what was remembered of it."""
    await asyncio.to_thread(served.runs.forget, run)
