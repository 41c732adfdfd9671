"""`/v1`: a question asked as OpenAI's clients ask it, and the workflows as models. Nothing but the
last message of the user is obeyed: what a `system` message says reaches no prompt."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.sse import KEEPALIVE_COMMENT
from pydantic import BaseModel, ConfigDict, Field

from secondlook.answer import Answer, Citation, Status, StopReason
from secondlook.engine.secondlook import MOST_TURNS, turn_of
from secondlook.export.markdown import analysed, chosen, flat, link, paragraphs
from secondlook.graphs.registry import WORKFLOWS
from secondlook.roles.follow_up import Turn
from secondlook.server.asking import AskBudget, EventStream, begun, leave, left_when_gone
from secondlook.server.problems import OrWithPoint, Problem, json_response, openai_error, wire
from secondlook.server.runs import Ask, LiveRun
from secondlook.server.state import FromServer, Served

router = APIRouter(prefix="/v1", tags=["openai"])
MODEL_PREFIX = "secondlook"
_STARTED = int(time.time())
_OUR_RUN = re.compile(r"/#/runs/([\w-]{1,80})(?:/|\b)")
_LINK = re.compile(r"\s*\[(?:\[\d{1,6}\]|how this answer was made)\]\([^)\s]*\)")
_OUR_SOURCES = re.compile(r"\n\s*Sources:\n.*\Z", re.DOTALL)
_LONGEST_REPLY = 4_000  # characters that are read: what a follow-up refers to stands first


class Part(BaseModel):
    """A piece of a message. Only text is read."""

    type: str
    text: str | None = None


class Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None


class Extension(BaseModel):
    """What OpenAI's form has no place for. Clients send it as `extra_body`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    library: str = "default"
    documents: list[str] = Field(default_factory=list)
    filters: dict[str, str] = Field(default_factory=dict, description="Such as `kind: pdf`.")
    max_risk: float | None = Field(default=None, gt=0, lt=1)
    budget: AskBudget | None = None
    answer: bool = Field(default=False, description="Send the whole answer along.")


class ChatRequest(BaseModel):
    """Parameters that are not listed here are ignored."""

    model_config = ConfigDict(strict=True)
    model: str = Field(description="`secondlook`, or `secondlook-` and the name of a workflow.")
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    n: Annotated[int, OrWithPoint] | None = None
    response_format: dict[str, Any] | None = Field(default=None, description="Text alone.")
    tool_choice: Any = Field(default=None, description="No tool is ever called.")
    secondlook: Extension = Field(default_factory=Extension)


class UrlCitation(BaseModel):
    start_index: int = Field(description="Of the link in `content`, in Unicode characters.")
    end_index: int = Field(description="One behind its last character.")
    title: str
    url: str


class Annotation(BaseModel):
    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class AssistantMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: list[Annotation] = Field(default_factory=list)


