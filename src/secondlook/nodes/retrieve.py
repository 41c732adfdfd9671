"""Finds passages by meaning and by words."""

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
from secondlook.nodes.screen import kept_clean
from secondlook.nodes.state import (
    Asked,
    Evidence,
    Found,
    Query,
    Scope,
    Searches,
    Trace,
    step,
    trouble,
    unread,
)
from secondlook.retrieval.fusion import fuse
from secondlook.retrieval.index.port import Filter, Scored
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.follow_up import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.passage import Hit, Passage
    from secondlook.retrieval.web.port import WebPassage

_FOLLOW_BELOW = 0.8
"""Share of the question's words in the best passage below which the question asks beyond it."""


class Retrieved(Evidence, Trace):
    pass


async def retrieve(state: Query, runtime: Runtime[Context]) -> Retrieved:
    settings = runtime.context.settings
    options = search_options(settings.search, k=settings.answer.k)
    hits = await asyncio.to_thread(
        runtime.context.shelf.find, state["queries"][-1], options, where(state["scope"])
    )
    found = [found_by(hit) for hit in hits]
    return {"found": found, "steps": [_told(found)], "warnings": []}


def where(scope: Scope) -> Filter:
    documents = scope["documents"]
    return Filter(
        documents=None if documents is None else frozenset(documents),
        labels=frozenset(scope["labels"]),
    )


def found_by(hit: Hit) -> Found:
    return {
        **unread(
            hit.passage, fusion_score=hit.fusion_score if math.isfinite(hit.fusion_score) else 0.0
        ),
        "dense_rank": hit.dense_rank,
        "dense_score": hit.dense_score,
        "lexical_rank": hit.lexical_rank,
        "lexical_score": hit.lexical_score,
    }


def _told(found: list[Found]) -> dict[str, object]:
    documents = len({item["document"] for item in found})
    said = f"Found {len(found)} passages in {documents} documents." if found else "Found nothing."
    return step(
        "retrieve",
        said,
        passages=len(found),
        documents=documents,
        by_meaning=sum(item["dense_rank"] is not None for item in found),
        by_words=sum(item["lexical_rank"] is not None for item in found),
    )


# Reads the candidates and puts those first that look like answers.


async def rerank(state: Asked, runtime: Runtime[Context]) -> Retrieved:
    search, answer = runtime.context.settings.search, runtime.context.settings.answer
    found = state["found"]
    warnings: list[dict[str, Any]] = []
    if search.rerank and found:
        first, rest = found[: search.candidates], found[search.candidates :]
        try:
            query = state["queries"][-1]
            read = await ranking.read(runtime.context, query, first, looks=search.looks)
            found = [*read, *rest]
        except Exception as error:  # noqa: BLE001 - a search is worth more than its second look
            warnings = [trouble("rerank", error, "the order of the searches was kept")]
    placed = ranking.ranked(found, blend=search.blend, k=answer.k)
    clean, kept_out = await kept_clean(runtime.context, placed)
    return {"found": clean, "steps": [*kept_out, _rerank_told(placed)], "warnings": warnings}


def _rerank_told(found: Sequence[Found]) -> dict[str, Any]:
    relevances = [item["relevance"] for item in found if item["relevance"] is not None]
    kept = ranking.kept(found)
    if not relevances:
        return step("rerank", "Kept the order of the searches.", read=0, kept=len(kept))
    looked = len(relevances) - sum(map(ranking.glanced_at, found))
    closely = "" if looked == len(relevances) else f", {looked} of them closely,"
    said = f"Read {len(relevances)} passages{closely} and kept the best {len(kept)}."
    # Those looked at come first; a first guess is not what the search is worth.
    best = max(relevances[:looked] or relevances)
    return step("rerank", said, read=len(relevances), looked=looked, kept=len(kept), best=best)


# Searches again, mostly by words, and pools what it finds with what was there.


async def fall_back(state: Asked, runtime: Runtime[Context]) -> Retrieved:
    context = runtime.context
    settings = context.settings
    known = {item["id"]: item for item in state["found"]}
    chosen = context.settings.adaptive
    options = search_options(
        context.settings.search,
        k=context.settings.answer.k,
        dense=chosen.dense,
        lexical=chosen.lexical,
        candidates=chosen.candidates,
    )
    hits = await asyncio.to_thread(
        context.shelf.find, state["queries"][-1], options, where(state["scope"])
    )
    again = [found_by(hit) for hit in hits[: chosen.candidates]]
    pool = pooled(known, again, replace=settings.adaptive.pooling == "replace")
    warnings: list[dict[str, Any]] = []
    try:
        found, read = await read_on(
            context, state["queries"][-1], pool, most=settings.search.candidates
        )
    except Exception as error:  # noqa: BLE001 - what was read before is worth keeping
        warnings = [trouble("fall_back", error, "what the first search found was kept")]
        found, read = ranking.ranked(pool, blend=settings.search.blend, k=settings.answer.k), 0
    new = [item for item in again if item["id"] not in known]
    before = {item["id"] for item in ranking.kept(state["found"])}
    entered = [item for item in ranking.kept(found) if item["id"] not in before]
    said = f"Found {len(new)} more by words; {len(entered)} of them are among the best."
    told = step("fall_back", said, new=len(new), read=read, entered=len(entered))
    clean, kept_out = await kept_clean(context, found)
    return {"found": clean, "steps": [*kept_out, told], "warnings": warnings}


