"""Searches again, mostly by words, and pools what it finds with what was there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.library.shelf import search_options
from secondlook.nodes import ranking
from secondlook.nodes.assess import measured, min_quality
from secondlook.nodes.retrieve import Retrieved, found_by, where
from secondlook.state import Asked, Found, step, trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

_AT_ONCE = 4
"""Passages read between two looks at whether the evidence is good enough by now."""


async def fall_back(state: Asked, runtime: Runtime[Context]) -> Retrieved:
    context = runtime.context
    settings = context.settings
    known = {item["id"]: item for item in state["found"]}
    again = await _searched(state, context)
    pool = _pooled(known, again, replace=settings.adaptive.pooling == "replace")
    warnings: list[dict[str, Any]] = []
    try:
        found, read = await _read_on(context, state["queries"][-1], pool)
    except Exception as error:  # noqa: BLE001 - what was read before is worth keeping
        warnings = [trouble("fall_back", error, "what the first search found was kept")]
        found, read = ranking.ranked(pool, blend=settings.search.blend, k=settings.answer.k), 0
    new = [item for item in again if item["id"] not in known]
    before = {item["id"] for item in ranking.kept(state["found"])}
    entered = [item for item in ranking.kept(found) if item["id"] not in before]
    said = f"Found {len(new)} more by words; {len(entered)} of them are among the best."
    told = step("fall_back", said, new=len(new), read=read, entered=len(entered))
    return {"found": found, "steps": [told], "warnings": warnings}


async def _searched(state: Asked, context: Context) -> list[Found]:
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
    return [found_by(hit) for hit in hits[: chosen.candidates]]


def _pooled(known: dict[str, Found], again: Sequence[Found], *, replace: bool) -> list[Found]:
    """Each passage once, with the better of its two fusion scores; readings are kept."""
    merged = [_merged(known[item["id"]], item) if item["id"] in known else item for item in again]
    if replace:
        return merged
    ids = {item["id"] for item in again}
    return [*merged, *(item for item in known.values() if item["id"] not in ids)]


def _merged(read: Found, again: Found) -> Found:
    better = max(read["fusion_score"], again["fusion_score"])
    return {**read, "fusion_score": better}


async def _read_on(context: Context, query: str, pool: list[Found]) -> tuple[list[Found], int]:
    """Reads what nobody has read yet, best first, until the evidence looks good enough.

    Never more than the first search read: a second look costs at most as much as the first. What
    a glance does not put among the best of all that was read so far is not looked at.
    """
    search, k = context.settings.search, context.settings.answer.k
    calibration = context.calibration
    limit = min_quality(context.settings, calibration)
    unread = [item for item in pool if item["relevance"] is None]
    done = [item for item in pool if item["relevance"] is not None]
    unread.sort(key=lambda item: (-item["fusion_score"], item["id"]))
    if not search.rerank:
        return ranking.ranked(pool, blend=search.blend, k=k), 0
    read = 0
    while unread and read < search.candidates:
        batch, unread = unread[:_AT_ONCE], unread[_AT_ONCE:]
        done += await ranking.read(context, query, batch, looks=search.looks, rivals=done)
        read += len(batch)
        placed = ranking.ranked(done, blend=search.blend, k=k)
        if (measured(placed, calibration) or 0.0) >= limit:
            break
    return ranking.ranked([*done, *unread], blend=search.blend, k=k), read
