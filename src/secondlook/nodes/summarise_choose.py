"""Finds what is to be summarised: documents by their names, else passages by a search."""

from __future__ import annotations

import asyncio
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations
from typing_extensions import TypedDict

from secondlook.context import Context  # noqa: TC001
from secondlook.library.shelf import search_options
from secondlook.nodes.intent import summary_request
from secondlook.nodes.outline import MOST_DOCUMENTS
from secondlook.nodes.retrieve import Retrieved, found_by, where
from secondlook.retrieval.analyse import query_terms, terms
from secondlook.state import Found, Query, step, unread

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from secondlook.passage import Passage

Extent = Literal["documents", "places", "many", "nothing"]
"""Whole documents, places found by a search, a list of many documents, or nothing at all."""

MOST_WHOLE = 3
"""Documents that are summarised each as a whole; more are listed."""
MOST_NAMED = 64
"""Documents whose names are looked at here; who calls narrows the scope to those that fit."""
MOST_PLACES = 24
LONGEST_DOCUMENT = 4096
"""Passages of a document that are looked at."""
_AT_ONCE = 256


class Chosen(TypedDict):
    extent: Extent
    documents: list[str]
    """Those to be summarised whole, or listed."""
    more: int
    """Documents that were left out."""


class Choice(Retrieved, Chosen):
    pass


async def choose(state: Query, runtime: Runtime[Context]) -> Choice:
    context, scope = runtime.context, state["scope"]
    target = target_of(state["question"])
    there = scope["documents"]
    if there is not None and len(there) <= MOST_NAMED:
        firsts = await first_passages(context, there)
        named = await _named(context, target, firsts) if target else firsts
        if len(named) <= MOST_WHOLE and (named or not target):
            return _whole(named)
    elif there is not None and not target:
        firsts = await first_passages(context, there[:MOST_DOCUMENTS])
        named = firsts
    else:
        named = []
    if named:
        return _listed(named[:MOST_DOCUMENTS], len(there or ()) if not target else len(named))
    return await _searched(state, context, target)


def target_of(question: str) -> str:
    """What is to be summarised; "" means whatever there is."""
    asked = summary_request(question)
    return question if asked is None else asked


def fits(target: str, title: str, paths: Collection[str]) -> bool:
    """Whether a document may be meant: all words of the target are in its title or file name."""
    wanted = set(query_terms(target))
    files = " ".join(PurePath(path).name.replace("_", " ") for path in paths)
    return bool(wanted) and wanted <= {*terms(title), *terms(files.replace(".", " "))} | set(
        terms(files)
    )


async def first_passages(context: Context, documents: Sequence[str]) -> list[Passage]:
    """The beginning of each document that is there."""
    ids = [f"{document}.0" for document in documents]
    held = await asyncio.to_thread(context.shelf.passages, ids)
    return [held[name] for name in ids if name in held]


async def whole_document(context: Context, document: str) -> list[Passage]:
    """All passages of a document, in order; of an endless one the first."""
    found: list[Passage] = []
    for start in range(0, LONGEST_DOCUMENT, _AT_ONCE):
        ids = [f"{document}.{at}" for at in range(start, start + _AT_ONCE)]
        held = await asyncio.to_thread(context.shelf.passages, ids)
        found += [held[name] for name in ids if name in held]
        if len(held) < _AT_ONCE:
            break
    return found


async def _named(context: Context, target: str, firsts: Sequence[Passage]) -> list[Passage]:
    paths = await asyncio.to_thread(context.shelf.paths, {passage.document for passage in firsts})
    fitting = [
        passage
        for passage in firsts
        if fits(target, passage.title, paths.get(passage.document, ()))
    ]
    exact = [item for item in fitting if set(terms(item.title)) <= set(terms(target))]
    return exact or fitting


def _whole(named: Sequence[Passage]) -> Choice:
    titles = ", ".join(f'"{passage.title}"' for passage in named)
    said = f"Chose {titles}." if named else "There is nothing to summarise."
    return _choice("documents" if named else "nothing", named, said)


def _listed(named: Sequence[Passage], total: int) -> Choice:
    more = total - len(named)
    said = f"Chose {len(named)} of {total} documents." if more else f"Chose {total} documents."
    return _choice("many", named, said, more=more)


async def _searched(state: Query, context: Context, target: str) -> Choice:
    """Passages on a topic. Each must have half of its words, in itself or in its title."""
    options = search_options(context.settings.search, k=MOST_PLACES, candidates=MOST_PLACES)
    hits = await asyncio.to_thread(context.shelf.find, target, options, where(state["scope"]))
    wanted = set(query_terms(target))
    found: list[Found] = []
    for hit in hits:
        held = {*terms(hit.passage.text), *terms(hit.passage.title)}
        if 2 * len(wanted & held) >= len(wanted) and len(found) < MOST_PLACES:
            found.append(_kept(found_by(hit), "is about it"))
    documents = len({item["document"] for item in found})
    said = (
        f"No document is called so: took {len(found)} passages of {documents} documents about it."
        if found
        else "No document is called so, and no passage is about it."
    )
    return {
        "extent": "places" if found else "nothing",
        "documents": [],
        "more": 0,
        "found": found,
        "steps": [step("choose", said, passages=len(found), documents=documents)],
        "warnings": [],
    }


def _choice(extent: Extent, named: Sequence[Passage], said: str, *, more: int = 0) -> Choice:
    return {
        "extent": extent,
        "documents": [passage.document for passage in named],
        "more": more,
        "found": [_kept(unread(passage), "begins a chosen document") for passage in named],
        "steps": [step("choose", said, documents=len(named), more=more)],
        "warnings": [],
    }


def _kept(item: Found, why: str) -> Found:
    return {**item, "kept": True, "why": why}
