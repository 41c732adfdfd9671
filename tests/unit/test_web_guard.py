from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import WebSearchError
from secondlook.retrieval.web.fetch import Guard, Refused, Target, parse_url
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
    assert target.host == "good.test"
    assert str(target.at(PUBLIC)) == f"http://{PUBLIC}/a?b=c"


def test_the_host_header_names_the_site_not_the_number() -> None:
    assert admit("https://good.test/").host_header == "good.test"
    assert admit("http://good.test:443/").host_header == "good.test:443"


def test_an_ipv6_address_is_put_in_brackets() -> None:
    target = admit("http://[2606:2800:220:1::5]/x")
    assert target.addresses == ("2606:2800:220:1::5",)
    assert str(target.at("2606:2800:220:1::5")) == "http://[2606:2800:220:1::5]/x"


def test_only_a_few_addresses_are_tried_each_once() -> None:
    assert len(admit("http://many.test/").addresses) == 3
    assert admit("http://twice.test/").addresses == (PUBLIC,)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://0177.1/",
        "http://017700000001/",
        "http://127.0.0.1./",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[fe80::1%25eth0]/",
        "http://[0:0:0:0:0:0:0:0]/",
        "http://0/",
        "http://0.0.0.0/",
        "http://169.254.169.254/latest/meta-data",
        "http://2852039166/",
        "http://10.0.0.1/",
        "http://192.168.0.1:80/",
        "http://100.64.0.1/",
        "http://224.0.0.1/",
        "http://%31%32%37.0.0.1/",
        "http://１２７.0.0.1/",  # noqa: RUF001
        "http://inner.test/",
        "http://mapped.test/",
        "http://meta.test/",
        "http://mixed.test/",
        "http://mixed6.test/",
    ],
)
def test_private_addresses_are_refused_in_every_clothing(url: str) -> None:
    with pytest.raises(Refused):
        admit(url)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://good.test/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "gopher://good.test/",
        "good.test/page",
        "//good.test/page",
        "",
        "http:///path",
        "http://",
        "http://good.test:99999/",
        "http://good.test:abc/",
        "http://[::1/",
        "http://a b/",
        "http://a\tb/",
        "http://-bad-.test/",
        "http://a..b/",
        "http://user:secret@good.test/",
        "http://user@good.test/",
        "http://good.test\\@inner.test/",
        "http://good.test:22/",
        "http://good.test:8080/",
        "http://good.test:0/",
        "https://good.test:6379/",
        "http://good.test/" + "a" * 5000,
    ],
)
def test_what_is_no_plain_web_address_is_refused(url: str) -> None:
    with pytest.raises(Refused):
        admit(url)


def test_a_secret_in_an_address_is_not_repeated() -> None:
    with pytest.raises(Refused) as caught:
        admit("http://user:hunter2@good.test/")
    assert "hunter2" not in str(caught.value)


def test_with_permission_private_addresses_and_other_ports_are_read() -> None:
    assert admit("http://127.0.0.1:8080/", allow_private=True).addresses == ("127.0.0.1",)
    assert admit("http://inner.test:99/", allow_private=True).addresses == ("127.0.0.1",)


@pytest.mark.parametrize("trust", ["page", "server"])
def test_no_permission_opens_a_metadata_service(trust: str) -> None:
    for url in ("http://169.254.169.254/", "http://meta.test/"):
        with pytest.raises(Refused):
            admit(url, allow_private=True, trust=trust)


def test_the_server_that_the_user_named_may_be_on_this_machine() -> None:
    assert admit("http://127.0.0.1:8888/search", trust="server").addresses == ("127.0.0.1",)
    assert admit("http://inner.test:8888/search", trust="server").addresses == ("127.0.0.1",)


def test_a_refusal_says_why_and_what_would_allow_it() -> None:
    with pytest.raises(Refused, match=r"'inner\.test' .* 127\.0\.0\.1 is loopback") as caught:
        admit("http://inner.test/")
    assert "web.allow_private" in str(caught.value.hint)
    assert not caught.value.retryable


@pytest.mark.parametrize("host", ["missing.test", "none.test"])
def test_a_name_without_an_address_is_a_failure_that_may_pass(host: str) -> None:
    with pytest.raises(WebSearchError) as caught:
        admit(f"http://{host}/")
    assert caught.value.retryable
    assert not isinstance(caught.value, Refused)


def test_names_are_resolved_by_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def resolve(host: str, port: int, **_: object) -> list[Any]:
        asked.append((host, port))
        return [(socket.AF_INET6, 1, 6, "", ("::1", port, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(Refused, match="loopback"):
        admit("https://rebinding.test/", resolve=None)
    assert asked == [("rebinding.test", 443)]


def test_the_system_knows_this_machine_by_its_name() -> None:
    with pytest.raises(Refused, match="loopback"):
        admit("http://localhost/", resolve=None)


def test_a_redirect_is_read_from_where_it_stands() -> None:
    base = parse_url("http://good.test/a/b?c#d")
    assert str(parse_url("../e", base=base)) == "http://good.test/e"
    assert str(parse_url("//other.test/x", base=base)) == "http://other.test/x"
    with pytest.raises(Refused):
        parse_url("http://good.test:port/", base=base)
