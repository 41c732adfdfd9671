"""An answer as a completion, at once or in pieces.

The engine may withdraw a draft; what was sent on this wire cannot be taken back. So nothing of the
text is sent before it is final; until then comments keep the connection open.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi.sse import KEEPALIVE_COMMENT

from secondlook.api.openai.errors import error_body
from secondlook.api.openai.forms import (
    About,
    AssistantMessage,
    CachedTokens,
    Choice,
    Chunk,
    ChunkChoice,
    Completion,
    Delta,
    TokenUsage,
)
from secondlook.api.openai.writing import run_url, written
from secondlook.api.wire import wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from secondlook.answer import Answer, Usage
    from secondlook.api.asking.live import LiveRun
    from secondlook.api.openai.forms import ChatRequest

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
