"""Looks on the web and lets what it finds compete with what the library has."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import WebSearchError
from secondlook.nodes import ranking
from secondlook.nodes.quarantine import kept_clean
from secondlook.nodes.retrieve import Retrieved
from secondlook.retrieval.fuse import fuse
from secondlook.retrieval.index.port import Scored
from secondlook.state import Asked, Found, Searches, step, trouble, unread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.retrieval.web import WebPassage

_SKIPPED = "skipped: the answer rests on the library alone"


async def search_web(state: Asked, runtime: Runtime[Context]) -> Retrieved:
    context, query = runtime.context, state["queries"][-1]
    began = time.monotonic()
    if context.ledger.must_end("search_web"):
        told = step("search_web", "The web was not searched: the budget or the time ran out.")
        return {"found": state["found"], "steps": [told], "warnings": []}
    try:
        async with asyncio.timeout(_seconds(context)):
            passages = await _looked_up(context, query)
            read = await _read(context, query, passages)
    except Exception as error:  # noqa: BLE001 - the web is a bonus, whatever goes wrong with it
        told = step("search_web", "The web could not be searched.", pages=0, passages=0)
        lost = [trouble("search_web", error, _SKIPPED)]
        return {"found": state["found"], "steps": [told], "warnings": lost}
    found = _placed(context, [*_not_among(state["found"], read), *read], passages)
    told = _told(passages, found, began)
    clean, kept_out = await kept_clean(context, found)
    return {"found": clean, "steps": [*kept_out, told], "warnings": []}


class AlsoAsked(Asked, Searches):
    pass


class WebAsked(Retrieved):
    web_tried: bool


async def search_web_once(state: AlsoAsked, runtime: Runtime[Context]) -> WebAsked:
    """In the user's own words, however the library was searched; a run asks the web once."""
    own: Asked = {
        "question": state["question"],
        "scope": state["scope"],
        "queries": [state["question"]],
        "found": state["found"],
    }
    looked = await search_web(own, runtime)
    return {**looked, "web_tried": True}


def _seconds(context: Context) -> float | None:
    """Half of what the run has left: passages are worth nothing without time to answer."""
    left = context.ledger.remaining_seconds()
    return None if left is None else left / 2


async def _looked_up(context: Context, query: str) -> list[WebPassage]:
    if context.web is None:
        raise WebSearchError("this run was given nobody to search the web with")
    passages = await context.web.find(query)
    await asyncio.to_thread(context.pages.put, passages)
    return passages


async def _read(context: Context, query: str, passages: Sequence[WebPassage]) -> list[Found]:
    """The best by words, with what the reader makes of them."""
    search = context.settings.search
    found = _found(passages, k=search.rrf_k)[: search.candidates]
    if not (search.rerank and found):
        return found
    return await ranking.read(context, query, found, looks=search.looks)


def _found(passages: Sequence[WebPassage], *, k: int) -> list[Found]:
    """Fused like a search by words alone: the best of the web starts level with the library's."""
    by_id = {passage.id: passage for passage in passages}
    by_words = [Scored(passage.id, passage.score) for passage in passages]
    return [
        {
            **unread(by_id[entry.id].as_passage(), fusion_score=entry.score, origin="web"),
            "lexical_rank": entry.lexical_rank,
            "lexical_score": entry.lexical_score,
            "url": by_id[entry.id].url,
            "fetched": by_id[entry.id].fetched,
        }
        for entry in fuse([], by_words, dense_weight=0.0, lexical_weight=1.0, k=k)
    ]


def _not_among(found: Sequence[Found], read: Sequence[Found]) -> list[Found]:
    """What was found before, without what the web has just given again."""
    ids = {item["id"] for item in read}
    return [item for item in found if item["id"] not in ids]


def _placed(
    context: Context, found: Sequence[Found], passages: Sequence[WebPassage]
) -> list[Found]:
    settings = context.settings
    snippets = {passage.id for passage in passages if passage.is_snippet}
    ranked = ranking.ranked(found, blend=settings.search.blend, k=settings.answer.k)
    return [_noted(item) if item["id"] in snippets else item for item in ranked]


def _noted(item: Found) -> Found:
    return {**item, "why": f"{item['why']} (the search engine's summary: its page was not read)"}


def _told(passages: Sequence[WebPassage], found: Sequence[Found], began: float) -> dict[str, Any]:
    pages = {passage.document for passage in passages if not passage.is_snippet}
    snippets = sum(passage.is_snippet for passage in passages)
    entered = sum(item["origin"] == "web" for item in ranking.kept(found))
    seconds = time.monotonic() - began
    said = (
        f"Read {len(pages)} web pages with {len(passages) - snippets} passages in {seconds:.1f} s"
        f"{f' and {snippets} summaries of others' if snippets else ''}; "
        f"{entered} are among the best."
    )
    return step(
        "search_web",
        said if passages else f"The web had nothing to offer ({seconds:.1f} s).",
        pages=len(pages),
        passages=len(passages) - snippets,
        snippets=snippets,
        entered=entered,
        seconds=seconds,
    )
