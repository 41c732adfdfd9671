"""What comes in and goes out, in the shapes that OpenAI's clients know."""

from __future__ import annotations

import json
import re
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.sse import KEEPALIVE_COMMENT
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict  # noqa: TC002
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from secondlook.answer import Answer, Status, StopReason  # noqa: TC001
from secondlook.errors import SecondlookError
from secondlook.export.markdown import analysed, chosen, flat, link, words
from secondlook.server.asking import AskBudget  # noqa: TC001
from secondlook.server.problems import MEDIA_TYPE, OrWithPoint, Problem, problem_of, wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send
    from starlette.types import Message as types_Message

    from secondlook.answer import Citation, Usage
    from secondlook.server.runs import LiveRun

MODEL_PREFIX = "secondlook"
Role = Literal["system", "developer", "user", "assistant", "tool", "function"]


class Part(BaseModel):
    """A piece of a message. Only text is read."""

    type: str
    text: str | None = None
    refusal: str | None = None


class Message(BaseModel):
    role: Role
    content: str | list[Part] | None = None


class StreamOptions(BaseModel, strict=True):
    include_usage: bool | None = False


class ResponseFormat(BaseModel):
    type: str


class Extension(BaseModel):
    """What OpenAI's form has no place for. Clients send it as `extra_body`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    library: str = "default"
    documents: list[str] = Field(
        default_factory=list, description="Only these: ids, file names or titles."
    )
    filters: dict[str, str] = Field(default_factory=dict, description="Such as `kind: pdf`.")
    max_risk: float | None = Field(default=None, gt=0, lt=1)
    budget: AskBudget | None = None
    answer: bool = Field(default=False, description="Send the whole answer along.")


class ChatRequest(BaseModel):
    """Parameters that are not listed here are ignored."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={
            "example": {
                "model": "secondlook",
                "messages": [{"role": "user", "content": "How deep is berth 4?"}],
                "stream": False,
            }
        },
    )

    model: str = Field(description="`secondlook`, or `secondlook-` and the name of a workflow.")
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int, OrWithPoint] | None = Field(
        default=None, description="One answer is given: 1, or left out."
    )
    response_format: ResponseFormat | None = Field(default=None, description="Text alone.")
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


class CachedTokens(BaseModel):
    cached_tokens: int


class TokenUsage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens


class About(BaseModel):
    """What an answer is, beyond its words."""

    run: str
    url: str = Field(description="The page that shows how the answer was made.")
    status: Status
    stop_reason: StopReason
    confidence: float | None
    workflow: str
    answer: Answer | None = Field(default=None, description="Where it was asked for.")


_ANSWER_URL = "http://127.0.0.1:8765/#/runs/20260102-1f2e3d4c5b6a"
_CITED: JsonDict = {
    "start_index": 28,
    "end_index": 97,
    "title": "Harbour Survey 2024",
    "url": f"{_ANSWER_URL}/citations/1",
}


class Completion(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "chatcmpl-20260102-1f2e3d4c5b6a",
                "object": "chat.completion",
                "created": 1767323045,
                "model": "secondlook",
                "choices": [
                    {
                        "index": 0,
                        "message": {
                            "role": "assistant",
                            "content": "Berth 4 is 7.8 metres deep. "
                            f"[[1]]({_ANSWER_URL}/citations/1)",
                            "refusal": None,
                            "annotations": [{"type": "url_citation", "url_citation": _CITED}],
                        },
                        "logprobs": None,
                        "finish_reason": "stop",
                    }
                ],
                "usage": {
                    "prompt_tokens": 0,
                    "completion_tokens": 0,
                    "total_tokens": 0,
                    "prompt_tokens_details": {"cached_tokens": 0},
                },
                "secondlook": {
                    "run": "20260102-1f2e3d4c5b6a",
                    "url": _ANSWER_URL,
                    "status": "answered",
                    "stop_reason": "answered",
                    "confidence": 0.92,
                    "workflow": "linear",
                    "answer": None,
                },
            }
        }
    )

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: TokenUsage
    secondlook: About


class Delta(BaseModel):
    role: Literal["assistant"] | None = None
    content: str | None = None
    annotations: list[Annotation] | None = None


class ChunkChoice(BaseModel):
    index: int = 0
    delta: Delta
    logprobs: None = None
    finish_reason: Literal["stop"] | None = None


