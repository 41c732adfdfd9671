"""Finds passages: by meaning and by words, again by words, in other words, by the names that the
best passage mentions, and on the web. Whatever is found is ranked together."""

from __future__ import annotations

import asyncio
import math
import re
import time
from itertools import chain
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import WebSearchError
from secondlook.library.library import search_options
from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.ranking import measured, min_quality
from secondlook.nodes.screen import Retrieved, kept_clean
from secondlook.nodes.state import Asked, Found, Query, Scope, Searches, step, trouble, unread
from secondlook.retrieval.index.port import Filter, Scored
from secondlook.retrieval.search import DEFAULT_OPTIONS, fuse
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.follow_up import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.passage import Hit, Passage
    from secondlook.retrieval.web.port import WebPassage

_BY_WORDS = 40  # passages of the second search
_SHARE = 5  # a search in other words reads at most one passage for every five of the first search
_AT_ONCE = 4  # passages read between two looks at whether the evidence is good enough by now
_FOLLOW_BELOW = 0.8
"""Share of the question's words in the best passage below which the question asks beyond it."""
WORTH_KEEPING = -2.0  # relevance, to the question together with the name that led there
_NAMES = 8
_HITS = 3
_READ = 4
_SHORTEST = 3
_AND = re.compile(r"\s+(?:and|or)\s+")


class Again(Asked, Searches):
    """What is asked, what was found, and the searches so far."""


class WebAsked(Retrieved):
    web_tried: bool


async def retrieve(state: Query, runtime: Runtime[Context]) -> Retrieved:
    settings = runtime.context.settings
    options = search_options(settings.search, k=settings.answer.k)
    hits = await asyncio.to_thread(
        runtime.context.shelf.find, state["queries"][-1], options, where(state["scope"])
    )
    documents = len({hit.passage.document for hit in hits})
    told = step(
        "retrieve",
        f"Found {len(hits)} passages in {documents} documents." if hits else "Found nothing.",
        passages=len(hits),
        documents=documents,
        by_meaning=sum(hit.dense_rank is not None for hit in hits),
        by_words=sum(hit.lexical_rank is not None for hit in hits),
    )
    return {"found": [found_by(hit) for hit in hits], "steps": [told], "warnings": []}


def where(scope: Scope) -> Filter:
    documents = None if scope["documents"] is None else frozenset(scope["documents"])
    return Filter(documents=documents, labels=frozenset(scope["labels"]))


def found_by(hit: Hit) -> Found:
    score = hit.fusion_score if math.isfinite(hit.fusion_score) else 0.0
    return {
        **unread(hit.passage, fusion_score=score),
        "dense_rank": hit.dense_rank,
        "dense_score": hit.dense_score,
        "lexical_rank": hit.lexical_rank,
        "lexical_score": hit.lexical_score,
    }


async def rerank(state: Asked, runtime: Runtime[Context]) -> Retrieved:
    """Reads the candidates and puts those first that look like answers."""
    search, found = runtime.context.settings.search, state["found"]
    warnings: list[dict[str, Any]] = []
    if search.rerank and found:
        first, rest = found[: search.candidates], found[search.candidates :]
        try:
            query = state["queries"][-1]
            read = await ranking.read(runtime.context, query, first, looks=search.looks)
            found = [*read, *rest]
        except Exception as error:  # noqa: BLE001 - a search is worth more than its second look
            warnings = [trouble("rerank", error, "the order of the searches was kept")]
    placed = ranking.ranked(found, blend=search.blend, k=runtime.context.settings.answer.k)
    relevances = [item["relevance"] for item in placed if item["relevance"] is not None]
    numbers: dict[str, Any] = {"read": len(relevances), "kept": len(ranking.kept(placed))}
    said = "Kept the order of the searches."
    if relevances:
        looked = len(relevances) - sum(map(ranking.glanced_at, placed))
        closely = "" if looked == len(relevances) else f", {looked} of them closely,"
        said = f"Read {len(relevances)} passages{closely} and kept the best {numbers['kept']}."
        # Those looked at come first; a first guess is not what the search is worth.
        numbers |= {"looked": looked, "best": max(relevances[:looked] or relevances)}
    told = step("rerank", said, numbers)
    clean, kept_out = await kept_clean(runtime.context, placed)
    return {"found": clean, "steps": [*kept_out, told], "warnings": warnings}


# Further searches by words. What they find is pooled with what was there.


async def fall_back(state: Asked, runtime: Runtime[Context]) -> Retrieved:
    settings = runtime.context.settings
    return await _by_words(
        state,
        runtime.context,
        question=state["queries"][-1],
        candidates=_BY_WORDS,
        most=settings.search.candidates,
    )


