"""Searches again, mostly by words, and pools what it finds with what was there."""

from __future__ import annotations

import asyncio
from typing import Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.library.shelf import search_options
from secondlook.nodes import ranking
from secondlook.nodes.pooling import pooled, read_on
from secondlook.nodes.quarantine import kept_clean
from secondlook.nodes.retrieve import Retrieved, found_by, where
from secondlook.state import Asked, Found, step, trouble


async def fall_back(state: Asked, runtime: Runtime[Context]) -> Retrieved:
    context = runtime.context
    settings = context.settings
    known = {item["id"]: item for item in state["found"]}
    again = await _searched(state, context)
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
