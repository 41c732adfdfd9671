"""The messages of a chat as a question and the turns before it.

The last message of the user is the question. Nothing else is obeyed: what a `system` message says
reaches no prompt, and what an assistant said before is only leant on to make a follow-up
stand-alone.
"""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response

from secondlook.engine.secondlook import MOST_TURNS, turn_of
from secondlook.graphs.registry import WORKFLOWS
from secondlook.roles.follow_up import Turn
from secondlook.server import completions
from secondlook.server.asking import EventStream, begun
from secondlook.server.completions import (
    AT_THE_DOOR,
    MODEL_PREFIX,
    ChatRequest,
    Completion,
    Model,
    ModelList,
    OpenAIRoute,
    Refused,
    responses,
)
from secondlook.server.docs import methods_at
from secondlook.server.problems import json_response
from secondlook.server.runs import CLIENT_LEFT, Ask
from secondlook.server.state import Served, served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from secondlook.answer import Answer
    from secondlook.server.completions import Message
    from secondlook.server.runs import LiveRun, Runs

_OUR_RUN = re.compile(r"/#/runs/([\w-]{1,80})(?:/|\b)")
_LINK = re.compile(r"\s*\[(?:\[\d{1,6}\]|how this answer was made)\]\([^)\s]*\)")
_OUR_SOURCES = re.compile(r"\n\s*Sources:\n.*\Z", re.DOTALL)
_LONGEST_REPLY = 4_000
"""Characters of a reply that are looked at: what is leant on stands at its beginning."""


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    earlier: tuple[Turn, ...] = ()


def read(messages: Sequence[Message], answer_of: Callable[[str], Answer | None]) -> Asked:
    """`answer_of` finds a run that an earlier reply of ours links to, so that a follow-up leans on
    the answer itself, and not on what a chat made of it."""
    last = len(messages) - 1
    while last >= 0 and messages[last].role in {"system", "developer"}:
        last -= 1  # some clients put their instructions at the end
    if last < 0 or messages[last].role != "user":
        raise Refused(
            "the last message must be the user's question", param="messages", code="no_question"
        )
    question = _question(messages[last], last)
    return Asked(question, tuple(_turns(messages[:last], answer_of)))


def _question(message: Message, at: int) -> str:
    for place, part in enumerate(message.content if isinstance(message.content, list) else ()):
        if part.type != "text":
            raise Refused(
                f"a part of type {part.type!r} cannot be read: send text alone",
                param=f"messages[{at}].content[{place}].type",
                code="unsupported_content",
            )
    text = _said(message).strip()
    if not text:
        raise Refused("the question is empty", param=f"messages[{at}].content", code="no_question")
    return text


def _said(message: Message) -> str:
    if isinstance(message.content, list):
        return "\n".join(part.text or "" for part in message.content if part.type == "text")
    return message.content or ""


def _turns(messages: Sequence[Message], answer_of: Callable[[str], Answer | None]) -> list[Turn]:
    """Each question with what came of it; a question without a reply leaves itself alone."""
    said: list[tuple[str, str]] = []
    for message in messages:
        text = _said(message).strip()
        if message.role == "user" and text:
            said.append((text, ""))
        elif message.role == "assistant" and text and said:
            said[-1] = (said[-1][0], text)
    return [_turn(asked, reply, answer_of) for asked, reply in said[-MOST_TURNS:]]


def _turn(asked: str, reply: str, answer_of: Callable[[str], Answer | None]) -> Turn:
    ours = _OUR_RUN.findall(reply)
    answer = answer_of(ours[-1]) if ours else None
    if answer is not None:
        return turn_of(answer)
    text = _LINK.sub("", _OUR_SOURCES.sub("", reply[:_LONGEST_REPLY]))
    return Turn(asked=asked, text=" ".join(text.split()))


# `/v1/models`: every workflow is a model, and `secondlook` is the one that is used by default.

models_router = APIRouter(route_class=OpenAIRoute, tags=["openai"])
_STARTED = int(time.time())


@models_router.get(
    "/v1/models", summary="The workflows, as models", responses=responses(*AT_THE_DOOR)
)
async def list_models(state: Annotated[Served, Depends(served)]) -> ModelList:
    usual = Model(
        id=MODEL_PREFIX,
        created=_STARTED,
        about=f"the server's usual way: {state.settings.answer.workflow}",
    )
    return ModelList(data=[usual, *(_model(name) for name in WORKFLOWS)])


@models_router.get(
    "/v1/models/{model}", summary="One of them", responses=responses(*AT_THE_DOOR, 404)
)
async def get_model(model: str, state: Annotated[Served, Depends(served)]) -> Model:
    workflow_of(model)
    return next(one for one in (await list_models(state)).data if one.id == model)


def _model(name: str) -> Model:
    return Model(id=f"{MODEL_PREFIX}-{name}", created=_STARTED, about=WORKFLOWS[name].about)


def workflow_of(model: str) -> str | None:
    """The workflow that a model stands for; None = the usual one."""
    if model == MODEL_PREFIX:
        return None
    name = model.removeprefix(f"{MODEL_PREFIX}-")
    if name != model and name in WORKFLOWS:
        return name
    raise Refused(
        f"there is no model {model[:80]!r}: GET /v1/models lists them",
        param="model",
        code="model_not_found",
        status=404,
    )


# A client that goes stops its run: nobody else would ever read the answer.


def stop(runs: Runs, run: LiveRun) -> None:
    if not run.ended:
        runs.cancel(run.id, CLIENT_LEFT)


@asynccontextmanager
async def stopped_when_gone(request: Request, runs: Runs, run: LiveRun) -> AsyncIterator[None]:
    watching = asyncio.create_task(_watch(request, runs, run))
    try:
        yield
    finally:
        watching.cancel()
        stop(runs, run)


async def _watch(request: Request, runs: Runs, run: LiveRun) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stop(runs, run)


# `/v1/chat/completions`: a question, asked as OpenAI's clients ask it.

completions_router = APIRouter(route_class=OpenAIRoute, tags=["openai"])

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


@completions_router.post(
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
    reply = completions.Reply(body, run.id, str(request.base_url))
    if not body.stream:
        async with stopped_when_gone(request, state.runs, run):
            return json_response(reply.completion(await run.answered()))
    await begun(run)
    return EventStream(completions.streamed(reply, run), left=lambda: stop(state.runs, run))


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


# Everything below `/v1`, and what an address that is not there answers.

router = APIRouter(route_class=OpenAIRoute)
router.include_router(models_router)
router.include_router(completions_router)


@router.api_route(
    "/v1/{rest:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"], include_in_schema=False
)
async def unknown(rest: str, request: Request) -> None:
    if taken := methods_at(request.app, f"/v1/{rest}"):
        raise HTTPException(405, headers={"Allow": ", ".join(taken)})
    raise Refused(
        f"there is no /v1/{rest[:80]} here: models and chat/completions are",
        code="unknown_url",
        status=404,
    )