async def search_again(state: Again, runtime: Runtime[Context]) -> Retrieved:
    """In other words. What is found is read for the user's question."""
    candidates = runtime.context.settings.search.candidates
    return await _by_words(
        state,
        runtime.context,
        question=state["question"],
        candidates=candidates,
        most=max(1, candidates // _SHARE),
        number=len(state["searches"]),
    )


async def _by_words(
    state: Asked, context: Context, *, question: str, candidates: int, most: int, number: int = 0
) -> Retrieved:
    """All passages best first, some of them read for the question. A passage that was found before
    keeps its readings, and the better of its two fusion scores."""
    settings, query = context.settings, state["queries"][-1]
    search, weights, k = settings.search, settings.adaptive, settings.answer.k
    before = {item["id"]: item for item in state["found"]}
    known, pool = dict(before), list(state["found"])
    node, how = ("search_again", "in other words") if number else ("fall_back", "by words")
    read, warnings = 0, []
    try:
        options = search_options(
            search, k=k, dense=weights.dense, lexical=weights.lexical, candidates=candidates
        )
        hits = await asyncio.to_thread(context.shelf.find, query, options, where(state["scope"]))
        pool = []
        for hit in hits[:candidates]:
            new = found_by(hit)
            old = known.pop(new["id"], None)
            better = max(old["fusion_score"], new["fusion_score"]) if old else 0.0
            pool.append({**old, "fusion_score": better} if old else {**new, "search": number})
        pool += known.values()
        found, read = await _read_on(context, question, pool, most=most)
    except Exception as error:  # noqa: BLE001 - what was read before is worth keeping
        found = ranking.ranked(pool, blend=search.blend, k=k)
        warnings = [trouble(node, error, "what the earlier searches found was kept")]
    fresh = sum(item["id"] not in before for item in found)
    entered = sum(item["id"] not in before for item in ranking.kept(found))
    said = f"Found {fresh} more {how}; {entered} of them are among the best."
    told = step(node, said, query=query, new=fresh, read=read, entered=entered)
    clean, kept_out = await kept_clean(context, found)
    return {"found": clean, "steps": [*kept_out, told], "warnings": warnings}


async def _read_on(
    context: Context, query: str, pool: list[Found], *, most: int
) -> tuple[list[Found], int]:
    """All of them, best first, and how many were read: what nobody has read yet, until the evidence
    looks good enough, at most `most`. What a glance does not put among the best of all that was
    read so far is not looked at."""
    search, k = context.settings.search, context.settings.answer.k
    calibration = context.calibration
    limit = min_quality(context.settings, calibration)
    unread = [item for item in pool if item["relevance"] is None]
    done = [item for item in pool if item["relevance"] is not None]
    unread.sort(key=lambda item: (-item["fusion_score"], item["id"]))
    read = 0
    while search.rerank and unread and read < most:
        batch, unread = unread[:_AT_ONCE], unread[_AT_ONCE:]
        done += await ranking.read(context, query, batch, looks=search.looks, rivals=done)
        read += len(batch)
        placed = ranking.ranked(done, blend=search.blend, k=k)
        if (measured(placed, calibration) or 0.0) >= limit:
            break
    return ranking.ranked([*done, *unread], blend=search.blend, k=k), read


# Looks up what the best passage names, where the question asks beyond it: "the mother of the
# director of X" is answered by a passage that does not speak of X. Asks no model.


async def follow(state: Asked, runtime: Runtime[Context]) -> Retrieved:
    context, found = runtime.context, state["found"]
    chosen, linked, warnings = None, 0, []
    said = "The best passage covers the question."
    try:
        read = [item for item in ranking.kept(found) if item["relevance"] is not None]
        held = await ranking.texts(context, [item["id"] for item in read[:1]])
        best = held.get(read[0]["id"]) if read else None
        if best is not None and _covered(state["question"], best) < _FOLLOW_BELOW:
            pairs = await _linked(context, state, best)
            chosen, linked = await _chosen(context, state["question"], best, pairs), len(pairs)
            said = "Nothing that the best passage names helps."
            said = f"{best.title!r} leads to {chosen['title']!r}." if chosen else said
    except Exception as error:  # noqa: BLE001 - what was found before is worth keeping
        warnings = [trouble("follow", error, "nothing was looked up beyond the search")]
        said = "Nothing could be looked up."
    kept_out: list[dict[str, Any]] = []
    if chosen is not None:
        settings = context.settings
        pool = [*(item for item in found if item["id"] != chosen["id"]), chosen]
        placed = ranking.ranked(pool, blend=settings.search.blend, k=settings.answer.k)
        found, kept_out = await kept_clean(context, placed)
    told = step("follow", said, linked=linked, followed=chosen is not None)
    return {"found": found, "steps": [*kept_out, told], "warnings": warnings}


def _covered(question: str, passage: Passage) -> float:
    """Share of the question's words that the passage has."""
    asked = frozenset(query_terms(question))
    said = {*terms(passage.text), *terms(passage.title)}
    return len(asked & said) / len(asked) if asked else 1.0


def leads(question: str, best: Passage, titles: Sequence[str]) -> list[str]:
    """Names in the best passage that the question does not say, and names in the question that no
    passage which is kept is about."""
    known, shown = f"{question}{best.title}".casefold(), "\n".join(titles).casefold()
    asked = chain.from_iterable(map(_AND.split, names(question[:1].lower() + question[1:])))
    unmet = [name for name in asked if name.casefold() not in shown]
    told = [name for name in names(best.text) if name.casefold() not in known]
    long = (name for name in (*unmet, *told) if len(name) >= _SHORTEST)
    return list({name.casefold(): name for name in long}.values())[:_NAMES]


async def _linked(context: Context, state: Asked, best: Passage) -> list[tuple[Found, str]]:
    """Passages about what is named, each with the name, that are not kept already. "Ed Wood (film)"
    is about Ed Wood."""
    kept = ranking.kept(state["found"])
    known, ids = {item["id"]: item for item in state["found"]}, {item["id"] for item in kept}
    options = search_options(context.settings.search, k=_HITS, dense=0.0, lexical=1.0)
    linked: dict[str, tuple[Found, str]] = {}
    for name in leads(state["question"], best, [item["title"] for item in kept]):
        hits = await asyncio.to_thread(context.shelf.find, name, options, where(state["scope"]))
        for hit in hits[:_HITS]:
            passage = hit.passage
            topic = passage.title.partition(" (")[0].casefold()
            about = topic and (name.casefold() in topic or topic in best.text.casefold())
            if about and passage.title != best.title and passage.id not in ids:
                linked.setdefault(passage.id, (known.get(passage.id) or found_by(hit), name))
    return list(linked.values())[:_READ]


async def _chosen(
    context: Context, question: str, best: Passage, linked: Sequence[tuple[Found, str]]
) -> Found | None:
    """The one that fits best with the name said; it is shown as it is read for the question."""
    value, chosen = WORTH_KEEPING, None
    for item, name in linked:
        for seen in await ranking.read(context, f"{question} ({best.title}: {name})", [item]):
            if seen["relevance"] is not None and seen["relevance"] > value:
                value, chosen = seen["relevance"], item
    for seen in await ranking.read(context, question, [chosen]) if chosen else ():
        return {**seen, "pinned": True}
    return None


# Looks on the web and lets what it finds compete with what the library has.


async def search_web(state: Asked, runtime: Runtime[Context]) -> Retrieved:
    context, query = runtime.context, state["queries"][-1]
    search, k = context.settings.search, context.settings.answer.k
    began = time.monotonic()
    if context.ledger.must_end("search_web"):
        told = step("search_web", "The web was not searched: the budget or the time ran out.")
        return {"found": state["found"], "steps": [told], "warnings": []}
    # Half of what the run has left: passages are worth nothing without time to answer.
    left = context.ledger.remaining_seconds()
    try:
        async with asyncio.timeout(None if left is None else left / 2):
            if context.web is None:
                raise WebSearchError("this run has no web search")  # noqa: TRY301
            passages = await context.web.find(query)
            await asyncio.to_thread(context.pages.put, passages)
            read = _found(passages, k=DEFAULT_OPTIONS.rrf_k)[: search.candidates]
            if search.rerank and read:
                read = await ranking.read(context, query, read, looks=search.looks)
    except Exception as error:  # noqa: BLE001 - the web is a bonus, whatever goes wrong with it
        told = step("search_web", "The web could not be searched.", pages=0, passages=0)
        lost = trouble("search_web", error, "skipped: the answer rests on the library alone")
        return {"found": state["found"], "steps": [told], "warnings": [lost]}
    again, snippets = {item["id"] for item in read}, {one.id for one in passages if one.is_snippet}
    pool = [*(item for item in state["found"] if item["id"] not in again), *read]
    found = ranking.ranked(pool, blend=search.blend, k=k)
    for item in found:
        if item["id"] in snippets:
            item["why"] += " (the search engine's summary: its page was not read)"
    pages = {passage.document for passage in passages if not passage.is_snippet}
    entered = sum(item["origin"] == "web" for item in ranking.kept(found))
    seconds, whole = time.monotonic() - began, len(passages) - len(snippets)
    said = (
        f"Read {len(pages)} web pages with {whole} passages in {seconds:.1f} s"
        f"{f' and {len(snippets)} summaries of others' if snippets else ''}; "
        f"{entered} are among the best."
    )
    told = step(
        "search_web",
        said if passages else f"The web had nothing to offer ({seconds:.1f} s).",
        pages=len(pages),
        passages=whole,
        snippets=len(snippets),
        entered=entered,
        seconds=seconds,
    )
    clean, kept_out = await kept_clean(context, found)
    return {"found": clean, "steps": [*kept_out, told], "warnings": []}


async def search_web_once(state: Again, runtime: Runtime[Context]) -> WebAsked:
    """In the user's own words, however the library was searched; a run asks the web once."""
    own: Again = {**state, "queries": [state["question"]]}
    return {**await search_web(own, runtime), "web_tried": True}


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
