"""Which part of a document's text is shown at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.api.library.opened import joined
from secondlook.api.problems import Problem
from secondlook.retrieval.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.document import Extracted, Page

SHOWN = 4_000
"""Characters of a text without pages, and of a page that is longer than `LONGEST`."""
LONGEST = 40_000
"""A sheet with thousands of rows is one page, too; more than this nobody reads at once."""
_LINE = 400
"""How far the end of a line may be away."""


@dataclass(frozen=True, slots=True)
class Window:
    start: int
    end: int
    page: int | None
    heading: str | None
    previous_page: int | None
    next_page: int | None
    previous_start: int | None
    next_start: int | None


def chosen_window(
    document: Extracted, *, page: int | None, start: int | None, end: int | None
) -> Window:
    length = len(document.text)
    if page is None and start is not None and (start > length or (end or start) < start):
        raise Problem(
            422,
            "no_such_place",
            f"the document has no characters from {start} to {end or start}",
            hint=f"it has {length:,} characters; the end comes after the start",
        )
    first, last = _wanted(document, page, start, end)
    outline = Outline(document)
    at = first if start is None or page is not None else start
    return Window(
        start=first,
        end=last,
        page=outline.page(first),
        heading=joined(outline.path(at, max(last, at))),
        previous_page=_neighbour(document.pages, first, last, step=-1),
        next_page=_neighbour(document.pages, first, last, step=1),
        previous_start=max(0, first - SHOWN) if first > 0 else None,
        next_start=last if last < length else None,
    )


def _wanted(
    document: Extracted, page: int | None, start: int | None, end: int | None
) -> tuple[int, int]:
    if page is not None:
        found = next((one for one in document.pages if one.number == page), None)
        if found is None:
            raise _no_page(document, page)
        return _bounded(document.text, found.start, found.end, found.start, found.start)
    begin = start or 0
    stop = min(max(begin, end or begin), len(document.text))
    pages = [one for one in document.pages if one.start <= max(begin, stop - 1) and one.end > begin]
    if not pages:
        return _around(document.text, begin, stop)
    first, last = min(pages[0].start, begin), max(pages[-1].end, stop)
    return _bounded(document.text, first, last, begin, stop)


def _bounded(text: str, first: int, last: int, begin: int, stop: int) -> tuple[int, int]:
    """All of it, or of very much the part around what is wanted."""
    if last - first <= LONGEST:
        return first, last
    low, high = _around(text, begin, stop)
    return max(first, low), min(last, high)


def _around(text: str, begin: int, stop: int) -> tuple[int, int]:
    """What is wanted in the middle, from the start of a line to the end of one if they are near."""
    stop = min(stop, begin + LONGEST - 2 * _LINE)
    spare = max(0, SHOWN - (stop - begin)) // 2
    low = max(0, begin - spare)
    high = min(len(text), stop + spare + max(0, spare - begin))
    line = text.rfind("\n", max(0, low - _LINE), low)
    low = line + 1 if line >= 0 else low
    line = text.find("\n", high, high + _LINE)
    return low, line + 1 if line >= 0 and high < len(text) else high


def _neighbour(pages: Sequence[Page], first: int, last: int, *, step: int) -> int | None:
    before = [one.number for one in pages if one.end <= first and one.start < first]
    after = [one.number for one in pages if one.start >= last]
    if step < 0:
        return before[-1] if before else None
    return after[0] if after else None


def _no_page(document: Extracted, page: int) -> Problem:
    if not document.pages:
        hint = "it has no pages: ask with start and end"
    else:
        hint = f"its pages are {document.pages[0].number} to {document.pages[-1].number}"
    return Problem(404, "page_missing", f"the document has no page {page}", hint=hint)
