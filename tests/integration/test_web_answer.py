"""A question that the library cannot answer, answered from the web, end to end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from secondlook.retrieval.web.service import open_web
from tests.support.engine import settings_of
from tests.support.web_site import Site

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.answer import Answer

QUESTION = "How high is the tallest lighthouse of the cape?"
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
