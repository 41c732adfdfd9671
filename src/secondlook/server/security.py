"""What every request must pass before anything reads it, mounted apps included. Hostile web pages
reach this machine through its own browser: so name and origin of a request must be ours, and what
changes something must come in a form that no foreign page can send without asking first."""

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

COOKIE: Final = "secondlook"
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
OWN_HEADER: Final = "x-secondlook"  # no form can send it, no foreign page without asking for leave
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
_NO_TOKEN = frozenset({"/api/health", "/api/session"})


def made_up() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class Token:
    """What a client must show, or a cookie made from it; None = nothing."""

    value: str | None = None

    def __repr__(self) -> str:
        return "Token(set)" if self.value else "Token(none)"

    @property
    def cookie(self) -> str:
        """What a browser keeps instead of the token: nobody can tell the token from it."""
        key = (self.value or "").encode()
        return hmac.new(key, b"secondlook session cookie", hashlib.sha256).hexdigest()

    def fits(self, given: str) -> bool:
        return self.value is not None and _same(given, self.value)

    def admits(self, authorization: str | None, cookies: str | None) -> bool:
        if self.value is None:
            return True
        scheme, _, given = (authorization or "").partition(" ")
        if scheme.lower() == "bearer":
            return self.fits(given.strip())
        # Browsers send the cookies of every server of this machine, whatever its port: one of
        # theirs, odd or of the same name, must not hide ours.
        pairs = (pair.partition("=") for pair in (cookies or "").split(";"))
        ours = [value.strip() for name, _, value in pairs if name.strip() == COOKIE]
        return any(_same(value, self.cookie) for value in ours)


def _same(given: str, right: str) -> bool:
    """Compares in constant time, whatever the lengths."""
    one, other = (hashlib.sha256(text.encode("utf-8", "replace")) for text in (given, right))
    return hmac.compare_digest(one.digest(), other.digest())


@dataclass(frozen=True, slots=True)
class Guard:
    host: str = "127.0.0.1"  # where it listens
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    token: Token = field(default_factory=Token)
    guarded: Callable[[str], bool] = bool  # whether a path is more than the page itself

    def refuses(self, scope: Scope) -> Problem | None:
        headers = Headers(scope=scope)
        foreign = self._foreign_host(headers) or self._foreign_origin(scope, headers)
        form = foreign or _foreign_form(scope["method"], headers)
        return form or self._no_token(scope, headers)

    def _foreign_host(self, headers: Headers) -> Problem | None:
        given = headers.getlist("host")
        name = host_name(given[0]) if len(given) == 1 else None
        if name is not None and self.knows(name):
            return None
        said = f"this server does not answer to {', '.join(given)[:200]!r}"
        hint = "use the address that it printed, or allow it with serve.origins"
        return Problem(421, "host_not_allowed", said, hint=hint)

    def knows(self, name: str) -> bool:
        if name in LOOPBACK or name in self.hosts or name == self.host:
            return True
        # Listening everywhere, it is called by any address of the machine or by the machine's
        # name; a page can make a name of its own point here, never an address.
        machine = socket.gethostname().lower()
        is_machine = bool(machine) and name in {machine, f"{machine}.local"}
        return is_everywhere(self.host) and (is_machine or _address(name) is not None)

    def _foreign_origin(self, scope: Scope, headers: Headers) -> Problem | None:
        origin = headers.get("origin")
        if origin is not None:
            scheme, _, rest = origin.partition("://")
            same = scheme in {"http", "https"} and rest.lower() == headers["host"].lower()
            if same or origin in self.origins:
                return None
        elif headers.get("sec-fetch-site", "") in {"", "same-origin", "none"}:
            return None
        else:  # a link on another site may lead to the page
            reads = scope["method"] in _READING and not self.guarded(scope["path"])
            if reads and headers.get("sec-fetch-mode") == "navigate":
                return None
        said = f"requests from {(origin or 'other sites')[:200]!r} are not taken"
        hint = "use the server's own page, or allow the origin with serve.origins"
        return Problem(403, "origin_not_allowed", said, hint=hint)

    def check_owner(self, headers: Headers) -> None:
        """What decides which model and which servers are asked is for who holds the token. Without
        one it is for this machine alone: a proxy before us may let anybody through."""
        name = host_name(headers["host"]) or ""
        forwarded = "forwarded" in headers or "x-forwarded-for" in headers
        if self.token.value is None and (forwarded or not is_loopback(name)):
            said = "settings are not changed from other machines without a token"
            hint = "set SECONDLOOK_TOKEN where the server runs, and start it again"
            raise Problem(403, "settings_closed", said, hint=hint)

    def _no_token(self, scope: Scope, headers: Headers) -> Problem | None:
        path = scope["path"]
        if path in _NO_TOKEN or not self.guarded(path):
            return None
        if self.token.admits(headers.get("authorization"), headers.get("cookie")):
            return None
        said = "this server needs a token, and none or a wrong one was given"
        hint = "send it as Authorization: Bearer TOKEN; the server printed it when it started"
        return Problem(401, "token_needed", said, hint=hint, headers={"WWW-Authenticate": "Bearer"})