class Chunk(BaseModel):
    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: TokenUsage | None = None
    secondlook: About | None = None


class Model(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "secondlook-linear",
                "object": "model",
                "created": 1767323045,
                "owned_by": "secondlook",
                "about": "retrieve, rerank, answer: the baseline",
            }
        }
    )

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["secondlook"] = "secondlook"
    about: str = Field(description="What the workflow does.")


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


class ErrorDetail(BaseModel):
    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorBody(BaseModel):
    error: ErrorDetail


# Errors in OpenAI's form: `{"error": {"message", "type", "param", "code"}}`.

PREFIX = "/v1"
AT_THE_DOOR = (401, 403, 421)
"""What any request may be answered with before a route sees it."""
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_OF_THE_BODY = frozenset({"content-type", "content-length"})
"""Headers that a rewritten body has of its own."""
_OWN_STATUS = {422: 400}
"""OpenAI knows no 422: what is wrong with a request is a bad request."""


class Refused(Problem):
    """A request that cannot be carried out as it is."""

    def __init__(
        self, detail: str, *, param: str | None = None, code: str = "invalid", status: int = 400
    ) -> None:
        super().__init__(status, code, detail)
        self.param = param


class OpenAIRoute(APIRoute):
    """A route whose errors have OpenAI's form, with the parameter that is wrong."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                return _response(problem_of(error), param=_parameter(error.errors()))
            except (SecondlookError, HTTPException) as error:
                param = error.param if isinstance(error, Refused) else None
                return _response(problem_of(error), param=param)
            except Exception as error:  # noqa: BLE001  # nobody outside of here knows this form
                return _response(problem_of(error))

        return guarded


class OpenAIErrors:
    """Around the whole server: turns problem details below `/v1` into OpenAI's form."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ours = scope["type"] == "http" and is_ours(scope["path"])
        await self.app(scope, receive, _Rewriting(scope, receive, send) if ours else send)


class _Rewriting:
    """Passes on what is sent, but for problem details, which are collected and rewritten."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._start: types_Message | None = None
        self._body = b""

    async def __call__(self, message: types_Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._rewritten(self._start)

    async def _rewritten(self, start: types_Message) -> None:
        headers = Headers(raw=start["headers"])
        told = json.loads(self._body)
        problem = Problem(start["status"], told["code"], told["detail"], hint=told.get("hint"))
        kept = {name: value for name, value in headers.items() if name not in _OF_THE_BODY}
        await _response(problem, headers=kept)(self._scope, self._receive, self._send)


def is_ours(path: str) -> bool:
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def error_body(problem: Problem, param: str | None = None) -> ErrorBody:
    status = problem.status_code
    kind = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")  # noqa: PLR2004
    message = f"{problem.detail} ({problem.hint})" if problem.hint else problem.detail
    return ErrorBody(error=ErrorDetail(message=message, type=kind, param=param, code=problem.code))


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How an operation says in OpenAPI which errors it may answer with."""
    return {status: {"model": ErrorBody} for status in statuses}


