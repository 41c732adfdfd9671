"""`/v1`: a question asked as OpenAI's clients ask it, and the workflows as models.

The last message of the user is the question. Nothing else is obeyed: what a `system` message says
reaches no prompt, and earlier replies only help to make a follow-up stand alone.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from secondlook.engine.secondlook import MOST_TURNS, turn_of
from secondlook.graphs.registry import WORKFLOWS
from secondlook.roles.follow_up import Turn
from secondlook.server.asking import EventStream, begun, leave, left_when_gone
from secondlook.server.completions import (
    MODEL_PREFIX,
    ChatRequest,
    Completion,
    ErrorBody,
    Model,
    ModelList,
    Reply,
)
from secondlook.server.problems import Problem, json_response
from secondlook.server.runs import Ask
from secondlook.server.state import FromServer, Served  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import Answer
    from secondlook.server.completions import Message

router = APIRouter(prefix="/v1", tags=["openai"])
_STARTED = int(time.time())
_OUR_RUN = re.compile(r"/#/runs/([\w-]{1,80})(?:/|\b)")
_LINK = re.compile(r"\s*\[(?:\[\d{1,6}\]|how this answer was made)\]\([^)\s]*\)")
_OUR_SOURCES = re.compile(r"\n\s*Sources:\n.*\Z", re.DOTALL)
_LONGEST_REPLY = 4_000
"""Characters of a reply that are read: what a follow-up refers to stands at its beginning."""


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """In OpenAPI: errors of the operation, and those of the guard before it."""
    return {status: {"model": ErrorBody} for status in (401, 403, 421, *statuses)}


def refused(detail: str, param: str, code: str = "unsupported_value", status: int = 400) -> Problem:
    return Problem(status, code, detail, param=param)


@router.get("/models", responses=_errors())
async def list_models(state: FromServer) -> ModelList:
    """`secondlook` is the one that is used by default."""
    about = {MODEL_PREFIX: f"the server's default: {state.settings.answer.workflow}"}
    about |= {f"{MODEL_PREFIX}-{name}": one.about for name, one in WORKFLOWS.items()}
    return ModelList(
        data=[Model(id=name, created=_STARTED, about=said) for name, said in about.items()]
    )


@router.get("/models/{model}", responses=_errors(404))
async def get_model(model: str, state: FromServer) -> Model:
    workflow_of(model)
    return next(one for one in (await list_models(state)).data if one.id == model)


def workflow_of(model: str) -> str | None:
    """The workflow that a model stands for; None = the default."""
    if model == MODEL_PREFIX:
        return None
    name = model.removeprefix(f"{MODEL_PREFIX}-")
    if name != model and name in WORKFLOWS:
        return name
    said = f"there is no model {model[:80]!r}: GET /v1/models lists them"
    raise refused(said, "model", "model_not_found", 404)


@router.post(
    "/chat/completions",
    response_model=Completion,
    responses={
        **_errors(400, 404, 409, 413, 415, 429, 500, 503),
        200: {
            "description": "The completion; or, with `stream`, its chunks and `[DONE]`.",
            "content": {"text/event-stream": {}},
        },
    },
)
async def chat_completion(request: Request, body: ChatRequest, state: FromServer) -> Response:
    _check(body)
    run = state.runs.start(await _ask(body, state))
    reply = Reply(body, run.id, str(request.base_url))
    if not body.stream:
        async with left_when_gone(request, state.runs, run):
            return json_response(reply.completion(await run.answered()))
    await begun(run)
    return EventStream(reply.streamed(run), left=lambda: leave(state.runs, run))


def _check(body: ChatRequest) -> None:
    """What cannot be done as asked is refused where leaving it out would mislead."""
    if body.n not in {None, 1}:
        raise refused("one answer is given: n must be 1", "n")
    wanted = body.response_format.type if body.response_format else "text"
    if wanted != "text":
        said = f"answers are text: response_format {wanted[:40]!r} is not supported"
        raise refused(said, "response_format")
    if body.tool_choice is not None and body.tool_choice not in ("none", "auto"):
        raise refused("no tool is ever called: tool_choice must be auto or none", "tool_choice")


async def _ask(body: ChatRequest, state: Served) -> Ask:
    def recorded(run: str) -> Answer | None:
        live = state.runs.live(run)
        if live is not None:
            return live.answer
        stored = state.runs.record.find(run)
        return stored.answer if stored else None

    workflow, own = workflow_of(body.model), body.secondlook
    question, turns = await asyncio.to_thread(read, body.messages, recorded)
    return Ask(
        question=question,
        library=own.library,
        workflow=workflow,
        documents=tuple(own.documents),
        filters=dict(own.filters),
        max_risk=own.max_risk,
        budget=own.budget.caps() if own.budget else None,
        turns=turns,
    )


def read(
    messages: Sequence[Message], answer_of: Callable[[str], Answer | None]
) -> tuple[str, tuple[Turn, ...]]:
    """The question and the turns before it. `answer_of` finds a run that an earlier reply of ours
    links to, so that a follow-up refers to the answer itself, not to what a chat made of it."""
    last = len(messages) - 1
    while last >= 0 and messages[last].role in {"system", "developer"}:
        last -= 1  # some clients put their instructions at the end
    if last < 0 or messages[last].role != "user":
        raise refused("the last message must be the user's question", "messages", "no_question")
    content = messages[last].content
    for place, part in enumerate(content if isinstance(content, list) else ()):
        if part.type != "text":
            said = f"a part of type {part.type!r} cannot be read: send text alone"
            param = f"messages[{last}].content[{place}].type"
            raise refused(said, param, "unsupported_content")
    question = _said(messages[last])
    if not question:
        raise refused("the question is empty", f"messages[{last}].content", "no_question")
    before: list[tuple[str, str]] = []
    for message in messages[:last]:
        text = _said(message)
        if message.role == "user" and text:
            before.append((text, ""))
        elif message.role == "assistant" and text and before:
            before[-1] = (before[-1][0], text)
    turns = (_turn(asked, reply, answer_of) for asked, reply in before[-MOST_TURNS:])
    return question, tuple(turns)


def _said(message: Message) -> str:
    if isinstance(message.content, list):
        parts = (part.text or "" for part in message.content if part.type == "text")
        return "\n".join(parts).strip()
    return (message.content or "").strip()


def _turn(asked: str, reply: str, answer_of: Callable[[str], Answer | None]) -> Turn:
    ours = _OUR_RUN.findall(reply)
    answer = answer_of(ours[-1]) if ours else None
    if answer is not None:
        return turn_of(answer)
    text = _LINK.sub("", _OUR_SOURCES.sub("", reply[:_LONGEST_REPLY]))
    return Turn(asked=asked, text=" ".join(text.split()))
