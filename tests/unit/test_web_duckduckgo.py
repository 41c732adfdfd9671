from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import SettingsError, WebSearchError
from secondlook.retrieval.web.port import WebResult
from secondlook.retrieval.web.service import DuckDuckGoEngine, open_web
from secondlook.settings.sections import WebSettings

if TYPE_CHECKING:
    from collections.abc import Callable


class Client:
    """Answers as the package's DDGS does, and notes what it was asked."""

    def __init__(self, answer: Callable[[], list[Any]]) -> None:
        self._answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.seconds = 0.0

    def __call__(self, seconds: float) -> Client:
        self.seconds = seconds
        return self

    def text(self, query: str, **options: Any) -> list[Any]:
        self.asked.append((query, options))
        return self._answer()


def search(client: Client, *, seconds: float = 5.0, results: int = 3) -> list[WebResult]:
    engine = DuckDuckGoEngine(seconds, client)
    return asyncio.run(engine.search("tall lighthouses", results=results))


def test_results_are_mapped_and_limited() -> None:
    rows: list[Any] = [
        {"title": "A", "href": "https://a.test/", "body": "about a"},
        {"href": "https://b.test/", "title": None},
        {"title": "no address"},
        "nonsense",
        {"title": "C", "href": "https://c.test/", "body": ""},
        {"title": "D", "href": "https://d.test/", "body": ""},
    ]
    client = Client(lambda: rows)
    assert search(client) == [
        WebResult("https://a.test/", "A", "about a"),
        WebResult("https://b.test/"),
        WebResult("https://c.test/", "C"),
    ]
    assert client.asked == [("tall lighthouses", {"max_results": 3, "backend": "duckduckgo"})]
    assert client.seconds == 5.0


def test_whatever_the_package_raises_is_ours_and_may_be_tried_again() -> None:
    def fail() -> list[Any]:
        raise KeyError("rate\n limited")

    with pytest.raises(WebSearchError, match=r"rate.* limited.*\(KeyError\)$") as caught:
        search(Client(fail))
    assert caught.value.retryable
    assert "SearXNG" in str(caught.value.hint)


def test_a_package_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr("secondlook.retrieval.web.service._GRACE_SECONDS", 0.0)

    def hang() -> list[Any]:
        released.wait(30)
        return []

    try:
        with pytest.raises(WebSearchError, match=r"within 0\.05 s"):
            search(Client(hang), seconds=0.05)
    finally:
        released.set()


@pytest.mark.parametrize(
    "url", ["http://me:hunter2@host/", "http://me@host", "http://host/?q=1", "http://host/#x"]
)
def test_the_address_of_a_server_is_a_plain_one(url: str) -> None:
    with pytest.raises(SettingsError, match="plain address") as caught:
        open_web(WebSettings(url=url))
    assert "hunter2" not in str(caught.value)