class Choice(BaseModel):
    index: int = 0
    message: AssistantMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class TokenUsage(BaseModel):
    """Of every model call of the run; without a model nothing is used."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int]


class About(BaseModel):
    run: str
    url: str = Field(description="The page that shows how the answer was made.")
    status: Status
    stop_reason: StopReason
    confidence: float | None
    workflow: str
    answer: Answer | None = Field(default=None, description="Where it was asked for.")


class Completion(BaseModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: TokenUsage
    secondlook: About


class Model(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["secondlook"] = "secondlook"
    about: str = Field(description="What the workflow does.")


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


class ErrorBody(BaseModel):
    error: dict[str, str | None] = Field(description="`message`, `type`, `param` and `code`.")


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
    models = [Model(id=name, created=_STARTED, about=said) for name, said in about.items()]
    return ModelList(data=models)


@router.get("/models/{model}", responses=_errors(404))
async def get_model(model: str, state: FromServer) -> Model:
    workflow_of(model)
    return next(one for one in (await list_models(state)).data if one.id == model)


def workflow_of(model: str) -> str | None:
    if model == MODEL_PREFIX:
        return None
    name = model.removeprefix(f"{MODEL_PREFIX}-")
    if name != model and name in WORKFLOWS:
        return name
    said = f"there is no model {model[:80]!r}: GET /v1/models lists them"
    raise refused(said, "model", "model_not_found", 404)


_STREAM = {"description": "The completion, or its chunks.", "content": {"text/event-stream": {}}}


@router.post(
    "/chat/completions",
    response_model=Completion,
    responses={**_errors(400, 404, 409, 413, 415, 429, 500, 503), 200: _STREAM},
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
    if (body.response_format or {}).get("type", "text") != "text":
        raise refused("answers are text: no other response_format", "response_format")
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
        question,
        workflow=workflow,
        documents=tuple(own.documents),
        budget=own.budget.caps() if own.budget else None,
        turns=turns,
        **{name: getattr(own, name) for name in ("library", "filters", "max_risk")},
    )


def read(
    messages: Sequence[Message], answer_of: Callable[[str], Answer | None]
) -> tuple[str, tuple[Turn, ...]]:
    """The question and the turns before it. `answer_of` finds a run that a reply of ours links to,
    so that a follow-up refers to the answer itself."""
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


# An answer as a chat message: Markdown with a link behind every claim, and where each link is.

_OPEN, _CLOSE = "\ue000", "\ue001"  # around a citation's number until its link is written
_OWN_SIGNS = re.compile(f"[{_OPEN}{_CLOSE}]")
_PLACE = re.compile(rf"{_OPEN}(\d+){_CLOSE}")
_MARK = re.compile(r"\[(\d{1,6})\]")


def run_url(base: str, run: str) -> str:
    return f"{base.rstrip('/')}/#/runs/{run}"


def written(answer: Answer, base: str) -> tuple[str, list[Annotation]]:
    """The message and its links; `base` is the address under which the client reached us."""
    short = _plain(answer.short or "")
    is_letter = answer.choice is not None and answer.choice.letter == answer.short
    back = _plain(answer.asks_back or "")
    plain = _plain(answer.text)
    sure = answer.confidence.value if answer.status in {"answered", "partial"} else None
    said = [] if sure is None else [f"Confidence {sure:.0%}"]
    if unsupported := sum(claim.supported is False for claim in answer.claims):
        said.append(f"sentences that the evidence does not support: {unsupported}")
    if figures := len(answer.analysis.figures) if answer.analysis else 0:
        said.append(f"charts on that page: {figures}")
    how = f"[how this answer was made]({run_url(base, answer.run)})"
    parts = [
        f"*Taken as: {_plain(answer.assumed)}*" if answer.assumed else "",
        f"**{short}**" if short and short != plain and not is_letter else "",
        _text(answer),
        f"**{back}**" if back and back not in plain else "",
        _OWN_SIGNS.sub("", chosen(answer)),
        _OWN_SIGNS.sub("", analysed(answer)),
        _sources(answer),
        f"*{', '.join([*said, how])}*",
    ]
    marked = "\n\n".join(part for part in parts if part)
    titles = {one.number: one.title or "Untitled" for one in answer.citations}
    page = run_url(base, answer.run)
    annotations = []
    text, done = "", 0
    for found in _PLACE.finditer(marked):
        text += marked[done : found.start()]
        done, number = found.end(), int(found[1])
        url = f"{page}/citations/{number}"
        start, text = len(text), f"{text}[[{number}]]({url})"
        cited = UrlCitation(start_index=start, end_index=len(text), title=titles[number], url=url)
        annotations.append(Annotation(url_citation=cited))
    return text + marked[done:], annotations


def _plain(text: str) -> str:
    return flat(_OWN_SIGNS.sub("", text))


def _text(answer: Answer) -> str:
    """With a place for a link at our own marks, between the claims: others are a document's."""
    numbers = {citation.number for citation in answer.citations}

    def place(found: re.Match[str]) -> str:
        return f"{_OPEN}{found[1]}{_CLOSE}" if int(found[1]) in numbers else found[0]

    text, done, parts = _OWN_SIGNS.sub("", answer.text), 0, []
    for claim in answer.claims:
        said = _OWN_SIGNS.sub("", claim.text)
        at = text.find(said, done)
        if at >= 0:
            parts += [_MARK.sub(place, text[done:at]), said]
            done = at + len(said)
    marked = "".join([*parts, _MARK.sub(place, text[done:])])
    return paragraphs(marked, answer.method)


