"""OpenAI's chat completions: what comes in, what goes out, and an answer as a chat message."""

from __future__ import annotations

import json
import re
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi.sse import KEEPALIVE_COMMENT
from pydantic import BaseModel, ConfigDict, Field

from secondlook.answer import Answer, Status, StopReason  # noqa: TC001
from secondlook.export.markdown import analysed, chosen, flat, link, words
from secondlook.server.asking import AskBudget  # noqa: TC001
from secondlook.server.problems import OrWithPoint, openai_error, wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from secondlook.answer import Citation
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
    """Of every model call of the run; without a model nothing is used."""

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


class ErrorDetail(BaseModel):
    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorBody(BaseModel):
    error: ErrorDetail


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
    short = _plain(answer.short or "")
    is_letter = answer.choice is not None and answer.choice.letter == answer.short
    back = _plain(answer.asks_back or "")
    plain = _plain(answer.text)
    parts = [
        f"*Taken as: {_plain(answer.assumed)}*" if answer.assumed else "",
        f"**{short}**" if short and short != plain and not is_letter else "",
        _text(answer),
        f"**{back}**" if back and back not in plain else "",
        _OWN_SIGNS.sub("", chosen(answer)),
        _OWN_SIGNS.sub("", analysed(answer)),
        _sources(answer),
        _made_how(answer, base),
    ]
    return _linked("\n\n".join(part for part in parts if part), answer, base)


def _plain(text: str) -> str:
    return flat(_OWN_SIGNS.sub("", text))


def _text(answer: Answer) -> str:
    """The text, with a place for a link wherever our own code has set a mark: between the claims.
    What looks like a mark within a claim comes from a document."""
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
    if answer.method != "outline":
        return "\n\n".join(map(words, re.split(r"\n\s*\n", marked.strip())))
    lines = []
    for line in marked.splitlines():  # bullets are the outline's own, what follows them is not
        bullet = _BULLET.match(line)
        lines.append(f"{bullet[1]}- {flat(line[bullet.end() :])}" if bullet else words(line))
    return "\n".join(lines)


def _sources(answer: Answer) -> str:
    """Each place once, with the numbers under which it is cited."""
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


def _made_how(answer: Answer, base: str) -> str:
    sure = answer.confidence.value if answer.status in {"answered", "partial"} else None
    said = [] if sure is None else [f"Confidence {sure:.0%}"]
    if unsupported := sum(claim.supported is False for claim in answer.claims):
        said.append(f"sentences that the evidence does not support: {unsupported}")
    if figures := len(answer.analysis.figures) if answer.analysis else 0:
        said.append(f"charts on that page: {figures}")
    how = f"[how this answer was made]({run_url(base, answer.run)})"
    return f"*{', '.join([*said, how])}*"


def _linked(marked: str, answer: Answer, base: str) -> Written:
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
    return Written(text + marked[done:], tuple(annotations))


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

    def completion(self, answer: Answer) -> Completion:
        said = written(answer, self.base)
        message = AssistantMessage(content=said.text, annotations=list(said.annotations))
        return Completion(
            id=f"chatcmpl-{self.run}",
            created=self.created,
            model=self.asked.model,
            choices=[Choice(message=message)],
            usage=TokenUsage(
                prompt_tokens=answer.usage.tokens_in,
                completion_tokens=answer.usage.tokens_out,
                total_tokens=answer.usage.tokens_in + answer.usage.tokens_out,
                prompt_tokens_details=CachedTokens(cached_tokens=answer.usage.tokens_cached),
            ),
            secondlook=About(
                run=answer.run,
                url=run_url(self.base, answer.run),
                status=answer.status,
                stop_reason=answer.stop_reason,
                confidence=answer.confidence.value,
                workflow=answer.workflow,
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
        options = self.asked.stream_options
        return bool(options and options.include_usage)

    def _chunk(
        self, delta: dict[str, Any] | None, finish_reason: str | None = None, **more: Any
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return _data(
            {
                "id": f"chatcmpl-{self.run}",
                "object": "chat.completion.chunk",
                "created": self.created,
                "model": self.asked.model,
                "choices": [] if delta is None else [choice],
                **({"usage": None} if self._counts else {}),
                **more,
            }
        )


def _data(said: dict[str, Any]) -> bytes:
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode()
