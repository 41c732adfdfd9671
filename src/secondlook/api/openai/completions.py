"""`/v1/chat/completions`: a question, asked as OpenAI's clients ask it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from secondlook.api.asking.ask import begun
from secondlook.api.asking.live import Ask
from secondlook.api.asking.streaming import EventStream
from secondlook.api.openai import replies
from secondlook.api.openai.errors import AT_THE_DOOR, OpenAIRoute, Refused, responses
from secondlook.api.openai.forms import ChatRequest, Completion
from secondlook.api.openai.leaving import stop, stopped_when_gone
from secondlook.api.openai.models import workflow_of
from secondlook.api.openai.reading import read
from secondlook.api.state import Served, served
from secondlook.api.wire import json_response

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.api.asking.runs import Runs

router = APIRouter(route_class=OpenAIRoute, tags=["openai"])

_STREAMED: dict[str, Any] = {
    "description": "The completion; or, with `stream`, its chunks and `[DONE]`.",
    "content": {
        "text/event-stream": {
            "itemSchema": {
                "type": "object",
                "properties": {"data": {"type": "string", "contentMediaType": "application/json"}},
                "required": ["data"],
            }
        }
    },
}


@router.post(
    "/v1/chat/completions",
    summary="Ask, as OpenAI's clients do",
    response_model=Completion,
    responses={
        **responses(*AT_THE_DOOR, 400, 404, 409, 413, 415, 429, 500, 503),
        200: _STREAMED,
    },
)
async def chat_completion(
    request: Request, body: ChatRequest, state: Annotated[Served, Depends(served)]
) -> Response:
    _check(body)
    run = state.runs.start(await _ask(body, state))
    reply = replies.Reply(body, run.id, str(request.base_url))
    if not body.stream:
        async with stopped_when_gone(request, state.runs, run):
            return json_response(reply.completion(await run.answered()))
    await begun(run)
    return EventStream(replies.streamed(reply, run), left=lambda: stop(state.runs, run))


async def _ask(body: ChatRequest, state: Served) -> Ask:
    workflow = workflow_of(body.model)
    asked = await asyncio.to_thread(read, body.messages, lambda run: _recorded(state.runs, run))
    return Ask(
        question=asked.question,
        library=body.secondlook.library,
        workflow=workflow,
        documents=tuple(body.secondlook.documents),
        filters=dict(body.secondlook.filters),
        max_risk=body.secondlook.max_risk,
        budget=body.secondlook.budget.caps() if body.secondlook.budget else None,
        turns=asked.earlier,
    )


def _recorded(runs: Runs, run: str) -> Answer | None:
    """The answer of a run; None where there is none, or no longer."""
    live = runs.live(run)
    if live is not None:
        return live.answer
    stored = runs.record.find(run)
    return stored.answer if stored else None


def _check(body: ChatRequest) -> None:
    """What cannot be done as asked is refused where leaving it out would mislead."""
    if body.n not in {None, 1}:
        raise Refused("one answer is given: n must be 1", param="n", code="unsupported_value")
    wanted = body.response_format.type if body.response_format else "text"
    if wanted != "text":
        raise Refused(
            f"answers are text: response_format {wanted[:40]!r} is not supported",
            param="response_format",
            code="unsupported_value",
        )
    named = body.tool_choice is not None and not isinstance(body.tool_choice, str)
    if named or body.tool_choice not in {None, "none", "auto"}:
        raise Refused(
            "no tool is ever called: tool_choice must be auto or none",
            param="tool_choice",
            code="unsupported_value",
        )