def _sources(answer: Answer) -> str:
    placed: dict[str, list[Citation]] = {}
    for one in answer.citations:
        page = f", p. {one.page}" if one.page is not None else ""
        web = f", {link(one.url)}" if one.origin == "web" and one.url else ""
        placed.setdefault(f"{_plain(one.title) or 'Untitled'}{page}{web}", []).append(one)
    lines = [
        f"- {' '.join(f'{_OPEN}{one.number}{_CLOSE}' for one in cited)} {named}"
        for named, cited in placed.items()
    ]
    return "\n".join(["Sources:", "", *lines]) if lines else ""


# An answer as a completion, at once or in pieces.

KEEP_ALIVE_SECONDS = 10.0
_PIECE = re.compile(r"\S{1,40}\s*|\s+")


@dataclass(frozen=True, slots=True)
class Reply:
    asked: ChatRequest
    run: str
    base: str
    created: int = field(default_factory=lambda: int(time.time()))

    def completion(self, answer: Answer) -> Completion:
        text, annotations = written(answer, self.base)
        message = AssistantMessage(content=text, annotations=annotations)
        spent, names = answer.usage, ("run", "status", "stop_reason", "workflow")
        return Completion(
            id=f"chatcmpl-{self.run}",
            created=self.created,
            model=self.asked.model,
            choices=[Choice(message=message)],
            usage=TokenUsage(
                prompt_tokens=spent.tokens_in,
                completion_tokens=spent.tokens_out,
                total_tokens=spent.tokens_in + spent.tokens_out,
                prompt_tokens_details={"cached_tokens": spent.tokens_cached},
            ),
            secondlook=About(
                **{name: getattr(answer, name) for name in names},
                url=run_url(self.base, answer.run),
                confidence=answer.confidence.value,
                answer=answer if self.asked.secondlook.answer else None,
            ),
        )

    async def streamed(self, run: LiveRun) -> AsyncIterator[bytes]:
        """Server-sent events, ending in `[DONE]`; an error on the way is the last one instead."""
        yield self._chunk({"role": "assistant", "content": ""})
        async with aclosing(run.log.follow(idle=KEEP_ALIVE_SECONDS)) as entries:
            async for entry in entries:
                if entry is None:
                    yield KEEPALIVE_COMMENT
        if run.answer is None:
            yield _data(openai_error(run.failure()))
            return
        done = json.loads(wire(self.completion(run.answer)))
        message = done["choices"][0]["message"]
        for piece in _PIECE.findall(message["content"]):
            yield self._chunk({"content": piece})
        if message["annotations"]:
            yield self._chunk({"annotations": message["annotations"]})
        yield self._chunk({}, finish_reason="stop", secondlook=done["secondlook"])
        if self._counts:
            yield self._chunk(None, usage=done["usage"])
        yield b"data: [DONE]\n\n"

    @property
    def _counts(self) -> bool:
        return bool((self.asked.stream_options or {}).get("include_usage"))

    def _chunk(
        self, delta: dict[str, Any] | None, finish_reason: str | None = None, **more: Any
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        choices = [] if delta is None else [choice]
        head = {"id": f"chatcmpl-{self.run}", "object": "chat.completion.chunk"}
        about = {"created": self.created, "model": self.asked.model, "choices": choices}
        return _data(head | about | ({"usage": None} if self._counts else {}) | more)


def _data(said: dict[str, Any]) -> bytes:
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode()
