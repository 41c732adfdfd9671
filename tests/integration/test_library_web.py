"""Web pages in a library: fetched where a person names them, kept in step, never out of bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.library.library import Library
from secondlook.library.report import pasted
from secondlook.retrieval.web import site as bounds
from secondlook.retrieval.web.fetch import Limits
from tests.support import web_site
from tests.support.files import pdf
from tests.support.serving import settings_at
from tests.support.web_site import Site, fixed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = 50
ROBOTS = b"User-agent: *\nDisallow: /secret\nCrawl-delay: 0\n"


def guide(number: int, said: str = "") -> bytes:
    """One of fifty pages: each links to the next ones, and to much that is not to be read."""
    onward = "".join(f'<a href="/guide/{n}">{n}</a>' for n in range(number * 7 + 1, number * 7 + 8))
    away = "<a href='http://127.0.0.2/'>x</a><a href=/picture.png>p</a><a href=/film>f</a>"
    return (
        f"<html><head><title>Guide {number}</title></head><body><p>Lamp {number} shines every "
        f"{number + 3} seconds. {said}</p>{onward}{away}<a href='/guide/0#top'>home</a>"
        "<a href='/secret/1'>s</a><a href='mailto:a@b'>m</a><a href='http://['>bad</a></body>"
    ).encode()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    served = {f"/guide/{number}": fixed(guide(number)) for number in range(PAGES)}
    served |= {"/robots.txt": fixed(ROBOTS, "text/plain"), "/secret/1": fixed(b"<p>secret</p>")}
    served |= {"/film": fixed(b"\0" * 99, "video/mp4"), "/copy": fixed(guide(1))}
    served |= {"/paper": fixed(pdf([["The harbour paper."]]), "application/pdf")}
    served |= {"/prices.csv": fixed(b"berth,fee\nnorth,12\nsouth,15\n", "text/csv")}
    served |= {"/strict/robots.txt": fixed(b"", status=503)}
    monkeypatch.setattr(web_site, "PAGES", {**web_site.PAGES, **served})
    with Site() as running:
        yield running


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library.open(settings=settings_at(tmp_path, web={"allow_private": True})) as opened:
        yield opened


def outcome(report: Any) -> dict[str, int]:
    return {kind: report.count(kind) for kind in {one.change for one in report.changes}}


def test_a_site_is_read_to_a_depth_and_kept_in_step(site: Site, library: Library) -> None:
    start = site.url("/guide/0")
    assert outcome(library.add_web(start)) == {"added": 1}
    assert outcome(library.add_web(start, depth=1, meta={"about": "lamps"})) == {
        "updated": 1,  # its label
        "added": 7,
        "failed": 1,  # robots.txt forbids it
    }
    report = library.add_web(start, depth=2)
    assert outcome(report) == {"unchanged": 8, "added": 42, "failed": 8}
    assert {item.reason[:17] for item in report.failed} == {
        "the site's robots",
        "the server answer",
    }
    assert not [path for path in site.paths if path in {"/secret/1", "/picture.png"}]
    assert {name for name, _ in site.requests} >= {"/film", "/robots.txt"}
    found = library.search("how often does lamp 33 shine", k=1)[0]
    info = library.document(found.passage.document)
    assert (info.title, info.paths) == ("Guide 33", (site.url("/guide/33"),))
    assert len(library.documents(filters={"folder": "127.0.0.1"})) == PAGES

    web_site.PAGES["/guide/3"] = fixed(guide(3, "It was painted red."))
    assert outcome(library.add_web(start, depth=1)) == {"unchanged": 7, "updated": 1, "failed": 1}
    assert "red" in library.search("painted red", k=1)[0].passage.text
    web_site.PAGES["/guide/3"] = fixed(b"", status=500)
    assert outcome(library.add_web(site.url("/guide/3"))) == {"failed": 1}
    assert library.document(site.url("/guide/3")), "what was read stays"
    library.remove(site.url("/guide/3"))
    assert len(library.documents()) == PAGES - 1
    assert not library.check()


def test_other_kinds_copies_and_redirects(site: Site, library: Library) -> None:
    named = ["/paper", "/prices.csv", "/guide/1", "/copy", "/redirect?to=/guide/2", "/film"]
    named += ["/redirect?to=/secret/1", "/loop", "/no!/such"]
    report = library.add_web([site.url(name) for name in named])
    assert outcome(report) == {"added": 4, "duplicate": 1, "failed": 4}
    assert {item.path for item in report.failed} == {
        site.url(name.replace("!", "%21")) for name in named[-4:]
    }
    kinds = {info.paths[0]: info.kind for info in library.documents()}
    assert kinds[site.url("/paper")] == "pdf"
    assert kinds[site.url("/guide/2")] == "html"
    assert [table.name for table in library.tables()] == ["prices"]


def test_bounds_hold(site: Site, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_MOST_PAGES", 5)
    report = library.add_web(site.url("/guide/0"), depth=5)
    assert report.count("added") == 5
    assert "5 pages were read" in report.failed[-1].reason
    monkeypatch.setattr(bounds, "PAGE_LIMITS", Limits(20, 2000))
    assert "has more than" in library.add_web(site.url("/huge")).failed[0].reason
    web_site.PAGES["/robots.txt"] = fixed(b"", status=503)  # it cannot say what it allows
    assert "robots.txt" in library.add_web(site.url("/paper")).failed[0].reason


def test_no_private_address_is_read(site: Site, tmp_path: Path) -> None:
    with Library.open(settings=settings_at(tmp_path)) as library:
        wrong = [site.url("/paper"), "http://localhost/", "http://169.254.169.254/", "ftp://a.b/c"]
        report = library.add_web([*wrong, "http://me:secret@127.0.0.1/"])
        assert len(report.failed) == len(report.changes) == 5
        assert site.requests == []
        assert library.documents() == []


def test_pasted_text_is_a_document_of_its_own(library: Library) -> None:
    first = pasted("The bank offers 3.2 percent.\nUntil May.", " ../../Call\n!/ with the bank ")
    assert first.name == "../../Call ! / with the bank"
    assert outcome(library.add_texts([first])) == {"added": 1}
    assert outcome(library.add_texts([first])) == {"unchanged": 1}
    again = pasted(first.text, "The same under another name")
    assert outcome(library.add_texts([again])) == {"added": 1}, "its title is part of it"
    assert pasted("One line says it all.\nMore.").name == "One line says it all."
    assert library.document("../../Call !/ with the bank").paths == (f"text:{first.name}",)
