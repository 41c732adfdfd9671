"""Searches for the pending step of a research in all its wordings at once, and keeps the best that
no earlier step was shown."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.library.shelf import search_options
from secondlook.nodes import ranking
from secondlook.nodes.planning.queries import queries_for
from secondlook.nodes.quarantine import is_quarantined
from secondlook.nodes.researching.shown import joined, shown_before
from secondlook.nodes.retrieve import found_by, where
from secondlook.state import Evidence, Found, Plan, Researched, StepData, Trace, step, trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.retrieval.index.port import Filter

_NODE = "search_step"


class SteppedOn(Evidence, Plan, Trace):
    pass


async def search_step(state: Researched, runtime: Runtime[Context]) -> SteppedOn:
    context, current = runtime.context, state["plan"][-1]
    warnings: list[dict[str, Any]] = []
    numbers: dict[str, Any] = {}
    excluded = _left_out(context, state, current)
    allowed = replace(where(state["scope"]), excluded=excluded)
    if not current["queries"]:
        worded = await queries_for(context, state["question"], current, allowed=allowed)
        current = {**current, "queries": worded.queries}
        warnings, numbers = list(worded.warnings), dict(worded.numbers)
    pool = await _searched(context, current["queries"], allowed)
    placed, lost = await _read(context, current, pool)
    found = [_of(item, current) for item in placed]
    return {
        "found": joined(state["found"], found),
        "plan": [*state["plan"][:-1], current],
        "steps": [_told(current, found, len(excluded), numbers)],
        "warnings": [*warnings, *lost],
    }


def _left_out(context: Context, state: Researched, current: StepData) -> frozenset[str]:
    """What earlier steps were shown, and what gave a model orders: that is not looked at again."""
    fresh = context.settings.research.enable_fresh_evidence
    shown = shown_before(state["plan"], current) if fresh else frozenset[str]()
    return shown | {item["id"] for item in state["found"] if is_quarantined(item)}


async def _searched(context: Context, queries: Sequence[str], allowed: Filter) -> list[Found]:
    """What any of the queries finds, each passage once with its best place, best first."""
    settings = context.settings
    options = search_options(settings.search, k=settings.answer.k)
    searches = [asyncio.to_thread(context.shelf.find, query, options, allowed) for query in queries]
    pool: dict[str, Found] = {}
    for hits in await asyncio.gather(*searches):
        for item in map(found_by, hits):
            known = pool.get(item["id"])
            if known is None or known["fusion_score"] < item["fusion_score"]:
                pool[item["id"]] = item
    return sorted(pool.values(), key=lambda item: (-item["fusion_score"], item["id"]))


async def _read(
    context: Context, current: StepData, pool: list[Found]
) -> tuple[list[Found], list[dict[str, Any]]]:
    search, k = context.settings.search, context.settings.answer.k
    warnings: list[dict[str, Any]] = []
    if search.rerank and pool:
        first, rest = pool[: search.candidates], pool[search.candidates :]
        primary = context.settings.research.rerank_against == "primary"
        query = current["queries"][0] if primary else current["question"]
        try:
            read = await ranking.read(context, query, first, looks=max(search.looks, k))
            pool = [*read, *rest]
        except Exception as error:  # noqa: BLE001 - a search is worth more than its second look
            warnings = [trouble(_NODE, error, "the order of the searches was kept")]
    return ranking.ranked(pool, blend=search.blend, k=k), warnings


def _of(item: Found, current: StepData) -> Found:
    return {**item, "search": current["id"]}


def _told(
    current: StepData, found: Sequence[Found], excluded: int, numbers: dict[str, Any]
) -> dict[str, Any]:
    kept = len(ranking.kept(found))
    said = f"{current['question']} Found {len(found)} passages and kept {kept}."
    return step(
        _NODE,
        said,
        numbers,
        step=current["id"],
        phase=current["phase"],
        attempt=current["attempt"],
        queries=" | ".join(current["queries"]),
        found=len(found),
        kept=kept,
        excluded=excluded,
    )
