"""Searches in other words and pools what it finds with what the user's own words found. Whatever
is read is read for the user's question."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.library.shelf import search_options
from secondlook.nodes import ranking
from secondlook.nodes.pooling import pooled, read_on
from secondlook.nodes.quarantine import kept_clean
from secondlook.nodes.retrieve import Retrieved, found_by, where
from secondlook.state import Asked, Found, Searches, step, trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        again = [_first_found(item, number) for item in await _searched(state, context)]
        pool = pooled({item["id"]: item for item in pool}, again, replace=False)
        most = max(1, search.candidates // _SHARE)
        found, read = await read_on(context, state["question"], pool, most=most)
    except Exception as error:  # noqa: BLE001 - what was read before is worth keeping
        warnings = [trouble(_NODE, error, "what the earlier searches found was kept")]
        found, read = ranking.ranked(pool, blend=search.blend, k=context.settings.answer.k), 0
    told = _told(state, found, number, read)
    clean, kept_out = await kept_clean(context, found)
    return {"found": clean, "steps": [*kept_out, told], "warnings": warnings}


async def _searched(state: Again, context: Context) -> list[Found]:
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


def _told(state: Again, found: Sequence[Found], number: int, read: int) -> dict[str, Any]:
    before = {item["id"] for item in state["found"]}
    new = sum(item["id"] not in before for item in found)
    entered = sum(item["search"] == number for item in ranking.kept(found))
    said = f"Found {new} more in other words; {entered} of them are among the best."
    return step(_NODE, said, query=state["queries"][-1], new=new, read=read, entered=entered)