def _response(
    problem: Problem, *, param: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    return JSONResponse(
        error_body(problem, param).model_dump(mode="json"),
        status_code=_OWN_STATUS.get(problem.status_code, problem.status_code),
        headers={**(problem.headers or {}), **(headers or {})},
    )


def _is_problem(start: types_Message) -> bool:
    kind = Headers(raw=start.get("headers", [])).get("content-type", "")
    return kind.partition(";")[0] == MEDIA_TYPE


def _parameter(mistakes: Sequence[Any]) -> str | None:
    """`messages[0].role`, as OpenAI names it; None where the whole body is wrong."""
    named = ""
    for part in mistakes[0]["loc"][1:] if mistakes else ():
        if part == "str" or str(part).startswith("list["):
            break  # from here on pydantic names the forms that it tried
        named += f"[{part}]" if isinstance(part, int) else f".{part}" if named else str(part)
    return named or None


# An answer as a chat message: Markdown with a link behind every claim, and where each link is.

_OPEN, _CLOSE = "\ue000", "\ue001"
"""Around the number of a citation until its link is written: no document may hold these."""
_OWN_SIGNS = re.compile(f"[{_OPEN}{_CLOSE}]")
_PLACE = re.compile(rf"{_OPEN}(\d+){_CLOSE}")
_MARK = re.compile(r"\[(\d{1,6})\]")
_BULLET = re.compile(r"( *)- ")


@dataclass(frozen=True, slots=True)
class Written:
    text: str
    annotations: tuple[Annotation, ...]


def run_url(base: str, run: str) -> str:
    """The page of a run, on the server that was asked."""
    return f"{base.rstrip('/')}/#/runs/{run}"


def written(answer: Answer, base: str) -> Written:
    """`base` is the address under which the client reached this server."""
    parts = [
        _assumed(answer),
        _short(answer),
        _text(answer),
        _asks_back(answer),
        _OWN_SIGNS.sub("", chosen(answer)),
        _OWN_SIGNS.sub("", analysed(answer)),
        _sources(answer),
        _made_how(answer, base),
    ]
    return _linked("\n\n".join(part for part in parts if part), answer, base)


def _assumed(answer: Answer) -> str:
    return f"*Taken as: {_plain(answer.assumed)}*" if answer.assumed else ""


def _short(answer: Answer) -> str:
    short = _plain(answer.short or "")
    if answer.choice is not None and answer.choice.letter == answer.short:
        return ""  # the choice says it with its words
    return f"**{short}**" if short and short != _plain(answer.text) else ""


def _asks_back(answer: Answer) -> str:
    back = _plain(answer.asks_back or "")
    return f"**{back}**" if back and back not in _plain(answer.text) else ""


def _plain(text: str) -> str:
    return flat(_OWN_SIGNS.sub("", text))


def _text(answer: Answer) -> str:
    marked = _with_places(answer)
    if answer.method == "outline":
        return "\n".join(map(_outline_line, marked.splitlines()))
    return "\n\n".join(map(words, re.split(r"\n\s*\n", marked.strip())))


def _outline_line(line: str) -> str:
    """Bullets are the outline's own, what stands behind them is not."""
    bullet = _BULLET.match(line)
    return f"{bullet[1]}- {flat(line[bullet.end() :])}" if bullet else words(line)


def _with_places(answer: Answer) -> str:
    """The text, with a place for a link wherever our own code has set a mark: between the claims.
    What looks like a mark within a claim is a stranger's."""
    numbers = {citation.number for citation in answer.citations}

    def place(found: re.Match[str]) -> str:
        known = int(found[1]) in numbers
        return f"{_OPEN}{found[1]}{_CLOSE}" if known else found[0]

    text, done, parts = _OWN_SIGNS.sub("", answer.text), 0, []
    for claim in answer.claims:
        said = _OWN_SIGNS.sub("", claim.text)
        at = text.find(said, done)
        if at < 0:
            continue
        parts += [_MARK.sub(place, text[done:at]), said]
        done = at + len(said)
    return "".join([*parts, _MARK.sub(place, text[done:])])


def _sources(answer: Answer) -> str:
    """Each place once, with the numbers under which it is cited."""
    placed: dict[str, list[Citation]] = {}
    for citation in answer.citations:
        placed.setdefault(_named(citation), []).append(citation)
    lines = [
        f"- {' '.join(f'{_OPEN}{one.number}{_CLOSE}' for one in cited)} {named}"
        for named, cited in placed.items()
    ]
    return "\n".join(["Sources:", "", *lines]) if lines else ""


def _named(citation: Citation) -> str:
    page = f", p. {citation.page}" if citation.page is not None else ""
    web = f", {link(citation.url)}" if citation.origin == "web" and citation.url else ""
    return f"{_plain(citation.title) or 'Untitled'}{page}{web}"


def _made_how(answer: Answer, base: str) -> str:
    sure = answer.confidence.value if answer.status in {"answered", "partial"} else None
    said = [] if sure is None else [f"Confidence {sure:.0%}"]
    if unsupported := sum(claim.supported is False for claim in answer.claims):
        said.append(f"sentences that the evidence does not carry: {unsupported}")
    if figures := len(answer.analysis.figures) if answer.analysis else 0:
        said.append(f"charts on that page: {figures}")
    how = f"[how this answer was made]({run_url(base, answer.run)})"
    return f"*{', '.join([*said, how])}*"


def _linked(marked: str, answer: Answer, base: str) -> Written:
    titles = {one.number: one.title or "Untitled" for one in answer.citations}
    page = run_url(base, answer.run)
    text, annotations = "", []
    for piece, number in _pieces(marked):
        text += piece
        if number is None:
            continue
        url = f"{page}/citations/{number}"
        start, text = len(text), f"{text}[[{number}]]({url})"
        cited = UrlCitation(start_index=start, end_index=len(text), title=titles[number], url=url)
        annotations.append(Annotation(url_citation=cited))
    return Written(text, tuple(annotations))


def _pieces(marked: str) -> Iterator[tuple[str, int | None]]:
    """Text, and the number of the citation that follows it; None after the last."""
    done = 0
    for found in _PLACE.finditer(marked):
        yield marked[done : found.start()], int(found[1])
        done = found.end()
    yield marked[done:], None


# An answer as a completion, at once or in pieces.

KEEP_ALIVE_SECONDS = 10.0
_PIECE = re.compile(r"\S{1,40}\s*|\s+")


@dataclass(frozen=True, slots=True)
class Reply:
    """What all parts of one reply have in common."""

    asked: ChatRequest
    run: str
    base: str
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def id(self) -> str:
        return f"chatcmpl-{self.run}"

    def completion(self, answer: Answer) -> Completion:
        said = written(answer, self.base)
        message = AssistantMessage(content=said.text, annotations=list(said.annotations))
        return Completion(
            id=self.id,
            created=self.created,
            model=self.asked.model,
            choices=[Choice(message=message)],
            usage=_usage(answer.usage),
            secondlook=self._about(answer),
        )

    def chunks(self, answer: Answer) -> Iterator[Chunk]:
        said = written(answer, self.base)
        for piece in _PIECE.findall(said.text):
            yield self._chunk(Delta(content=piece))
        if said.annotations:
            yield self._chunk(Delta(annotations=list(said.annotations)))
        ended = [ChunkChoice(delta=Delta(), finish_reason="stop")]
        yield self._made(choices=ended, secondlook=self._about(answer))
        if self.counts:
            yield self._made(choices=[], usage=_usage(answer.usage))

    def opening(self) -> Chunk:
        return self._chunk(Delta(role="assistant", content=""))

    @property
    def counts(self) -> bool:
        options = self.asked.stream_options
        return bool(options and options.include_usage)

    def _about(self, answer: Answer) -> About:
        return About(
            run=answer.run,
            url=run_url(self.base, answer.run),
            status=answer.status,
            stop_reason=answer.stop_reason,
            confidence=answer.confidence.value,
            workflow=answer.workflow,
            answer=answer if self.asked.secondlook.answer else None,
        )

    def _chunk(self, delta: Delta) -> Chunk:
        return self._made(choices=[ChunkChoice(delta=delta)])

    def _made(
        self,
        *,
        choices: list[ChunkChoice],
        usage: TokenUsage | None = None,
        secondlook: About | None = None,
    ) -> Chunk:
        return Chunk(
            id=self.id,
            created=self.created,
            model=self.asked.model,
            choices=choices,
            usage=usage,
            secondlook=secondlook,
        )


async def streamed(reply: Reply, run: LiveRun) -> AsyncIterator[bytes]:
    """Server-sent events, ending in `[DONE]`; an error on the way is the last one instead."""
    yield _event(reply.opening(), reply)
    async with aclosing(run.log.follow(idle=KEEP_ALIVE_SECONDS)) as entries:
        async for entry in entries:
            if entry is None:
                yield KEEPALIVE_COMMENT
    if run.answer is None:
        yield _data(wire(error_body(run.failure())))
        return
    for chunk in reply.chunks(run.answer):
        yield _event(chunk, reply)
    yield _data("[DONE]")


def _event(chunk: Chunk, reply: Reply) -> bytes:
    """Left out is what has no value, but for what clients expect to be null."""
    said = json.loads(wire(chunk))
    if not reply.counts:
        del said["usage"]
    if chunk.secondlook is None:
        del said["secondlook"]
    for choice in said["choices"]:
        choice["delta"] = {name: one for name, one in choice["delta"].items() if one is not None}
    return _data(json.dumps(said, ensure_ascii=False, separators=(",", ":")))


def _data(text: str) -> bytes:
    return f"data: {text}\n\n".encode()


def _usage(usage: Usage) -> TokenUsage:
    """Of every model call of the run; without a model nothing was used."""
    return TokenUsage(
        prompt_tokens=usage.tokens_in,
        completion_tokens=usage.tokens_out,
        total_tokens=usage.tokens_in + usage.tokens_out,
        prompt_tokens_details=CachedTokens(cached_tokens=usage.tokens_cached),
    )
