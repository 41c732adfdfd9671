"""The step of a workflow that looks on the web."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.runtime import Runtime

from secondlook.answer import Trouble
from secondlook.errors import WebSearchError
from secondlook.models.prices import Caps
from secondlook.nodes import ranking
from secondlook.nodes.retrieve import search_web
from secondlook.nodes.state import Asked, unread
from secondlook.retrieval.web.pages import Cutter, best_first, snippet
from secondlook.retrieval.web.port import WebResult
from tests.support.engine import WordShelf, context_of, passages_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.nodes.context import Context
    from secondlook.retrieval.web.port import WebPassage

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
