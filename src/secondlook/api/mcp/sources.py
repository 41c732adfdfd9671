"""The tool `search`: the passages themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.api.mcp.forms import FoundPassage, SearchResult

if TYPE_CHECKING:
    from secondlook.library import Library
    from secondlook.passage import Hit


def found(
    library: Library,
    query: str,
    *,
    k: int,
    documents: list[str] | None,
    filters: dict[str, str] | None,
) -> SearchResult:
    hits = library.search(query, k=k, documents=documents or None, filters=filters or None)
    return SearchResult(hits=[_found(hit) for hit in hits])


def _found(hit: Hit) -> FoundPassage:
    passage = hit.passage
    return FoundPassage(
        passage=passage.id,
        document=passage.document,
        title=passage.title,
        page=passage.page,
        start=passage.start,
        end=passage.end,
        score=round(hit.score, 4),
        text=passage.text,
    )