def _foreign_form(method: str, headers: Headers) -> Problem | None:
    """Foreign pages may post forms and plain text here without asking for leave."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    own = OWN_HEADER in headers or "origin" in headers  # an origin has been checked before
    if method in _READING or not (kind or has_body) or kind == "application/json":
        return None
    if kind == "multipart/form-data" and own:
        return None
    said = f"a body of the type {kind[:100]!r} is not taken here"
    hint = "send application/json, or an upload as multipart/form-data with X-Secondlook: 1"
    return Problem(415, "content_type_not_allowed", said, hint=hint)


def host_name(given: str) -> str | None:
    """`[::1]:8765` and `localhost:8765` without the port."""
    try:
        parts = urlsplit(f"//{given}")
        port = parts.port  # raises where it is none
    except ValueError:
        return None
    odd = parts.username is not None or parts.path or parts.query or parts.fragment
    name = parts.hostname or ""
    # Some parsers read `[::1]evil.example` as ::1: what is given must be the name and no more.
    plain = f"[{name}]" if ":" in name else name
    whole = given.lower() in {plain, f"{plain}:", f"{plain}:{given.rpartition(':')[2]}"}
    return None if odd or port == 0 or not whole else name


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    address = _address(host)
    return host in LOOPBACK or (address is not None and address.is_loopback)


def is_everywhere(host: str) -> bool:
    address = _address(host)
    return address is not None and address.is_unspecified


class Security:
    def __init__(self, app: ASGIApp, *, guard: Guard) -> None:
        self.app = app
        self.guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(raw=list(message.get("headers", [])))
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith(("/api", "/v1")):
                    headers.setdefault("cache-control", "no-store")
                message["headers"] = headers.raw
            await send(message)

        problem = self.guard.refuses(scope)
        inner = self.app if problem is None else problem_response(problem, scope["path"])
        try:
            await inner(scope, receive, sending)
        except asyncio.CancelledError:  # a server that stops waited for it in vain
            if begun:
                raise
            hint = "send it again when it is back"
            stopping = Problem(503, "stopping", "the server is stopping", hint=hint)
            await problem_response(stopping, scope["path"])(scope, receive, sending)


# How much of a request is read: small bodies whole, an upload is counted while it passes.
MEGABYTE: Final = 1024 * 1024
MOST_BODY: Final = MEGABYTE
_MOST_MESSAGE: Final = 24 * MEGABYTE  # of MCP: its tool `add` takes whole files, in base64
_UPLOAD: Final = re.compile(r"/api/libraries/[^/]+/documents/?")
_SECONDS_TO_SEND = 30.0  # for a small body: sent byte by byte it must not keep a connection
_MOST_DROPPED: Final = 1024 * MEGABYTE  # what is read of a refused request before it is answered
_SECONDS_TO_DROP = 30.0
_TOO_SLOW: Final = 408


class Limits:
    def __init__(self, app: ASGIApp, *, upload_bytes: int) -> None:
        self.app = app
        self.upload_bytes = upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self.app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        uploads = scope["method"] == "POST" and _UPLOAD.fullmatch(path)
        if uploads:
            refusal = upload_too_large("an upload", self.upload_bytes, "serve.max_upload_mb")
            # Multipart writes something around the files.
            counted = _Counted(receive, self.upload_bytes + MEGABYTE, refusal)
        else:
            most = _MOST_MESSAGE if path.rstrip("/") == "/mcp" else MOST_BODY
            said = f"the request is larger than {most // MEGABYTE} MB"
            refusal = _closing(413, "body_too_large", said, "send less; files go as an upload")
            counted = _Counted(receive, most, refusal)
        given = headers.get("content-length", "0")
        is_number = given.isascii() and given.isdigit() and len(given) <= 18  # noqa: PLR2004
        declared = int(given) if is_number else math.inf

        async def answering(message: Message) -> None:
            """A client cut off while it sends would see a broken connection and never why."""
            begins = message["type"] == "http.response.start"
            # Who has sent nothing for long is not waited for again.
            if begins and declared <= _MOST_DROPPED and message["status"] != _TOO_SLOW:
                await counted.drop_the_rest()
            await send(message)

        try:
            if declared > counted.most:
                raise refusal
            reading = counted if uploads else await counted.read_whole()
        except _Gone:
            return  # nobody is there to be answered
        except Problem as problem:
            await problem_response(problem, path)(scope, receive, answering)
            return
        await self.app(scope, reading, answering)


def upload_too_large(what: str, most: int, setting: str) -> Problem:
    said = f"{what} may have at most {most // MEGABYTE:,} MB"
    hint = f"add larger files with `secondlook add`, or raise {setting}"
    return _closing(413, "upload_too_large", said, hint)


def _closing(status: int, code: str, said: str, hint: str) -> Problem:
    return Problem(status, code, said, hint=hint, headers={"Connection": "close"})


class _Gone(Exception):
    """The client left before it had sent all."""


class _Counted:
    def __init__(self, receive: Receive, most: int, refusal: Problem) -> None:
        self._receive = receive
        self.most = most
        self._refusal = refusal
        self.seen = 0
        self.ended = False

    async def __call__(self) -> Message:
        message = await self._next()
        if self.seen > self.most:
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
        try:
            async with asyncio.timeout(_SECONDS_TO_SEND):
                while not self.ended:
                    message = await self()
                    if message["type"] == "http.disconnect":
                        raise _Gone
                    parts.append(message.get("body", b""))
        except TimeoutError:
            said = f"the request was not sent within {_SECONDS_TO_SEND:g} seconds"
            raise _closing(_TOO_SLOW, "request_too_slow", said, "send it again") from None
        body = b"".join(parts)
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await self._receive()

        return replay
