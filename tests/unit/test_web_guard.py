from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.retrieval.web.fetch import Guard, Refused, Target, objection, parse_url
from tests.support.web_site import PUBLIC, resolver

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = resolver(
    good_test=[PUBLIC],
    inner_test=["127.0.0.1"],
    mixed_test=[PUBLIC, "10.0.0.7"],
    mixed6_test=[PUBLIC, "::1"],
    mapped_test=["::ffff:127.0.0.1"],
    many_test=[f"93.184.216.{n}" for n in range(1, 9)],
    twice_test=[PUBLIC, PUBLIC],
    none_test=[],
    meta_test=["169.254.169.254"],
)


def admit(
    url: str,
    *,
    allow_private: bool = False,
    trust: Any = "page",
    resolve: Callable[[str, int], Any] | None = NAMES,
) -> Target:
    guard = Guard(allow_private=allow_private, resolve=resolve)
    return asyncio.run(guard.admit(parse_url(url), trust=trust))


def test_a_public_page_is_admitted_at_the_address_that_was_checked() -> None:
    target = admit("http://Good.TEST:80/a?b=c#d")
    assert target.addresses == (PUBLIC,)
    assert str(target.url) == "http://good.test/a?b=c"


# Private and special addresses in every form, also where one of several is public.
INNER = """
    127.0.0.1 127.1 2130706433 0177.0.0.1 0x7f.0.0.1 0x7f000001 0177.1 017700000001 127.0.0.1.
    [::1] [::ffff:127.0.0.1] [::ffff:7f00:1] [fe80::1%25eth0] [0:0:0:0:0:0:0:0] 0 0.0.0.0
    169.254.169.254/latest/meta-data 2852039166 10.0.0.1 192.168.0.1:80 100.64.0.1 224.0.0.1
    %31%32%37.0.0.1 １２７.0.0.1 inner.test mapped.test meta.test mixed.test mixed6.test
    user:secret@good.test user@good.test good.test\\@inner.test good.test:22 good.test:8080
    good.test:0 good.test:99999 good.test:abc [::1 -bad-.test a..b /path
"""  # noqa: RUF001
ODD = (
    "ftp://good.test/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "good.test/page",
    "",
    "http://a b/",
    "http://good.test/" + "a" * 5000,
)


def test_what_is_no_plain_public_web_address_is_refused() -> None:
    for url in (*(f"http://{host}" for host in INNER.split()), *ODD):
        with pytest.raises(Refused) as caught:
            admit(url)
        assert "secret" not in str(caught.value), url


def test_with_permission_private_addresses_and_other_ports_are_read() -> None:
    assert admit("http://127.0.0.1:8080/", allow_private=True).addresses == ("127.0.0.1",)
    assert admit("http://inner.test:99/", allow_private=True).addresses == ("127.0.0.1",)


def test_no_permission_opens_a_metadata_service() -> None:
    for trust in ("page", "server"):
        for url in ("http://169.254.169.254/", "http://meta.test/"):
            with pytest.raises(Refused):
                admit(url, allow_private=True, trust=trust)


def test_the_server_that_the_user_named_may_be_on_this_machine() -> None:
    assert admit("http://127.0.0.1:8888/search", trust="server").addresses == ("127.0.0.1",)
    assert admit("http://inner.test:8888/search", trust="server").addresses == ("127.0.0.1",)


def test_names_are_resolved_by_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def resolve(host: str, port: int, **_: object) -> list[Any]:
        asked.append((host, port))
        return [(socket.AF_INET6, 1, 6, "", ("::1", port, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(Refused, match="loopback"):
        admit("https://rebinding.test/", resolve=None)
    assert asked == [("rebinding.test", 443)]


# 64:ff9b:: leads to an IPv4 address from a network without IPv4.
PUBLIC_ONES = """
    8.8.8.8 172.15.255.255 172.32.0.1 192.167.1.1 100.63.255.255 100.128.0.1 169.253.1.1
    223.255.255.255 2606:2800:220:1:248:1893:25c8:1946 64:ff9b::5db8:d822"""
PRIVATE = {
    "loopback": "127.0.0.1 127.255.255.254 ::1 64:ff9b::7f00:1",
    "private": "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fc00::1 fec0::1 64:ff9b::a00:1",
    "link local": "169.254.1.1 fe80::1 fe80::1%2",
    "shared by a carrier": "100.64.0.1 100.127.255.255",
}
NEVER = {
    "a metadata service": "169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 "
    "fd00:ec2::254 64:ff9b::a9fe:a9fe",
    "unspecified": "0.0.0.0 0.1.2.3 ::",
    "multicast": "224.0.0.1 ff02::1",
    "reserved": "240.0.0.1 255.255.255.255 192.0.0.8 2001::1",
    "for documentation": "192.0.2.1 2001:db8::1",
    "IPv4 within IPv6": "::ffff:127.0.0.1 ::ffff:8.8.8.8 ::127.0.0.1 2002:7f00:1:: 64:ff9b:1::1",
    "not assigned": "4000::1",
    "no address": "2130706433 0x7f.1 localhost",
}


def test_which_addresses_are_read() -> None:
    for address in PUBLIC_ONES.split():
        assert objection(address) is None, address
    for what, addresses in PRIVATE.items():
        for address in addresses.split():
            assert objection(address) == what, address
            assert objection(address, allow_private=True) is None, address
    for what, addresses in NEVER.items():
        for address in addresses.split():
            assert objection(address) == objection(address, allow_private=True) == what, address
