"""`POST /api/ask`: one question, answered at once, as a stream, or by itself."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response

from secondlook.answer import Answer
from secondlook.api.asking.conversation import turns_before, turns_given
from secondlook.api.asking.events import Queued, Stopped
from secondlook.api.asking.forms import Accepted, AskRequest
from secondlook.api.asking.live import CLIENT_LEFT, Ask, LiveRun
from secondlook.api.asking.streaming import STREAM_DOCS, live_stream
from secondlook.api.problems import responses
from secondlook.api.state import Served, served
from secondlook.api.wire import json_response
from secondlook.events import RunStarted

if TYPE_CHECKING:
    from secondlook.nodes.stand_alone import Turn

router = APIRouter(prefix="/api", tags=["questions"])
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


@router.post("/ask", summary="Ask a question", responses=_RESPONSES)
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
