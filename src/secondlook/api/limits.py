"""How much of a request is read. Small bodies are read whole here, so that no app behind it,
however mounted, can be made to hold more; an upload is counted while it passes."""

from __future__ import annotations

import asyncio
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers

from secondlook.api.problems import Problem, problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MEGABYTE: Final = 1024 * 1024
MOST_BODY: Final = MEGABYTE
_MOST_MESSAGE: Final = 24 * MEGABYTE
"""Of MCP: its tool `add` is handed whole files, in base64."""
_MOST_DIGITS: Final = 18
_UPLOAD: Final = re.compile(r"/api/libraries/[^/]+/documents/?")
_SECONDS_TO_SEND = 30.0
"""A small body takes no longer; who sends it drop by drop wants to keep a place."""
_ROOM_FOR_HEADERS: Final = MEGABYTE
"""What multipart writes around the files of an upload."""
_MOST_DROPPED: Final = 1024 * MEGABYTE
_SECONDS_TO_DROP = 30.0
"""What is read of a request that is refused, and for how long, before it is answered."""


class Limits:
    def __init__(self, app: ASGIApp, *, upload_bytes: int) -> None:
        self.app = app
        self.upload_bytes = upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self.app(scope, receive, send)
            return
        uploads = scope["method"] == "POST" and _UPLOAD.fullmatch(scope["path"])
        counted = self._upload(receive) if uploads else _whole(receive, scope["path"])
        answering = _after_the_rest(counted, Headers(scope=scope), send)
        try:
            counted.check_declared(Headers(scope=scope))
            reading = counted if uploads else await _in_time(counted)
        except _Gone:
            return  # nobody is there to be answered
        except Problem as problem:
            await problem_response(problem, scope["path"])(scope, receive, answering)
            return
        await self.app(scope, reading, answering)

    def _upload(self, receive: Receive) -> _Counted:
        refusal = upload_too_large("an upload", self.upload_bytes, "serve.max_upload_mb")
        return _Counted(receive, self.upload_bytes + _ROOM_FOR_HEADERS, refusal)


def upload_too_large(what: str, most: int, setting: str) -> Problem:
    return Problem(
        413,
        "upload_too_large",
        f"{what} may have at most {most // MEGABYTE:,} MB",
        hint=f"add larger files with `secondlook add`, or raise {setting}",
        headers={"Connection": "close"},
    )


def _whole(receive: Receive, path: str) -> _Counted:
    most = _MOST_MESSAGE if path.rstrip("/") == "/mcp" else MOST_BODY
    refusal = Problem(
        413,
        "body_too_large",
        f"the request is larger than {most // MEGABYTE} MB",
        hint="send less at once; files are sent as an upload",
        headers={"Connection": "close"},
    )
    return _Counted(receive, most, refusal)


async def _in_time(counted: _Counted) -> Receive:
    try:
        async with asyncio.timeout(_SECONDS_TO_SEND):
            return await counted.read_whole()
    except TimeoutError:
        counted.ended = True  # who is that slow is not heard out
        raise Problem(
            408,
            "request_too_slow",
            f"the request was not sent within {_SECONDS_TO_SEND:g} seconds",
            hint="send it again",
            headers={"Connection": "close"},
        ) from None


def _after_the_rest(counted: _Counted, headers: Headers, send: Send) -> Send:
    """Who is refused, by whatever is behind this, is heard out before the answer. One that is cut
    off while it sends sees a broken connection, and never why."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and not counted.ended:
            unsent = _asks_first(headers) and not counted.seen
            if not unsent and _declared(headers) <= _MOST_DROPPED:
                await counted.drop_the_rest()
        await send(message)

    return sending


def _declared(headers: Headers) -> float:
    """The size that a request says it has; what is no number is too large for anything."""
    given = headers.get("content-length", "0")
    is_number = given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS
    return int(given) if is_number else math.inf


def _asks_first(headers: Headers) -> bool:
    """Whether the client waits for leave to send, and reads the answer where it gets none."""
    return headers.get("expect", "").lower() == "100-continue"


class _Gone(Exception):
    """The client left before it had sent all."""


class _Counted:
    def __init__(self, receive: Receive, most: int, refusal: Problem) -> None:
        self._receive = receive
        self._most = most
        self._refusal = refusal
        self.seen = 0
        self.ended = False

    def check_declared(self, headers: Headers) -> None:
        if _declared(headers) > self._most:
            raise self._refusal

    async def __call__(self) -> Message:
        message = await self._next()
        if self.seen > self._most:
            raise self._refusal
        return message

    async def _next(self) -> Message:
        message = await self._receive()
        self.seen += len(message.get("body", b""))
        self.ended = not message.get("more_body", False)
        return message

    async def drop_the_rest(self) -> None:
        most = self.seen + _MOST_DROPPED
        with suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS_TO_DROP):
                while not self.ended and self.seen <= most:
                    await self._next()

    async def read_whole(self) -> Receive:
        parts = []
        more = True
        while more:
            message = await self()
            if message["type"] == "http.disconnect":
                raise _Gone
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        whole: list[Message] = [
            {"type": "http.request", "body": b"".join(parts), "more_body": False}
        ]

        async def replay() -> Message:
            return whole.pop() if whole else await self._receive()

        return replay
