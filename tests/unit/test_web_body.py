"""What comes from the web: bodies unpacked, pages as passages, and the search engine."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.document import Extracted, Heading
from secondlook.errors import SettingsError, WebSearchError
from secondlook.retrieval.parse.source import decode
from secondlook.retrieval.web.fetch import as_utf8, read_body
from secondlook.retrieval.web.pages import best_first, document_id, snippet
from secondlook.retrieval.web.port import WebPassage, WebResult
from secondlook.retrieval.web.service import DuckDuckGoEngine, open_web
from secondlook.settings.sections import WebSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

WORDS = b"The lighthouse keeper wrote every evening. " * 50


def read(
    data: bytes, encoding: str = "", *, limit: int = 1 << 20, size: int = 7
) -> tuple[bytes, bool]:
    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(data), size):
            yield data[at : at + size]

    return asyncio.run(read_body(chunks(), encoding, limit=limit))


def test_what_servers_pack_is_unpacked() -> None:
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = {"": WORDS, " X-GZIP ": gzip.compress(WORDS), "deflate": zlib.compress(WORDS)}
    for encoding, data in [*packed.items(), ("deflate", raw.compress(WORDS) + raw.flush())]:
        assert read(data, encoding, size=1000) == (WORDS, False)
    with pytest.raises(WebSearchError, match="not asked for"):
        read(b"x", "gzip, gzip")


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_body_is_cut_at_the_limit_and_says_so(more: int) -> None:
    limit = len(WORDS) + more
    for packed, encoding in ((WORDS, ""), (gzip.compress(WORDS), "gzip")):
        body, is_cut = read(packed, encoding, limit=limit, size=100_000)
        assert (body, is_cut) == (WORDS[:limit], more < 0)


def test_a_bomb_never_unfolds() -> None:
    packed = gzip.compress(bytes(50_000_000))
    tracemalloc.start()
    try:
        body, is_cut = read(packed, "gzip", limit=1000, size=len(packed))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    assert (len(body), is_cut) == (1000, True)


@pytest.mark.parametrize(
    ("text", "written", "declared"),
    [
        ("Möwe", "utf-8", "utf-8"),
        ("Möwe", "utf-8", "iso-8859-1"),
        ("Möwe", "utf-8", ""),
        ("Möwe – “so”", "cp1252", "ISO-8859-1"),  # noqa: RUF001
        ("Маяк стоит", "cp1251", "windows-1251"),
        ("灯台の光", "shift_jis", "Shift_JIS"),
        ("灯塔的光", "gb18030", "gb18030"),
        ("plain", "ascii", "utf-16"),
    ],
)
def test_the_text_survives_its_charset(text: str, written: str, declared: str) -> None:
    assert decode(as_utf8(text.encode(written), declared))[0] == text


URL = "https://good.test/lighthouses"
TEXT = "Lighthouses\n\n" + "\n\n".join(
    f"Paragraph {n} tells of lamp {n} and of the keeper who lit it." for n in range(40)
)
PAGE = Extracted(TEXT, title="Lamps", kind="html", headings=(Heading(1, 0, 11),))


def test_a_snippet_stands_in_for_a_page_and_says_why() -> None:
    result = WebResult(URL, "Lamps", "  The lamp \n was lit. ")
    (passage,) = snippet(URL, result, "the server answered with status 500")
    assert passage.text == "The lamp was lit."
    assert (passage.start, passage.end) == (0, len(passage.text))
    assert passage.id == f"{document_id(URL)}.0"
    assert passage.is_snippet
    assert passage.unread == "the server answered with status 500"


def passage(number: int, text: str, document: str = "web-0") -> WebPassage:
    return WebPassage(f"{document}.{number}", document, "0", URL, "", text, 0, len(text), "2026")


def test_the_passage_with_the_rare_words_comes_first() -> None:
    found = best_first(
        [
            passage(0, "The keeper of the cape and the keeper of the harbour."),
            passage(1, "A tower of 43 metres, built of granite."),
            passage(2, "Every keeper saw the tower of the cape."),
        ],
        "Which tower is built of granite?",
        language="english",
        keep=10,
    )
    assert [one.id for one in found] == ["web-0.1", "web-0.2", "web-0.0"]
    assert found[0].score > found[1].score > found[2].score == 0.0


def test_a_long_page_does_not_crowd_out_the_others() -> None:
    long = [passage(n, "lighthouse lighthouse keeper") for n in range(100)]
    short = [passage(0, f"A lighthouse and {n} words more", f"web-{n}") for n in (1, 2)]
    kept = best_first([*long, *short], "lighthouse", language="english", keep=15)
    assert len(kept) == 14
    assert [one.document for one in kept[-2:]] == ["web-1", "web-2"]
    alone = best_first(long, "lighthouse", language="english", keep=15)
    assert len(alone) == 15


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


@pytest.mark.parametrize(
    "url", ["http://me:hunter2@host/", "http://me@host", "http://host/?q=1", "http://host/#x"]
)
def test_the_address_of_a_server_is_a_plain_one(url: str) -> None:
    with pytest.raises(SettingsError, match="plain address") as caught:
        open_web(WebSettings(url=url))
    assert "hunter2" not in str(caught.value)
