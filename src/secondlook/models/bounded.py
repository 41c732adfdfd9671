"""One call to a backend, bounded in time and length whatever the backend does."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from secondlook.errors import ModelError, ModelTimeout, SecondlookError
from secondlook.models.counting import approximate_tokens, longest_reply
from secondlook.models.jsonlike import whole_characters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.models.port import Chat, ChatRequest, ChatResult, Message

_GRACE_SHARE = 0.1
"""Backends keep the time themselves and clean up; only one that does not is cut here, this much
later: a run that has a deadline must not pass it for the sake of one call."""
_PATIENCE = 2.0
"""Seconds that a call may take to end once it is cancelled."""


class Stream:
    """What has been said so far; says so when it has become too long to be a reply."""

    def __init__(self, limit: int, on_text: Callable[[str], None] | None) -> None:
        self._limit = limit
        self._on_text = on_text
        self._pieces: list[str] = []
        self._length = 0
        self.began: float | None = None
        self.overflowed = asyncio.Event()

    def __call__(self, piece: str) -> None:
        if not piece or self.overflowed.is_set():
            return
        if self.began is None:
            self.began = time.monotonic()
        piece = piece[: self._limit - self._length]
        self._length += len(piece)
        self._pieces.append(piece)
        if self._on_text is not None:
            self._on_text(piece)
        if self._length >= self._limit:
            self.overflowed.set()

    @property
    def text(self) -> str:
        return "".join(self._pieces)


async def complete(
    chat: Chat, request: ChatRequest, stream: Stream, *, tokens_in: int
) -> ChatResult:
    """The backend's reply, or a typed error. A stream that does not end is cut, not waited for."""
    started = time.monotonic()
    answering = asyncio.ensure_future(chat.complete(request, stream))
    overflowing = asyncio.ensure_future(stream.overflowed.wait())
    limit = None if request.timeout is None else request.timeout * (1 + _GRACE_SHARE)
    try:
        await asyncio.wait(
            {answering, overflowing}, timeout=limit, return_when=asyncio.FIRST_COMPLETED
        )
        if answering.done():
            result = _within(_result(chat, answering), request)
        elif stream.overflowed.is_set():
            result = _cut_off(stream, tokens_in)
        else:
            raise ModelTimeout(f"{chat.spec!r} did not answer within {request.timeout:g} s")
    finally:
        await _stop(answering, overflowing, patience=_patience(request.timeout))
    first = result.first_token_seconds
    if first is None and stream.began is not None:
        first = stream.began - started
    seconds = result.seconds or time.monotonic() - started
    return replace(result, seconds=seconds, first_token_seconds=first)


async def counted(chat: Chat, messages: Sequence[Message], timeout: float) -> int:  # noqa: ASYNC109
    """Tokens of a prompt. A backend may have to load its model for that, or wait in line."""
    try:
        async with asyncio.timeout(timeout):
            return await chat.count(messages)
    except SecondlookError:
        raise
    except TimeoutError as late:
        raise ModelTimeout(f"{chat.spec!r} was not ready within {timeout:g} s") from late
    except Exception as unexpected:
        raise _failed(chat, unexpected) from unexpected


def _result(chat: Chat, answering: asyncio.Future[ChatResult]) -> ChatResult:
    try:
        result = answering.result()
        if not isinstance(result.text, str):
            raise TypeError(f"its text is {result.text!r}")  # noqa: TRY301  # told as its failure
        return replace(
            result,
            tokens_in=max(0, int(result.tokens_in)),
            tokens_out=max(0, int(result.tokens_out)),
            tokens_cached=max(0, int(result.tokens_cached)),
        )
    except (SecondlookError, KeyboardInterrupt, SystemExit):
        raise
    # Also what is no Exception: it cancelled itself, for nobody here did.
    except BaseException as unexpected:
        raise _failed(chat, unexpected) from unexpected


def _failed(chat: Chat, unexpected: BaseException) -> ModelError:
    return ModelError(f"{chat.spec!r} failed: {type(unexpected).__name__}: {unexpected}")


def _within(result: ChatResult, request: ChatRequest) -> ChatResult:
    limit = longest_reply(request.max_tokens)
    text = whole_characters(result.text)
    if len(text) <= limit:
        return replace(result, text=text)
    return replace(result, text=text[:limit], finish="length")


def _cut_off(stream: Stream, tokens_in: int) -> ChatResult:
    from secondlook.models.port import ChatResult

    text = whole_characters(stream.text)
    return ChatResult(text, "length", tokens_in, approximate_tokens(text))


def _patience(timeout: float | None) -> float:
    """Who has little time to answer has little to end: a run may be waiting for its last step."""
    return _PATIENCE if timeout is None else min(_PATIENCE, _GRACE_SHARE * timeout)


async def _stop(*tasks: asyncio.Future[Any], patience: float) -> None:
    """Cancel what still runs and let it clean up, but do not wait for one that refuses to."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=patience)
    for task in tasks:
        if task.done() and not task.cancelled():
            task.exception()  # seen, so that nobody is told it was never looked at
