"""Fetching from a real server: every way a page can go wrong, and where no request may go."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

import pytest

from secondlook import __version__
from secondlook.errors import WebSearchError
from secondlook.retrieval.web.fetch import Fetched, Fetcher, Guard, Limits, Refused
from tests.support.web_site import (
    ARTICLE,
    CERTIFICATE,
    CERTIFIED_HOST,
    PUBLIC,
    Rerouted,
    Site,
    resolver,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

NAMES = resolver(
    good_test=[PUBLIC],
    pages_example=[PUBLIC],
    other_example=[PUBLIC],
    inner_test=["127.0.0.1"],
    mixed_test=[PUBLIC, "192.168.0.1"],
    half_dead_test=["93.184.216.35", PUBLIC],
    dead_test=["93.184.216.35"],
)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


def fetch(
    url: str,
    *,
    seconds: float = 20.0,
    limit: int = 1 << 20,
    guard: Guard | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
    **options: Any,
) -> Fetched:
    async def get() -> Fetched:
        allowed = guard or Guard(allow_private=True)
        async with Fetcher(allowed, Limits(seconds, limit), transport=transport) as fetcher:
            return await fetcher.get(url, **options)

    return asyncio.run(get())


def fetch_guarded(site: Site, url: str) -> tuple[Fetched | Exception, list[str]]:
    """As in use: private addresses forbidden. With every address that was dialled."""
    transport = Rerouted(site)
    try:
        return fetch(url, guard=Guard(resolve=NAMES), transport=transport), transport.dialled
    except WebSearchError as error:
        return error, transport.dialled


def test_a_request_tells_nothing_but_what_it_must(site: Site) -> None:
    fetch(site.url("/article"), accept="text/html")
    ((_, headers),) = site.requests
    assert headers == {
        "host": f"127.0.0.1:{site.port}",
        "user-agent": f"secondlook/{__version__}",
        "accept": "text/html",
        "accept-encoding": "gzip, deflate",
        "connection": "close",
    }


def test_proxies_of_the_environment_are_not_asked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert fetch(site.url("/article")).status == 200


def test_a_redirect_to_a_forbidden_place_is_refused_before_any_connection(site: Site) -> None:
    places = """http://169.254.169.254/latest/meta-data/ http://127.0.0.1/article http://[::1]/
        http://2130706433/ http://[::ffff:169.254.169.254]/ //inner.test/ http://mixed.test/
        http://good.test:8080/ http://me:secret@good.test/ file:///etc/passwd"""
    for number, place in enumerate(places.split(), 1):
        outcome, dialled = fetch_guarded(site, f"http://good.test/redirect?to={place}")
        assert isinstance(outcome, Refused), place
        assert dialled == [PUBLIC], place
        assert len(site.requests) == number


def test_a_public_page_is_read_under_its_name_at_the_checked_address(site: Site) -> None:
    outcome, dialled = fetch_guarded(site, "http://good.test/redirect?to=http://good.test/article")
    assert isinstance(outcome, Fetched)
    assert outcome.url == "http://good.test/article"
    assert dialled == [PUBLIC, PUBLIC]
    assert [headers["host"] for _, headers in site.requests] == ["good.test", "good.test"]


def test_the_next_address_is_tried_where_the_first_is_dead(site: Site) -> None:
    outcome, dialled = fetch_guarded(site, "http://half.dead.test/article")
    assert isinstance(outcome, Fetched)
    assert dialled == ["93.184.216.35", PUBLIC]
    outcome, _ = fetch_guarded(site, "http://dead.test/article")
    assert "'dead.test' cannot be reached" in str(outcome)


def test_a_slow_page_is_given_up(site: Site) -> None:
    with pytest.raises(WebSearchError, match=r"did not answer within 0\.3 s") as caught:
        fetch(site.url("/slow"), seconds=0.3)
    assert caught.value.retryable


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    path = tmp_path / "site.pem"
    path.write_text(CERTIFICATE, encoding="ascii")
    return path


def test_the_certificate_is_asked_of_the_name_and_checked_against_it(pem: Path) -> None:
    trusted = ssl.create_default_context(cafile=str(pem))
    guard = Guard(resolve=NAMES)
    with Site(tls=pem) as secure:
        fetched = fetch(
            f"https://{CERTIFIED_HOST}/article",
            guard=guard,
            transport=Rerouted(secure, trusted=trusted),
        )
        assert fetched.body == ARTICLE.encode()
        assert secure.server_names == [CERTIFIED_HOST]
        assert secure.requests[0][1]["host"] == CERTIFIED_HOST
        with pytest.raises(WebSearchError, match="certificate"):
            fetch(
                "https://other.example/article",
                guard=guard,
                transport=Rerouted(secure, trusted=trusted),
            )
        assert len(secure.requests) == 1


def test_a_certificate_that_nobody_vouches_for_is_refused(pem: Path) -> None:
    with Site(tls=pem) as secure:
        with pytest.raises(WebSearchError, match="certificate"):
            fetch(f"https://127.0.0.1:{secure.port}/article")
        assert secure.requests == []
