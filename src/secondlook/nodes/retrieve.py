"""Finds passages by meaning and by words."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.library.shelf import search_options
from secondlook.retrieval.index.port import Filter
from secondlook.state import Evidence, Found, Query, Scope, Trace, step, unread

if TYPE_CHECKING:
    from secondlook.passage import Hit


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
