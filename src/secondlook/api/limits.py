"""How much of a request is read. Small bodies are read whole here, so that no app behind it,
however mounted, can be made to hold more; an upload is counted while it passes."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from secondlook.api.problems import Problem, problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MEGABYTE: Final = 1024 * 1024
MOST_BODY: Final = MEGABYTE
_UPLOAD: Final = re.compile(r"/api/libraries/[^/]+/documents/?")
_SECONDS_TO_SEND = 30.0
"""A small body takes no longer; who sends it drop by drop wants to keep a place."""
_ROOM_FOR_HEADERS: Final = MEGABYTE
"""What multipart writes around the files of an upload."""


class Limits:
    def __init__(self, app: ASGIApp, *, upload_bytes: int) -> None:
        self.app = app
        self.upload_bytes = upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self.app(scope, receive, send)
            return
        uploads = scope["method"] == "POST" and _UPLOAD.fullmatch(scope["path"])
        most = self.upload_bytes if uploads else MOST_BODY
        counted = _Counted(receive, most + (_ROOM_FOR_HEADERS if uploads else 0), told=most)
        try:
            counted.check_declared(scope)
            reading = counted if uploads else await _in_time(counted)
        except _Gone:
            return  # nobody is there to be answered
        except Problem as problem:
            await problem_response(problem, scope["path"])(scope, receive, send)
            return
        await self.app(scope, reading, send)


async def _in_time(counted: _Counted) -> Receive:
    try:
        async with asyncio.timeout(_SECONDS_TO_SEND):
            return await counted.read_whole()
    except TimeoutError:
        raise Problem(
            408,
            "request_too_slow",
            f"the request was not sent within {_SECONDS_TO_SEND:g} seconds",
            hint="send it again",
            headers={"Connection": "close"},
        ) from None


class _Gone(Exception):
    """The client left before it had sent all."""


class _Counted:
    def __init__(self, receive: Receive, most: int, *, told: int) -> None:
        self._receive = receive
        self._most = most
        self._told = told
        self._seen = 0

    def check_declared(self, scope: Scope) -> None:
        for name, value in scope["headers"]:
            if name == b"content-length" and (not value.isdigit() or int(value) > self._most):
                raise self._too_large()

    async def __call__(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > self._most:
            raise self._too_large()
        return message

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

    def _too_large(self) -> Problem:
        return Problem(
            413,
            "body_too_large",
            f"the request is larger than {self._told // MEGABYTE} MB",
            hint="send less at once; serve.max_upload_mb says how much an upload may have",
            headers={"Connection": "close"},
        )
