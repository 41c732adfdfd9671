"""One GET over the web: guarded at every hop, bounded in time and size, and without a memory.

No cookies, no credentials, no proxies from the environment, no connection that is used twice: two
names may share an address, and what was agreed with one must not serve the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal, Self

import httpx

from secondlook.errors import WebSearchError
from secondlook.retrieval.web.body import read_body
from secondlook.retrieval.web.guard import Guard, Target, parse_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

USER_AGENT = f"secondlook/{version('secondlook')}"
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NO_REUSE = httpx.Limits(max_connections=32, max_keepalive_connections=0)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response as it came, its body cut at the limit."""

    url: str
    status: int
    content_type: str
    """In lower case and without parameters; "" where the server did not say."""
    charset: str
    body: bytes
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float
    """For one page, every redirect of it included."""
    body_bytes: int


class Fetcher:
    """Fetches for one question. Use it as an async context manager."""

    def __init__(
        self, guard: Guard, limits: Limits, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._guard = guard
        self._limits = limits
        self._transport = transport or _new_transport()

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.aclose()

    async def get(
        self, url: str, *, accept: str = "*/*", trust: Literal["page", "server"] = "page"
    ) -> Fetched:
        """Raises `WebSearchError` for whatever goes wrong on the way; any status is an answer."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await self._follow(parse_url(url), accept, trust)
        except TimeoutError as error:
            raise WebSearchError(
                f"{_shown(url)} did not answer within {self._limits.seconds:g} s"
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ssl.SSLError) as error:
            raise WebSearchError(f"{_shown(url)} could not be read: {_reason(error)}") from error

    async def _follow(
        self, url: httpx.URL, accept: str, trust: Literal["page", "server"]
    ) -> Fetched:
        for _ in range(_MOST_REDIRECTS + 1):
            target = await self._guard.admit(url, trust=trust)
            async with self._answer(target, accept) as response:
                location = response.headers.get("location", "")
                if response.status_code not in _REDIRECTS or not location:
                    return await self._fetched(url, response)
            # Only the address that the user named is trusted, not where it leads.
            url, trust = parse_url(location, base=url), "page"
        raise WebSearchError(f"it redirects more than {_MOST_REDIRECTS} times")

    @contextlib.asynccontextmanager
    async def _answer(self, target: Target, accept: str) -> AsyncIterator[httpx.Response]:
        response = await self._connect(target, accept)
        try:
            yield response
        finally:
            await response.aclose()

    async def _connect(self, target: Target, accept: str) -> httpx.Response:
        """Tries the checked addresses in turn; only a failure to connect leads to the next."""
        problem: Exception | None = None
        for address in target.addresses:
            request = self._request(target, address, accept, shares=len(target.addresses))
            try:
                return await self._transport.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                problem = error
        raise WebSearchError(f"{target.host!r} cannot be reached: {_reason(problem)}") from problem

    def _request(self, target: Target, address: str, accept: str, *, shares: int) -> httpx.Request:
        seconds = self._limits.seconds
        waits = {"connect": seconds / shares, "read": seconds, "write": seconds, "pool": seconds}
        headers = {
            "Host": target.host_header,
            "User-Agent": USER_AGENT,
            "Accept": accept,
            "Accept-Encoding": "gzip, deflate",
            "Connection": "close",
        }
        # The certificate is asked of, and checked against, the name and not the number.
        named = {"sni_hostname": target.host, "timeout": waits}
        return httpx.Request("GET", target.at(address), headers=headers, extensions=named)

    async def _fetched(self, url: httpx.URL, response: httpx.Response) -> Fetched:
        kind, _, parameters = response.headers.get("content-type", "").partition(";")
        body, is_cut = await read_body(
            response.aiter_raw(),
            response.headers.get("content-encoding", ""),
            limit=self._limits.body_bytes,
        )
        return Fetched(
            url=str(url),
            status=response.status_code,
            content_type=kind.strip().lower(),
            charset=_charset(parameters),
            body=body,
            is_cut=is_cut,
        )


def _new_transport() -> httpx.AsyncHTTPTransport:
    return httpx.AsyncHTTPTransport(verify=_certificates(), limits=_NO_REUSE, trust_env=False)


@cache
def _certificates() -> ssl.SSLContext:
    # SSL_CERT_FILE and SSL_CERT_DIR hold, as people behind inspecting firewalls need them to.
    return httpx.create_ssl_context()


def _charset(parameters: str) -> str:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'")
    return ""


def _shown(url: str) -> str:
    return repr(url if len(url) <= 200 else url[:199] + "…")  # noqa: PLR2004 - fits a line or two


def _reason(error: Exception | None) -> str:
    return " ".join(str(error).split()) or type(error).__name__
