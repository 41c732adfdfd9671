"""Decides where a request may go before any connection is made.

A search engine, or a page that redirects, may name any address: also the router, a service on
this machine, or the place where a cloud provider keeps credentials. The host is therefore resolved
here, every address of it is checked, and the connection is made to the very address that was
checked, so that a name that resolves differently the next time gains nothing.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal

import httpx

from secondlook.errors import WebSearchError
from secondlook.retrieval.web.addresses import objection
from secondlook.retrieval.web.aside import aside

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Resolve = Callable[[str, int], Awaitable[list[str]]]

_PORTS = {"http": 80, "https": 443}
_LONGEST_URL = 4096
_MOST_ADDRESSES = 3
"""Tried one after the other where the first does not answer."""
_HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")


class Refused(WebSearchError):
    """The address is not one that may be asked."""

    retryable = False


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that passed, and the addresses it was checked for."""

    url: httpx.URL
    addresses: tuple[str, ...]

    @property
    def host(self) -> str:
        return self.url.raw_host.decode("ascii")

    @property
    def host_header(self) -> str:
        return self.url.netloc.decode("ascii")

    def at(self, address: str) -> httpx.URL:
        """The same request, addressed by number."""
        return self.url.copy_with(host=address)


@dataclass(frozen=True, slots=True)
class Guard:
    """`resolve` is asked for the addresses of a name; only tests give their own."""

    allow_private: bool = False
    resolve: Resolve | None = None

    async def admit(self, url: httpx.URL, *, trust: Literal["page", "server"] = "page") -> Target:
        """A `server` was named by the user, who may have it on this machine and on any port."""
        self._check_form(url, any_port=self.allow_private or trust == "server")
        host = url.raw_host.decode("ascii")
        addresses = await self._addresses(host, url.port or _PORTS[url.scheme])
        for address in addresses:
            self._check_address(host, address, is_private_fine=trust == "server")
        return Target(url, tuple(addresses[:_MOST_ADDRESSES]))

    def _check_form(self, url: httpx.URL, *, any_port: bool) -> None:
        if url.scheme not in _PORTS:
            raise Refused(f"{str(url)!r} is not read: only http and https are")
        if url.userinfo:
            raise Refused("an address that carries a user name or password is not read")
        if not url.host:
            raise Refused(f"{str(url)!r} names no host")
        if not any_port and url.port not in {None, *_PORTS.values()}:
            raise Refused(f"port {url.port} of {url.host!r} is not read: only 80 and 443 are")
        _check_host(url.raw_host.decode("ascii"))

    def _check_address(self, host: str, address: str, *, is_private_fine: bool) -> None:
        what = objection(address, allow_private=self.allow_private or is_private_fine)
        if what is not None:
            raise Refused(
                f"{host!r} is not read: its address {address} is {what}",
                hint="web.allow_private = true allows pages on private addresses",
            )

    async def _addresses(self, host: str, port: int) -> list[str]:
        if _is_address(host):
            return [host]
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


def _check_host(host: str) -> None:
    if _is_address(host):
        return
    if not _HOST_NAME.fullmatch(host):
        raise Refused(f"{host!r} is not the name of a host")
    # 2130706433, 0x7f.1 and 0177.0.0.1 are addresses to some systems and names to others.
    if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        raise Refused(f"{host!r} is an address in a form that is not read")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


async def _resolve(host: str, port: int) -> list[str]:
    found = await aside(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
    return [str(address[0]) for *_, address in found]
