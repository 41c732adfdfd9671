"""Reads the candidates and puts those first that look like answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes import ranking
from secondlook.nodes.quarantine import kept_clean
from secondlook.nodes.retrieve import Retrieved  # noqa: TC001
from secondlook.state import Asked, Found, step, trouble

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    return {"found": clean, "steps": [*kept_out, _told(placed)], "warnings": warnings}


def _told(found: Sequence[Found]) -> dict[str, Any]:
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
