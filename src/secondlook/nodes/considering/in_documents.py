"""How likely the documents answer a question: one search, and the reader's own answer to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.errors import SecondlookError
from secondlook.nodes.extract import extract
from secondlook.nodes.rerank import rerank
from secondlook.nodes.retrieve import retrieve

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from secondlook.context import Context
    from secondlook.state import Scope


@dataclass(frozen=True, slots=True)
class Look:
    """What a first look at the documents came to."""

    likely: float
    document: str | None = None
    """That the best passage is of."""


async def looked(runtime: Runtime[Context], question: str, scope: Scope) -> Look:
    """Nothing is likely where nothing can be searched: the workflow that searches tells why."""
    try:
        found = (
            await retrieve({"question": question, "scope": scope, "queries": [question]}, runtime)
        )["found"]
        read = await rerank(
            {"question": question, "scope": scope, "queries": [question], "found": found}, runtime
        )
        draft = await extract(runtime.context, question, read["found"])
    except (SecondlookError, OSError, RuntimeError):
        return Look(0.0)
    best = read["found"][0]["document"] if read["found"] else None
    return Look(draft["confidence"] or 0.0, best)
