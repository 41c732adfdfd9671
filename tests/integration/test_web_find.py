"""From a question to passages and an answer, with a real search endpoint, real pages and the real
parser."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from secondlook.engine.secondlook import Secondlook
from secondlook.errors import WebSearchError
from secondlook.library.library import Library
from secondlook.retrieval.web import service
from secondlook.retrieval.web.fetch import Fetcher, Guard, Limits
from secondlook.retrieval.web.pages import Cutter, document_id
from secondlook.retrieval.web.service import WebService, open_web
from secondlook.settings.sections import WebSettings
from tests.support.engine import settings_of
from tests.support.web_site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.answer import Answer
    from secondlook.retrieval.web.port import WebPassage, WebSearch


QUESTION = "How high is the tallest lighthouse of the cape?"


class Searched(Site):
    """A site with a service at hand that searches it and reads it."""

    web: WebSearch


@pytest.fixture(scope="module")
def shared() -> Iterator[Searched]:
    """One for all tests: starting a parser for each takes longer than the tests."""
    with Searched() as running:
        running.web = open_web(settings(running))
        yield running
        asyncio.run(running.web.aclose())


@pytest.fixture
def site(shared: Searched) -> Iterator[Searched]:
    shared.reset()
    yield shared
    shared.release.set()


def settings(site: Site, **changed: Any) -> WebSettings:
    return WebSettings.model_validate({"url": site.url(), "allow_private": True} | changed)


async def found(web: WebSearch, query: str = QUESTION) -> list[WebPassage]:
    try:
        return await web.find(query)
    finally:
        await web.aclose()


def find(site: Searched, query: str = QUESTION, **changed: Any) -> list[WebPassage]:
    if not changed:
        return asyncio.run(site.web.find(query))
    pages = changed.pop("pages", service.PAGES)
    with mock.patch.object(service, "PAGES", pages):
        return asyncio.run(found(open_web(settings(site, **changed)), query))


def by_path(passages: list[WebPassage]) -> dict[str, list[WebPassage]]:
    grouped: dict[str, list[WebPassage]] = {}
    for passage in passages:
        grouped.setdefault("/" + passage.url.split("/", 3)[3], []).append(passage)
    return grouped


def test_a_page_becomes_passages_the_best_first(site: Searched) -> None:
    site.offer("/article", snippet="not needed")
    before = datetime.now(UTC).replace(microsecond=0)
    passages = find(site)
    assert passages[0].heading == ("Lighthouses", "The tall one")
    assert "43 metres high" in passages[0].text
    assert passages[0].score > passages[1].score
    for passage in passages:
        assert passage.url == site.url("/article")
        assert passage.title == "Lighthouses of the north"
        assert passage.document == document_id(passage.url)
        assert passage.id.startswith(f"{passage.document}.")
        assert not passage.is_snippet
        assert before <= datetime.fromisoformat(passage.fetched) <= datetime.now(UTC)
    ordered = sorted(passages, key=lambda passage: passage.start)
    text = ordered[0].text
    for passage in ordered[1:]:
        text += "\n\n" + passage.text
    assert {passage.sha256 for passage in passages} == {hashlib.sha256(text.encode()).hexdigest()}


def test_the_question_and_nothing_else_is_sent_to_the_endpoint(site: Searched) -> None:
    find(site, "  what\x00 is\n" + "a" * 1000)
    ((path, headers),) = site.requests
    assert path == "/search?q=what+is+" + "a" * 392 + "&format=json"
    assert headers["accept"] == "application/json"


def test_text_pdf_and_untyped_pages_are_read(site: Searched) -> None:
    site.offer("/plain", "/pdf", "/untyped", "/zipped")
    pages = by_path(find(site))
    assert pages["/plain"][0].text == "A lighthouse in plain words."
    assert pages["/pdf"][0].text == "The lighthouse on paper."
    assert pages["/pdf"][0].page is None
    assert pages["/untyped"][0].title == pages["/zipped"][0].title == "Lighthouses of the north"
    assert not any(passage.is_snippet for found in pages.values() for passage in found)


def test_charsets_are_understood_right_declared_or_not(site: Searched) -> None:
    site.offer("/mislabelled", "/odd", "/cyrillic")
    pages = by_path(find(site))
    for path in ("/mislabelled", "/odd"):
        assert pages[path][0].text == "Möwen fressen Äpfel über Öl."
    assert pages["/cyrillic"][0].text == "Маяк стоит на северном мысе."


BAD = {
    "/missing": "status 404",
    "/fault": "status 500",
    "/image": "'image/png'",
    "/binary": "binary data",
    "/empty": "empty",
    "/furniture": "no text",
    "/loop": "redirects",
    "/reset": "could not be read",
    "/brotli": "packed as 'br'",
    "/damaged": "damaged",
    "/redirect?to=http://169.254.169.254/": "a metadata service",
    "/redirect?to=ftp://127.0.0.1/": "only http and https",
}


def test_a_page_that_cannot_be_read_leaves_its_snippet_and_spoils_no_other(site: Searched) -> None:
    site.offer(*BAD, "/article", snippet="The lighthouse   is tall.")
    pages = by_path(find(site, pages=50))
    assert set(pages) == {*BAD, "/article"}
    assert "43 metres" in pages.pop("/article")[0].text
    for path, (passage,) in pages.items():
        assert passage.is_snippet
        assert BAD[path] in str(passage.unread)
        assert passage.text == "The lighthouse is tall."
        assert passage.title == f"Title of {path}"
        assert passage.sha256 == hashlib.sha256(passage.text.encode()).hexdigest()


def test_all_pages_together_have_a_deadline(
    site: Searched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondlook.retrieval.web.service._TOTAL_SHARE", 0.02)
    site.offer("/slow", snippet="Slow but tall.")
    (passage,) = find(site)
    assert passage.unread == "there was no time left to read it"


def test_huge_pages_and_bombs_are_read_up_to_the_limit(site: Searched) -> None:
    site.offer("/huge", "/bomb")
    guard = Guard(allow_private=True)
    web = WebService(
        site.web,
        open_fetcher=lambda limits: Fetcher(guard, limits),
        cutter=Cutter(),
        limits=Limits(20.0, 64 << 10),
    )
    pages = by_path(asyncio.run(found(web)))
    assert pages["/bomb"][0].text == "A lighthouse before the flood."
    assert "lighthouse keeper" in pages["/huge"][0].text
    assert sum(len(passage.text) for passage in pages["/huge"]) < 100_000
    assert site.sent < 50 << 20


def test_the_same_page_is_read_once_and_kept_once(site: Searched) -> None:
    site.offer("/article", "/article#keepers", "/article", "/redirect?to=/article", "/hops?left=0")
    passages = find(site, pages=50)
    assert len({passage.id for passage in passages}) == len(passages)
    assert {passage.url for passage in passages} == {site.url("/article")}
    assert site.paths.count("/article") == 3


def test_nothing_found_is_nothing_and_nothing_readable_is_a_failure(site: Searched) -> None:
    assert find(site) == []
    site.offer("/missing", "/fault")
    with pytest.raises(WebSearchError, match=r"none of the 2 pages .* status 404"):
        find(site)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("/nonsense", "no JSON"),
        ("/list", "without results"),
        ("/forbidden", "status 403"),
        ("/moved", "a metadata service"),
    ],
)
def test_an_endpoint_that_fails_says_what_to_do(site: Searched, place: str, message: str) -> None:
    with pytest.raises(WebSearchError, match=message) as caught:
        find(site, url=site.url(place))
    assert caught.value.hint


def test_the_endpoint_may_be_on_this_machine_but_its_pages_may_not(site: Searched) -> None:
    site.offer("/article", snippet="From the inside.")
    (passage,) = find(site, allow_private=False)
    assert passage.text == "From the inside."
    assert "only 80 and 443" in str(passage.unread)
    assert site.paths == [f"/search?q={'+'.join(QUESTION[:-1].split())}%3F&format=json"]


def test_a_run_that_is_cancelled_lets_go(site: Searched) -> None:
    site.offer("/slow", snippet="slow")
    web = open_web(settings(site))

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await web.find(QUESTION)
        assert len(asyncio.all_tasks()) == 1
        await web.aclose()

    asyncio.run(give_up())


# A question that the library cannot answer, answered from the web.

KNOWN = "How deep is the deepest berth at low tide?"


def answers(site: Site, folder: Path, tmp_path: Path) -> list[Answer]:
    settings = settings_of(
        library={"path": tmp_path / "library"},
        runs={"path": tmp_path / "runs.db"},
        answer={"workflow": "adaptive"},
        web={"enable_web_search": True, "url": site.url(), "allow_private": True},
    )
    with Library.open(tmp_path / "library", settings=settings) as library:
        library.add([folder])
    web = open_web(settings.web)
    library = Library.open(tmp_path / "library", settings=settings)
    with Secondlook(library, settings=settings, web=web) as secondlook:
        answered = [secondlook.ask(question) for question in (KNOWN, QUESTION)]
    asyncio.run(web.aclose())
    return answered


def test_what_the_library_lacks_is_answered_and_cited_from_the_web(
    folder: Path, tmp_path: Path
) -> None:
    with Site() as site:
        site.offer("/article", "/missing", snippet="The lighthouse keeps a garden.")
        known, answer = answers(site, folder, tmp_path)
        page = site.url("/article")
    assert known.status == "answered"
    assert not known.web_used
    assert answer.status == "answered"
    assert answer.web_used
    assert "43 metres" in str(answer.short)
    citation = answer.citations[0]
    assert citation.origin == "web"
    assert citation.url == page
    assert citation.fetched is not None
    passage = next(one for one in answer.passages if one.id == citation.passage)
    assert passage.text is not None
    at = citation.start - passage.start
    assert passage.text[at : at + len(citation.quote)] == citation.quote
    (step,) = (step for step in answer.steps if step.node == "search_web")
    assert step.numbers["pages"] == 1
    assert step.numbers["snippets"] == 1
