"""Documents and places in them: what `read_source` and the resources show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.api.mcp.forms import SourceText
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from secondlook.document import Extracted
    from secondlook.library import Library

MOST_CHARACTERS = 8_000
"""Of one reading: about 2,000 tokens, which any assistant can take."""
_BEFORE = 200
"""Characters before a quote that make its place plain."""


def document_uri(document: str) -> str:
    return f"secondlook://documents/{document}"


def source_of_passage(library: Library, passage: str) -> SourceText:
    found = library.shelf().passages([passage]).get(passage)
    if found is None:
        raise UsageError(
            f"the library holds no passage {passage!r}",
            hint="take the id from a search; adding a file again gives its passages new ids",
        )
    return source_text(library, found.document, start=found.start, end=found.end)


def source_text(
    library: Library,
    name: str,
    *,
    page: int | None = None,
    start: int | None = None,
    end: int | None = None,
) -> SourceText:
    """A page, a span with a little before it, or the beginning of a document."""
    document = library.document(name)
    text = library.text(document.id)
    first, last = _span(text, page, start, end)
    return SourceText(
        document=document.id,
        title=document.title,
        page=_page_at(text, first),
        pages=len(text.pages),
        start=first,
        end=last,
        characters=len(text.text),
        text=text.text[first:last],
        more=last < len(text.text),
    )


def _span(text: Extracted, page: int | None, start: int | None, end: int | None) -> tuple[int, int]:
    size = len(text.text)
    if page is not None:
        return _page_span(text, page)
    if start is None:
        return 0, min(size, MOST_CHARACTERS)
    if not 0 <= start < max(1, size) or (end is not None and end < start):
        raise UsageError(
            f"start {start} and end {end} are no place in this document",
            hint=f"it has {size} characters; offsets come from a citation or a search",
        )
    if end is None:  # reading on: from there, and nothing twice
        return start, min(size, start + MOST_CHARACTERS)
    first = max(0, start - _BEFORE)
    return first, min(size, max(end, first + MOST_CHARACTERS // 4), first + MOST_CHARACTERS)


def _page_span(text: Extracted, page: int) -> tuple[int, int]:
    for one in text.pages:
        if one.number == page:
            return one.start, min(one.end, one.start + MOST_CHARACTERS)
    has = f"pages 1 to {len(text.pages)}" if text.pages else "no pages: give start instead"
    raise UsageError(f"the document has no page {page}", hint=f"it has {has}")


def _page_at(text: Extracted, at: int) -> int | None:
    return next((page.number for page in text.pages if page.start <= at < page.end), None)
