"""What every request must pass before anything reads it, mounted apps included.

Listening on this machine alone does not keep hostile web pages out: a browser on it will send what
a page tells it to. So the name that a request calls the server by must be one of ours (a page can
make a name of its own point here), its origin must be ours, and what changes something must come in
a form that no foreign page can send without asking first.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import math
import re
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders

from secondlook.server.problems import Problem, problem_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Who may use a server that asks for a token: whoever shows it, or a cookie made from it.

COOKIE: Final = "secondlook"
_FOR_THE_COOKIE: Final = b"secondlook session cookie"
_BEARER: Final = "bearer "


def made_up() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class Token:
    """None = the server asks for none."""

    value: str | None = None

    def __repr__(self) -> str:
        return "Token(set)" if self.value else "Token(none)"

    @property
    def cookie(self) -> str:
        """What a browser keeps instead of the token: nobody can tell the token from it."""
        return hmac.new((self.value or "").encode(), _FOR_THE_COOKIE, hashlib.sha256).hexdigest()

    def fits(self, given: str) -> bool:
        return self.value is not None and _same(given, self.value)

    def admits(self, authorization: str | None, cookies: str | None) -> bool:
        if self.value is None:
            return True
        if authorization and authorization[: len(_BEARER)].lower() == _BEARER:
            return self.fits(authorization[len(_BEARER) :].strip())
        return any(_same(given, self.cookie) for given in _cookies(cookies))


def _same(given: str, right: str) -> bool:
    """In a time that tells nothing, of the length neither."""
    one, other = (hashlib.sha256(text.encode("utf-8", "replace")) for text in (given, right))
    return hmac.compare_digest(one.digest(), other.digest())


def _cookies(header: str | None) -> list[str]:
    """Every cookie of our name. Browsers send what any server of this machine has set, whatever
    its port: one of theirs, odd or of the same name, must not hide ours."""
    pairs = (pair.partition("=") for pair in (header or "").split(";"))
    return [value.strip() for name, _, value in pairs if name.strip() == COOKIE]


LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
OWN_HEADER: Final = "x-secondlook"
"""No form can send it, and no script of a foreign page without being asked for leave."""
HEADERS: Final = {
    "content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE = frozenset({"", "same-origin", "none"})
_NO_TOKEN = frozenset({"/api/health", "/api/session"})


@dataclass(frozen=True, slots=True)
class Guard:
    """What this server lets in."""

    host: str = "127.0.0.1"
    """Where it listens."""
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    token: Token = field(default_factory=Token)
    guarded: Callable[[str], bool] = bool
    """Whether a path is more than the page itself, which anybody may load to enter a token."""

    def refuses(self, scope: Scope) -> Problem | None:
        headers = Headers(scope=scope)
        return (
            self._foreign_host(headers)
            or self._foreign_origin(scope, headers)
            or _foreign_form(scope["method"], headers)
            or self._no_token(scope, headers)
        )

    def knows(self, name: str) -> bool:
        """Whether the server may be called by that name."""
        if name in LOOPBACK or name in self.hosts or name == self.host:
            return True
        # Listening everywhere, it is called by any address of the machine or by the machine's
        # name; a page can make a name of its own point here, never an address.
        return is_everywhere(self.host) and (_is_address(name) or name in _machine_names())

    def _foreign_host(self, headers: Headers) -> Problem | None:
        given = headers.getlist("host")
        name = _host_name(given[0]) if len(given) == 1 else None
        if name is not None and self.knows(name):
            return None
        return Problem(
            421,
            "host_not_allowed",
            f"this server does not answer to {', '.join(given)[:200]!r}",
            hint="use the address that it printed, or allow it with serve.origins",
        )

    def _foreign_origin(self, scope: Scope, headers: Headers) -> Problem | None:
        origin = headers.get("origin")
        if origin is not None:
            if origin in self.origins or _is_same(origin, headers["host"]):
                return None
        elif headers.get("sec-fetch-site", "") in _OWN_SITE or self._is_visit(scope, headers):
            return None
        return Problem(
            403,
            "origin_not_allowed",
            f"requests from {(origin or 'other sites')[:200]!r} are not taken",
            hint="use the server's own page, or allow the origin with serve.origins",
        )

    def _is_visit(self, scope: Scope, headers: Headers) -> bool:
        """A link on another site that leads to the page."""
        visits = headers.get("sec-fetch-mode") == "navigate"
        return visits and scope["method"] in _READING and not self.guarded(scope["path"])

    def _no_token(self, scope: Scope, headers: Headers) -> Problem | None:
        path = scope["path"]
        if path in _NO_TOKEN or not self.guarded(path):
            return None
        if self.token.admits(headers.get("authorization"), headers.get("cookie")):
            return None
        return Problem(
            401,
            "token_needed",
            "this server asks for its token, and none or another was given",
            hint="send it as Authorization: Bearer TOKEN; the server printed it when it started",
            headers={"WWW-Authenticate": "Bearer"},
        )


def is_loopback(host: str) -> bool:
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_everywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


class Security:
    """The guard at the door, and headers on what goes out."""

    def __init__(self, app: ASGIApp, *, guard: Guard) -> None:
        self.app = app
        self.guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._http(scope, receive, _with_headers(scope, send))

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self.guard.refuses(scope)
        if problem is None:
            await self.app(scope, receive, send)
        else:
            await problem_response(problem, scope["path"])(scope, receive, send)


def _with_headers(scope: Scope, send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message.get("headers", [])))
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if scope["path"].startswith(("/api", "/v1")):
                headers.setdefault("cache-control", "no-store")
            message["headers"] = headers.raw
        await send(message)

    return sending


def _foreign_form(method: str, headers: Headers) -> Problem | None:
    """Pages of others may post forms and plain text here without being asked for leave."""
    if method in _READING:
        return None
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    if not kind and not has_body:
        return None
    if kind == "application/json" or (kind == "multipart/form-data" and _is_own(headers)):
        return None
    return Problem(
        415,
        "content_type_not_allowed",
        f"a body of the type {kind[:100]!r} is not taken here",
        hint="send application/json, or an upload as multipart/form-data with X-Secondlook: 1",
    )


def _is_own(headers: Headers) -> bool:
    # An origin that is there has been looked at before.
    return OWN_HEADER in headers or "origin" in headers


def _host_name(given: str) -> str | None:
    """`[::1]:8765` and `localhost:8765` without the port."""
    try:
        parts = urlsplit(f"//{given}")
        port = parts.port  # raises where it is none
    except ValueError:
        return None
    odd = parts.username is not None or parts.path or parts.query or parts.fragment
    name = parts.hostname or ""
    # `[::1]evil.example` is read as ::1 by some: what is said must be the name and no more.
    plain = f"[{name}]" if ":" in name else name
    whole = given.lower() in {plain, f"{plain}:", f"{plain}:{given.rpartition(':')[2]}"}
    return None if odd or port == 0 or not whole else name


def _is_same(origin: str, host: str) -> bool:
    scheme, _, rest = origin.partition("://")
    return scheme in {"http", "https"} and rest.lower() == host.lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _machine_names() -> frozenset[str]:
    name = socket.gethostname().lower()
    return frozenset({name, f"{name}.local"} if name else ())


# How much of a request is read. Small bodies are read whole here, so that no app behind it,
# however mounted, can be made to hold more; an upload is counted while it passes.

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
