"""One GET over the web: guarded at every hop, bounded in time and size, and without a memory. No
cookies, no credentials, no proxies from the environment, no connection that is used twice: two
names may share an address, and what was agreed with one must not serve the other."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import re
import socket
import ssl
import threading
import zlib
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, TypeVar, cast

import httpx

from secondlook.errors import WebSearchError

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Awaitable, Callable

USER_AGENT = f"secondlook/{version('secondlook-qa')}"
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NO_REUSE = httpx.Limits(max_connections=32, max_keepalive_connections=0)


@dataclass(frozen=True, slots=True)
class Fetched:
    url: str
    status: int
    content_type: str  # in lower case without parameters; "" where the server did not say
    charset: str
    body: bytes
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float  # for one page, every redirect of it included
    body_bytes: int


class Fetcher:
    def __init__(
        self, guard: Guard, limits: Limits, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._guard = guard
        self._limits = limits
        self._transport = transport or httpx.AsyncHTTPTransport(
            verify=_certificates(), limits=_NO_REUSE, trust_env=False
        )

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
            async with contextlib.aclosing(await self._connect(target, accept)) as response:
                location = response.headers.get("location", "")
                if response.status_code not in _REDIRECTS or not location:
                    return await self._fetched(url, response)
            # Only the address that the user named is trusted, not where it leads.
            url, trust = parse_url(location, base=url), "page"
        raise WebSearchError(f"it redirects more than {_MOST_REDIRECTS} times")

    async def _connect(self, target: Target, accept: str) -> httpx.Response:
        """Tries the checked addresses in turn; only a failure to connect leads to the next."""
        problem: Exception | None = None
        seconds, share = self._limits.seconds, self._limits.seconds / len(target.addresses)
        waits = {"connect": share, "read": seconds, "write": seconds, "pool": seconds}
        headers = {
            "Host": target.url.netloc.decode("ascii"),
            "User-Agent": USER_AGENT,
            "Accept": accept,
            "Accept-Encoding": "gzip, deflate",
            "Connection": "close",
        }
        # The certificate is asked of, and checked against, the name and not the number.
        host = target.url.raw_host.decode("ascii")
        named = {"sni_hostname": host, "timeout": waits}
        for address in target.addresses:
            url = target.url.copy_with(host=address)
            request = httpx.Request("GET", url, headers=headers, extensions=named)
            try:
                return await self._transport.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                problem = error
        raise WebSearchError(f"{host!r} cannot be reached: {_reason(problem)}") from problem

    async def _fetched(self, url: httpx.URL, response: httpx.Response) -> Fetched:
        kind, _, parameters = response.headers.get("content-type", "").partition(";")
        pairs = (parameter.partition("=") for parameter in parameters.split(";"))
        charsets = [v.strip().strip("\"'") for k, _, v in pairs if k.strip().lower() == "charset"]
        packed = response.headers.get("content-encoding", "")
        limit = self._limits.body_bytes
        body, is_cut = await read_body(response.aiter_raw(), packed, limit=limit)
        charset = next(filter(None, charsets), "")
        content_type = kind.strip().lower()
        return Fetched(str(url), response.status_code, content_type, charset, body, is_cut)


@cache
def _certificates() -> ssl.SSLContext:
    # SSL_CERT_FILE and SSL_CERT_DIR hold, as people behind inspecting firewalls need them to.
    return httpx.create_ssl_context()


def _shown(url: str) -> str:
    return repr(url if len(url) <= 200 else url[:199] + "…")  # noqa: PLR2004 - fits a line or two


def _reason(error: Exception | None) -> str:
    return " ".join(str(error).split()) or type(error).__name__


# The bytes of a response as they arrive: unpacked, and cut where they become too many.

# Other codecs of Python are slow on hostile input (idna, punycode) or no charsets at all.
_CHARSET = re.compile(
    r"(utf|iso|windows|cp|koi8|gb|big5|euc|shift|latin|mac|us-ascii|ascii|tis|x-sjis)[\w.-]{0,24}",
    re.IGNORECASE,
)
_AS_BROWSERS_DO = dict.fromkeys(("iso-8859-1", "latin1", "latin-1", "us-ascii"), "cp1252")


async def read_body(
    chunks: AsyncIterable[bytes], encoding: str, *, limit: int
) -> tuple[bytes, bool]:
    """The first `limit` bytes, unpacked, and whether there was more: a bomb stops there."""
    kinds = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
    packed = encoding.strip().lower()
    if packed not in {"", "identity", *kinds}:
        raise WebSearchError(f"the page is packed as {packed!r}, which was not asked for")
    inflate = zlib.decompressobj(kinds[packed]) if packed in kinds else None
    body, received = bytearray(), 0
    try:
        async for chunk in chunks:
            received += len(chunk)
            # One byte more than fits tells a body that ends at the limit from one that goes on.
            room = limit + 1 - len(body)
            if inflate is None:
                body += chunk[:room]
            elif not inflate.eof:
                try:
                    body += inflate.decompress(chunk, room)
                except zlib.error:
                    if packed != "deflate" or body:
                        raise
                    # Some servers leave out the header.
                    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
                    body += inflate.decompress(chunk, room)
            if len(body) > limit or received > 2 * limit:
                return bytes(body[:limit]), True
    except zlib.error as error:
        raise WebSearchError(f"the page is packed and damaged: {error}") from error
    return bytes(body), False


def as_utf8(body: bytes, charset: str) -> bytes:
    """The text in UTF-8 with its mark, where that is certain; else as it came. Valid UTF-8 is
    UTF-8, whatever the server says; otherwise its charset holds if the bytes agree."""
    if (
        body.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        or body.isascii()
    ):
        return body
    for name in ("utf-8", _AS_BROWSERS_DO.get(charset.lower(), charset)):
        with contextlib.suppress(LookupError, UnicodeError):
            if _CHARSET.fullmatch(name):
                # Incremental: a page that was cut may end within a letter.
                text = codecs.getincrementaldecoder(name)().decode(body)
                return codecs.BOM_UTF8 + text.encode("utf-8", "replace")
    return body


# Decides where a request may go before any connection is made.

if TYPE_CHECKING:
    Resolve = Callable[[str, int], Awaitable[list[str]]]

_PORTS = {"http": 80, "https": 443}
_LONGEST_URL = 4096
_MOST_ADDRESSES = 3  # tried one after the other where the first does not answer
_HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")


class Refused(WebSearchError):
    retryable = False


@dataclass(frozen=True, slots=True)
class Target:
    url: httpx.URL
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """`resolve` is asked for the addresses of a name; only tests give their own."""

    allow_private: bool = False
    resolve: Resolve | None = None

    async def admit(self, url: httpx.URL, *, trust: Literal["page", "server"] = "page") -> Target:
        """A `server` was named by the user, who may have it on this machine and on any port."""
        any_port = self.allow_private or trust == "server"
        if url.scheme not in _PORTS or not url.host or url.userinfo:
            raise Refused("only http and https addresses without a password are read")
        if not any_port and url.port not in {None, *_PORTS.values()}:
            raise Refused(f"port {url.port} of {url.host!r} is not read: only 80 and 443 are")
        host = url.raw_host.decode("ascii")
        addresses = await self._addresses(host, url.port or _PORTS[url.scheme])
        for address in addresses:
            if (what := objection(address, allow_private=any_port)) is not None:
                raise Refused(
                    f"{host!r} is not read: its address {address} is {what}",
                    hint="web.allow_private = true allows pages on private addresses",
                )
        return Target(url, tuple(addresses[:_MOST_ADDRESSES]))

    async def _addresses(self, host: str, port: int) -> list[str]:
        with contextlib.suppress(ValueError):
            ip_address(host)
            return [host]
        # 2130706433, 0x7f.1 and 0177.0.0.1 are addresses to some systems and names to others.
        is_number = _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2])
        if is_number or not _HOST_NAME.fullmatch(host):
            raise Refused(f"{host!r} is not the name of a host")
        try:
            found = await (self.resolve or _resolve)(host, port)
        except (OSError, UnicodeError) as error:
            raise WebSearchError(f"the name {host!r} could not be resolved: {error}") from error
        if not found:
            raise WebSearchError(f"the name {host!r} has no address")
        return list(dict.fromkeys(found))


def parse_url(text: str, *, base: httpx.URL | None = None) -> httpx.URL:
    """One parser for the check and for the request: they cannot disagree about the host."""
    if len(text) > _LONGEST_URL:
        raise Refused(f"an address of {len(text):,} characters is not read")
    try:
        url = base.join(text) if base is not None else httpx.URL(text)
        return url.copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise Refused(f"{text[:200]!r} is not a web address: {error}") from error


async def _resolve(host: str, port: int) -> list[str]:
    found = await aside(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
    return [str(address[0]) for *_, address in found]


# Which addresses a page of the open web may lie on, and which it may not.

Networks: TypeAlias = tuple[tuple[IPv4Network | IPv6Network, str], ...]


def _networks(**described: str) -> Networks:
    named = ((what.replace("_", " "), many.split()) for what, many in described.items())
    return tuple((ip_network(network), what) for what, many in named for network in many)


_METADATA = _networks(
    # The services of cloud providers that hand out credentials to whoever asks from within.
    a_metadata_service="169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 "
    "fd00:ec2::254"
)
_PRIVATE = _networks(
    loopback="127.0.0.0/8 ::1/128",
    private="10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 198.18.0.0/15 fc00::/7 fec0::/10",
    link_local="169.254.0.0/16 fe80::/10",
    shared_by_a_carrier="100.64.0.0/10",
)
_NEVER = _networks(
    unspecified="0.0.0.0/8 ::/128",
    multicast="224.0.0.0/4 ff00::/8",
    reserved="240.0.0.0/4 192.0.0.0/24 192.88.99.0/24 100::/64 2001::/23 5f00::/16",
    for_documentation="192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
    IPv4_within_IPv6="::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 2002::/16 64:ff9b:1::/48",
)
_NAT64 = IPv6Network("64:ff9b::/96")  # the last 32 bits are the IPv4 address meant
_ASSIGNED = IPv6Network("2000::/3")


def objection(address: str, *, allow_private: bool = False) -> str | None:
    """What kind of address it is, where no page is read from that kind; None for public ones."""
    try:
        meant = ip_address(address)
    except ValueError:
        return "no address"
    if isinstance(meant, IPv6Address) and meant in _NAT64:
        meant = IPv4Address(int(meant) & 0xFFFFFFFF)
    for networks in (_METADATA, _PRIVATE, _NEVER):
        named = next((what for network, what in networks if meant in network), None)
        if named:
            return None if allow_private and networks is _PRIVATE else named
    is_assigned = isinstance(meant, IPv4Address) or meant in _ASSIGNED
    return None if is_assigned else "not assigned"


# Blocking calls beside the event loop, in threads that nobody has to wait for.

Value = TypeVar("Value")


async def aside(call: Callable[[], Value]) -> Value:
    """What `call` returns or raises. Cancelling stops the waiting, not the call."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Value] = loop.create_future()

    def settle(value: Value | None, error: BaseException | None) -> None:
        if error is not None and not outcome.done():
            outcome.set_exception(error)
        elif not outcome.done():
            outcome.set_result(cast("Value", value))

    def work() -> None:
        value, caught = None, None
        try:
            value = call()
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            caught = error
        with contextlib.suppress(RuntimeError):  # the loop may be closed: then nobody waits
            loop.call_soon_threadsafe(settle, value, caught)

    threading.Thread(target=work, name="secondlook-web", daemon=True).start()
    return await outcome