# Searches in other words and pools what it finds with what the user's own words found. Whatever
# is read is read for the user's question.

_NODE = "search_again"
_SHARE = 5
"""A retry reads at most one passage for every five of the first search."""


class Again(Asked, Searches):
    pass


async def search_again(state: Again, runtime: Runtime[Context]) -> Retrieved:
    context, search = runtime.context, runtime.context.settings.search
    number = len(state["searches"])
    pool = list(state["found"])
    warnings: list[dict[str, Any]] = []
    try:
        again = [
            _first_found(item, number) for item in await _search_again_searched(state, context)
        ]
        pool = pooled({item["id"]: item for item in pool}, again, replace=False)
        most = max(1, search.candidates // _SHARE)
        found, read = await read_on(context, state["question"], pool, most=most)
    except Exception as error:  # noqa: BLE001 - what was read before is worth keeping
        warnings = [trouble(_NODE, error, "what the earlier searches found was kept")]
        found, read = ranking.ranked(pool, blend=search.blend, k=context.settings.answer.k), 0
    told = _search_again_told(state, found, number, read)
    clean, kept_out = await kept_clean(context, found)
    return {"found": clean, "steps": [*kept_out, told], "warnings": warnings}


async def _search_again_searched(state: Again, context: Context) -> list[Found]:
    """By words above all: what was said by meaning the first search has found."""
    weights = context.settings.adaptive
    settings = context.settings.search
    options = search_options(
        settings, k=context.settings.answer.k, dense=weights.dense, lexical=weights.lexical
    )
    query = state["queries"][-1]
    hits = await asyncio.to_thread(context.shelf.find, query, options, where(state["scope"]))
    return [found_by(hit) for hit in hits[: settings.candidates]]


def _first_found(item: Found, number: int) -> Found:
    return {**item, "search": number}


def _search_again_told(
    state: Again, found: Sequence[Found], number: int, read: int
) -> dict[str, Any]:
    before = {item["id"] for item in state["found"]}
    new = sum(item["id"] not in before for item in found)
    entered = sum(item["search"] == number for item in ranking.kept(found))
    said = f"Found {new} more in other words; {entered} of them are among the best."
    return step(_NODE, said, query=state["queries"][-1], new=new, read=read, entered=entered)


# A second search joined with what was there before, and read no further than it takes.

_AT_ONCE = 4
"""Passages read between two looks at whether the evidence is good enough by now."""


def pooled(known: dict[str, Found], again: Sequence[Found], *, replace: bool) -> list[Found]:
    """Each passage once, with the better of its two fusion scores; readings are kept."""
    merged = [_merged(known[item["id"]], item) if item["id"] in known else item for item in again]
    if replace:
        return merged
    ids = {item["id"] for item in again}
    return [*merged, *(item for item in known.values() if item["id"] not in ids)]


def _merged(read: Found, again: Found) -> Found:
    better = max(read["fusion_score"], again["fusion_score"])
    return {**read, "fusion_score": better}


async def read_on(
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
    if not search.rerank:
        return ranking.ranked(pool, blend=search.blend, k=k), 0
    read = 0
    while unread and read < most:
        batch, unread = unread[:_AT_ONCE], unread[_AT_ONCE:]
        done += await ranking.read(context, query, batch, looks=search.looks, rivals=done)
        read += len(batch)
        placed = ranking.ranked(done, blend=search.blend, k=k)
        if (measured(placed, calibration) or 0.0) >= limit:
            break
    return ranking.ranked([*done, *unread], blend=search.blend, k=k), read


# Looks up what the best passage names, where the question asks beyond it: "the mother of the
# director of X" is answered by a passage that does not speak of X. Asks no model.

WORTH_KEEPING = -2.0
"""Relevance, to the question together with the name that led there."""
_NAMES = 8
_HITS = 3
_READ = 4
_SHORTEST = 3
_AND = re.compile(r"\s+(?:and|or)\s+")


async def follow(state: Asked, runtime: Runtime[Context]) -> Retrieved:
    context, found = runtime.context, state["found"]
    try:
        best = await _best(context, found)
        if best is None or covered(state["question"], best) >= _FOLLOW_BELOW:
            return _left(found, "The best passage covers the question.")
        linked = await _linked(context, state, best)
        chosen = await _chosen(context, state["question"], best, linked)
    except Exception as error:  # noqa: BLE001 - what was found before is worth keeping
        lost = trouble("follow", error, "nothing was looked up beyond the search")
        return {**_left(found, "Nothing could be looked up."), "warnings": [lost]}
    if chosen is None:
        return _left(found, "Nothing that the best passage names helps.", linked=len(linked))
    settings = context.settings
    rest = [item for item in found if item["id"] != chosen["id"]]
    placed = ranking.ranked([*rest, chosen], blend=settings.search.blend, k=settings.answer.k)
    said = f"{best.title!r} leads to {chosen['title']!r}."
    told = step("follow", said, linked=len(linked), followed=True)
    clean, kept_out = await kept_clean(context, placed)
    return {"found": clean, "steps": [*kept_out, told], "warnings": []}


def covered(question: str, passage: Passage) -> float:
    """Share of the question's words that the passage has."""
    asked = frozenset(query_terms(question))
    said = frozenset(chain(terms(passage.text), terms(passage.title)))
    return len(asked & said) / len(asked) if asked else 1.0


def leads(question: str, best: Passage, titles: Sequence[str]) -> list[str]:
    """Names in the best passage that the question does not say, and names in the question that no
    passage which is kept is about."""
    asked, title = question.casefold(), best.title.casefold()
    shown = [one.casefold() for one in titles]
    told = (
        name for name in names(best.text) if name.casefold() not in asked + title and _long(name)
    )
    unmet = (
        name
        for joined in names(question[:1].lower() + question[1:])
        for name in _AND.split(joined)
        if _long(name) and not any(name.casefold() in one for one in shown)
    )
    return list({name.casefold(): name for name in chain(unmet, told)}.values())[:_NAMES]


def _long(name: str) -> bool:
    return len(name) >= _SHORTEST


async def _best(context: Context, found: Sequence[Found]) -> Passage | None:
    kept = [item for item in ranking.kept(found) if item["relevance"] is not None]
    if not kept:
        return None
    return (await ranking.texts(context, [kept[0]["id"]])).get(kept[0]["id"])


async def _linked(context: Context, state: Asked, best: Passage) -> list[tuple[Found, str]]:
    """Passages about what is named, each with the name, that are not kept already."""
    kept = ranking.kept(state["found"])
    known = {item["id"]: item for item in state["found"]}
    options = search_options(context.settings.search, k=_HITS, dense=0.0, lexical=1.0)
    linked: dict[str, tuple[Found, str]] = {}
    for name in leads(state["question"], best, [item["title"] for item in kept]):
        hits = await asyncio.to_thread(context.shelf.find, name, options, where(state["scope"]))
        for hit in hits[:_HITS]:
            if hit.passage.title != best.title and _is_about(name, hit.passage.title, best.text):
                item = known.get(hit.passage.id) or found_by(hit)
                linked.setdefault(item["id"], (item, name))
    ids = {item["id"] for item in kept}
    return [pair for pair in linked.values() if pair[0]["id"] not in ids][:_READ]


def _is_about(name: str, title: str, text: str) -> bool:
    """Whether a document of that title is about the name: "Ed Wood (film)" is about Ed Wood."""
    topic = title.partition(" (")[0].casefold()
    return bool(topic) and (name.casefold() in topic or topic in text.casefold())


async def _chosen(
    context: Context, question: str, best: Passage, linked: Sequence[tuple[Found, str]]
) -> Found | None:
    """The one that fits best, read for the question alone: who answers sees no other."""
    read = [
        (await ranking.read(context, f"{question} ({best.title}: {name})", [item]), item)
        for item, name in linked
    ]
    worth = [(seen[0]["relevance"], item) for seen, item in read if seen]
    fitting = [(value, item) for value, item in worth if value is not None]
    value, item = max(fitting, key=lambda pair: pair[0], default=(WORTH_KEEPING, None))
    if item is None or value <= WORTH_KEEPING:
        return None
    for seen in await ranking.read(context, question, [item]):
        return {**seen, "pinned": True}
    return None


def _left(found: list[Found], said: str, *, linked: int = 0) -> Retrieved:
    told = step("follow", said, linked=linked, followed=False)
    return {"found": found, "steps": [told], "warnings": []}


# Looks on the web and lets what it finds compete with what the library has.

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
    pages = {passage.document for passage in passages if not passage.is_snippet}
    snippets = sum(passage.is_snippet for passage in passages)
    entered = sum(item["origin"] == "web" for item in ranking.kept(found))
    seconds = time.monotonic() - began
    said = (
        f"Read {len(pages)} web pages with {len(passages) - snippets} passages in {seconds:.1f} s"
        f"{f' and {snippets} summaries of others' if snippets else ''}; "
        f"{entered} are among the best."
    )
    told = step(
        "search_web",
        said if passages else f"The web had nothing to offer ({seconds:.1f} s).",
        pages=len(pages),
        passages=len(passages) - snippets,
        snippets=snippets,
        entered=entered,
        seconds=seconds,
    )
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
    return [
        {**item, "why": f"{item['why']} (the search engine's summary: its page was not read)"}
        if item["id"] in snippets
        else item
        for item in ranked
    ]
