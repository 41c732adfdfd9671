"""Which part of a document's text is shown at once."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse

from secondlook.library.uploads import sha256_of
from secondlook.retrieval.outline import Outline
from secondlook.server import library as listing
from secondlook.server.library import (
    DocumentId,
    OpenedLibrary,
    TextOfDocument,
    files_of,
    joined,
)
from secondlook.server.problems import Problem, responses

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from secondlook.document import Extracted, Page
    from secondlook.library.library import Library
    from secondlook.library.report import DocumentInfo

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


# The file that a document was read from, given to a browser that must not trust it.

_REMEMBERED = 256
_PDF = b"%PDF-"
_PDF_WITHIN = 1024
"""A PDF may begin a little late."""
_HEADERS: Final = {
    # Whatever it is, it runs nothing and loads nothing; browsers show a PDF all the same.
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
}


class Hashes:
    """Of files, computed again when one changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, int, int, int], str] = {}

    def of(self, file: Path) -> str:
        status = file.stat()
        key = (str(file), status.st_size, status.st_mtime_ns, status.st_ino)
        with self._lock:
            known = self._known.get(key)
        if known is None:
            known = sha256_of(file)
            with self._lock:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                self._known[key] = known
        return known


def original_of(item: DocumentInfo, hashes: Hashes) -> FileResponse:
    """Only a place that the catalog has for this document, and only what was read there."""
    for file in files_of(item):
        with suppress(OSError):
            if hashes.of(file) == item.sha256:
                return _response(file, item)
    raise Problem(
        410,
        "original_gone",
        "the file of this document has changed or is gone since it was added",
        hint="its text is still here; add or upload the file again to have both in step",
    )


def _response(file: Path, item: DocumentInfo) -> FileResponse:
    shown = item.kind == "pdf" and _is_pdf(file)
    return FileResponse(
        file,
        media_type="application/pdf" if shown else "application/octet-stream",
        filename=file.name.encode("utf-8", "replace").decode(),
        content_disposition_type="inline" if shown else "attachment",
        headers=_HEADERS,
    )


def _is_pdf(file: Path) -> bool:
    with file.open("rb") as source:
        return _PDF in source.read(_PDF_WITHIN)


# Where an answer comes from: a document's text by page or place, and its file.

router = APIRouter(prefix="/api/libraries/{library}/documents/{document}", tags=["library"])
_hashes = Hashes()
_Offset = Query(ge=0, le=1_000_000_000)


@router.get("/text", summary="A document's text", responses=responses(404, 422))
async def show_text(
    opened: OpenedLibrary,
    document: DocumentId,
    page: Annotated[int | None, Query(ge=0, le=1_000_000_000, description="A page.")] = None,
    start: Annotated[int | None, _Offset] = None,
    end: Annotated[int | None, _Offset] = None,
) -> TextOfDocument:
    """One page, or the pages that hold the characters from `start` to `end`; of what has no pages
    about 4,000 characters around them. Without either, the beginning."""
    return await asyncio.to_thread(_text, opened.library, document, page, start, end)


@router.get(
    "/original",
    summary="A document's file",
    response_class=FileResponse,
    responses={
        200: {"description": "The file", "content": {"application/octet-stream": {}}},
        **responses(404, 410),
    },
)
async def show_original(opened: OpenedLibrary, document: DocumentId) -> FileResponse:
    """The file as it was when it was added: a PDF to be shown, everything else to be saved."""
    item = await asyncio.to_thread(listing.document_of, opened.library, document)
    return await asyncio.to_thread(original_of, item, _hashes)


def _text(
    library: Library, document: str, page: int | None, start: int | None, end: int | None
) -> TextOfDocument:
    item = listing.document_of(library, document)
    extracted = library.text(item.id)
    window = chosen_window(extracted, page=page, start=start, end=end)
    return TextOfDocument(
        document=item.id,
        title=item.title,
        page=window.page,
        pages=len(extracted.pages),
        start=window.start,
        end=window.end,
        characters=len(extracted.text),
        text=extracted.text[window.start : window.end],
        heading=window.heading,
        previous_page=window.previous_page,
        next_page=window.next_page,
        previous_start=window.previous_start,
        next_start=window.next_start,
    )
