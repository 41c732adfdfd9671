"""What may be fetched from the web, how it is read, and the step of a workflow that looks there."""

from __future__ import annotations

import asyncio
import gzip
import socket
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.runtime import Runtime

from secondlook.answer import Trouble
from secondlook.errors import WebSearchError
from secondlook.models.prices import Caps
from secondlook.nodes import ranking
from secondlook.nodes.retrieve import search_web
from secondlook.nodes.state import Asked, unread
from secondlook.retrieval.web.fetch import Fetched, Guard, Refused, Target, parse_url, read_body
from secondlook.retrieval.web.pages import Cutter, PageReader, best_first, check_readable, snippet
from secondlook.retrieval.web.port import WebPassage, WebResult
from secondlook.retrieval.web.service import DuckDuckGoEngine
from secondlook.settings.sections import WebSettings
from tests.support.engine import WordShelf, context_of, passages_of
from tests.support.web_site import PUBLIC, resolver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from secondlook.nodes.context import Context


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
    [fe80::1] [fc00::1] [fd00:ec2::254] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [::127.0.0.1]
    [2002:7f00:1::] [2001:db8::1] [4000::1] 172.31.255.255 100.100.100.200 168.63.129.16 192.0.2.1
    255.255.255.255 192.0.0.8 good.test:0 good.test:99999 good.test:abc [::1 -bad-.test a..b /path
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
    223.255.255.255 [2606:2800:220:1:248:1893:25c8:1946] [64:ff9b::5db8:d822]"""


def test_the_neighbours_of_private_addresses_are_read() -> None:
    for address in PUBLIC_ONES.split():
        assert admit(f"http://{address}/").addresses == (address.strip("[]"),)


# What comes from the web: bodies unpacked, pages as passages, and the search engine.


def read(
    data: bytes, encoding: str = "", *, limit: int = 1 << 20, size: int = 7
) -> tuple[bytes, bool]:
    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(data), size):
            yield data[at : at + size]

    return asyncio.run(read_body(chunks(), encoding, limit=limit))


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


URL = "https://good.test/lighthouses"


def passage(number: int, text: str, document: str = "web-0") -> WebPassage:
    return WebPassage(f"{document}.{number}", document, "0", URL, "", text, 0, len(text), "2026")


def test_a_long_page_does_not_crowd_out_the_others() -> None:
    long = [passage(n, "lighthouse lighthouse keeper") for n in range(100)]
    short = [passage(0, f"A lighthouse and {n} words more", f"web-{n}") for n in (1, 2)]
    kept = best_first([*long, *short], "lighthouse", language="english", keep=15)
    assert len(kept) == 14
    assert [one.document for one in kept[-2:]] == ["web-1", "web-2"]
    assert len(best_first(long, "lighthouse", language="english", keep=15)) == 15


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
    with pytest.raises(ValueError, match="plain address") as caught:
        WebSettings(url=url)
    assert "hunter2" not in str(caught.value)


# The step of a workflow that looks on the web.

QUESTION = "how tall is the granite lighthouse"
PAGES = {
    "https://a.test/": "The granite lighthouse is 43 metres tall.",
    "https://b.test/": "Seagulls eat chips. They do so all day.",
}


class Web:
    """Gives passages of the pages, ranked for what it is asked."""

    def __init__(self, made: Callable[[], list[WebPassage]]) -> None:
        self._made = made
        self.asked: list[str] = []
        self.is_closed = False

    async def search(self, query: str, *, results: int) -> list[WebResult]:
        return [WebResult(url) for url in PAGES][:results]

    async def find(self, query: str) -> list[WebPassage]:
        self.asked.append(query)
        return best_first(self._made(), query, language="english", keep=40)

    async def aclose(self) -> None:
        self.is_closed = True


class NeverEnding(Web):
    async def find(self, query: str) -> list[WebPassage]:
        await asyncio.Event().wait()
        return []


def pages() -> list[WebPassage]:
    from secondlook.document import Extracted

    return [
        passage
        for url, text in PAGES.items()
        for passage in Cutter().page(url, Extracted(text, title="T", kind="html"), WebResult(url))
    ]


def state() -> Asked:
    found = [
        unread(item, fusion_score=1 / rank) for rank, item in enumerate(passages_of(), start=1)
    ]
    scope: Any = {"documents": None, "labels": []}
    return {"question": QUESTION, "scope": scope, "queries": ["first", QUESTION], "found": found}


def visit(context: Context, before: Asked | None = None) -> dict[str, Any]:
    return dict(asyncio.run(search_web(before or state(), Runtime(context=context))))


def test_passages_of_the_web_compete_with_those_of_the_library() -> None:
    web = Web(pages)
    context = context_of(web=web)
    update = visit(context)
    assert web.asked == [QUESTION]
    assert update["warnings"] == []
    best = update["found"][0]
    assert best["origin"] == "web"
    assert best["url"] == "https://a.test/"
    assert best["kept"]
    assert best["why"] == "among the best"
    assert best["relevance"] > 0
    assert best["lexical_rank"] == 1
    assert best["fusion_score"] == 1.0
    assert best["dense_rank"] is None
    held = context.pages.get([best["id"]])[best["id"]]
    assert (best["fetched"], best["title"], best["document"]) == (held.fetched, "T", held.document)
    assert (best["start"], best["end"]) == (held.start, held.end)
    library = [item for item in update["found"] if item["origin"] == "library"]
    assert len(library) == len(state()["found"])
    assert len(ranking.kept(update["found"])) == context.settings.answer.k


def test_a_snippet_is_marked_as_one() -> None:
    def made() -> list[WebPassage]:
        return snippet("https://c.test/", WebResult("https://c.test/", "C", QUESTION), "gone")

    (item,) = (one for one in visit(context_of(web=Web(made)))["found"] if one["origin"] == "web")
    assert item["why"] == "among the best (the search engine's summary: its page was not read)"


def fails() -> list[WebPassage]:
    raise WebSearchError("nobody answered", hint="try later")


def breaks() -> list[WebPassage]:
    raise ZeroDivisionError("a mistake of ours")


class BrokenShelf(WordShelf):
    def read(self, query: str, passages: Any, **_: Any) -> Any:
        raise RuntimeError("the reader is gone")


@pytest.mark.parametrize(
    ("context", "error", "message"),
    [
        (lambda: context_of(web=Web(fails)), "WebSearchError", "nobody answered"),
        (lambda: context_of(web=Web(breaks)), "ZeroDivisionError", "a mistake of ours"),
        (lambda: context_of(web=None), "WebSearchError", "no web search"),
        (
            lambda: context_of(web=Web(pages), shelf=BrokenShelf()),
            "RuntimeError",
            "the reader is gone",
        ),
        (
            lambda: context_of(web=NeverEnding(pages), caps=Caps(seconds=0.05)),
            "TimeoutError",
            "TimeoutError",
        ),
    ],
)
def test_whatever_fails_the_answer_rests_on_the_library(
    context: Callable[[], Context], error: str, message: str
) -> None:
    update = visit(context())
    (warning,) = (Trouble.model_validate(one) for one in update["warnings"])
    assert warning.node == "search_web"
    assert warning.error == error
    assert message in warning.message
    assert warning.consequence == "skipped: the answer rests on the library alone"
    assert update["found"] == state()["found"]
    assert update["steps"][0]["said"] == "The web could not be searched."


# Reading pages in the parser's process: what is not even tried, and how it is closed.


def page(body: bytes, kind: str = "text/html", *, status: int = 200) -> Fetched:
    return Fetched("http://good.test/", status, kind, "", body, is_cut=False)


@pytest.mark.parametrize(
    "unread",
    [
        page(b"words", status=204),
        page(b"words", status=206),
        page(b"words", status=404),
        page(b"words", "text/css"),
        page(b"words", "text/javascript"),
        page(b"words", "application/json"),
        page(b"words", "application/octet-stream"),
        page(b"words", "application/zip"),
        page(b"PK\x03\x04" + bytes(range(32)) * 9),
        page(b"\x1f\x8b\x08" + bytes(range(32)) * 9, ""),
        page(b""),
    ],
)
def test_what_holds_no_text_is_not_even_tried(unread: Fetched) -> None:
    with pytest.raises(WebSearchError):
        check_readable(unread)


def test_a_mail_or_an_archive_in_disguise_is_not_unpacked() -> None:
    reader = PageReader(seconds=30.0, body_bytes=10_000)
    mail = b"From: a@b.test\r\nTo: c@d.test\r\nSubject: hello\r\nDate: today\r\n\r\nwords"
    try:
        assert reader.read(page(mail, "text/plain")).kind == "text"
        with pytest.raises(WebSearchError):
            reader.read(page(mail, ""))
    finally:
        reader.close()
