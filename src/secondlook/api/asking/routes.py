"""`/api/runs`: what was asked, what goes on, and how to watch, stop, resume and delete it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Response

from secondlook.api.asking.ask import accepted, begun
from secondlook.api.asking.elsewhere import recorded_stream, stopped_elsewhere
from secondlook.api.asking.forms import Accepted, RunList, RunRow, RunState, RunView
from secondlook.api.asking.streaming import STREAM_DOCS, live_stream
from secondlook.api.problems import responses
from secondlook.api.state import Served, served
from secondlook.api.wire import json_response

if TYPE_CHECKING:
    from secondlook.api.asking.live import LiveRun
    from secondlook.api.asking.runs import Runs
    from secondlook.memory.runs import ListedRun

router = APIRouter(prefix="/api/runs", tags=["runs"])
RunPath = Annotated[str, Path(alias="run", max_length=100, examples=["20260102-1f2e3d4c5b6a"])]
ServedBy = Annotated[Served, Depends(served)]


@router.get("", summary="List runs, newest first")
async def list_runs(
    served: ServedBy,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> RunList:
    return await asyncio.to_thread(_listed, served, limit, offset)


@router.get("/{run}", summary="One run and its answer", responses=responses(404))
async def show_run(run: RunPath, served: ServedBy) -> RunView:
    view = await asyncio.to_thread(_view, served.runs, run)
    return json_response(view)  # type: ignore[return-value]  # as valid JSON


@router.get(
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


@router.post("/{run}/cancel", status_code=202, summary="Stop a run", responses=responses(404, 409))
async def cancel_run(run: RunPath, served: ServedBy) -> RunState:
    """Its events end with `stopped`. One that has ended is left as it is; one that another server
    works on is stopped there."""
    live = await asyncio.to_thread(served.runs.here, run)
    if live is not None:
        served.runs.cancel(run)
        return RunState(id=run, status=live.status)
    return RunState(id=run, status=await stopped_elsewhere(served.runs, run))


@router.post(
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


@router.delete("/{run}", status_code=204, summary="Delete a run", responses=responses(404, 409))
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
