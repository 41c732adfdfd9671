"""Where an answer comes from: a document's text by page or place, and its file."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from fastapi import APIRouter, Header, Query
from fastapi import Path as PathOf
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel, Field

from secondlook.library.uploads import sha256_of
from secondlook.retrieval.outline import Outline
from secondlook.retrieval.parse.pages import WIDTHS, Place
from secondlook.server.library import DocumentId, OpenedLibrary, document_of, files_of, joined
from secondlook.server.problems import Problem, responses
from secondlook.server.state import FromServer, Served  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secondlook.document import Extracted
    from secondlook.library.library import Library
    from secondlook.library.report import DocumentInfo

T = TypeVar("T")
router = APIRouter(prefix="/api/libraries/{library}/documents/{document}", tags=["library"])
SHOWN = 4_000  # characters of a text without pages, and of a page that is longer than `LONGEST`
LONGEST = 40_000  # a sheet with thousands of rows is one page, too: nobody reads it at once
_LINE = 400  # how far the end of a line may be away


class TextOfDocument(BaseModel):
    """A citation's quote is `text[c.start - start : c.end - start]`, in Unicode code points."""

    document: str = Field(examples=["9f86d081884c7d65"])
    title: str
    pages: int
    characters: int = Field(description="Of the whole document.")
    text: str
    page: int | None = Field(description="The page on which it begins; null without pages.")
    start: int
    end: int
    heading: str | None = Field(examples=["Findings"])
    previous_page: int | None
    next_page: int | None
    previous_start: int | None = Field(description="Where the part before this one may begin.")
    next_start: int | None


_Offset = Query(ge=0, le=1_000_000_000)


@router.get("/text")
async def show_text(
    opened: OpenedLibrary,
    document: DocumentId,
    page: Annotated[int | None, _Offset] = None,
    start: Annotated[int | None, _Offset] = None,
    end: Annotated[int | None, _Offset] = None,
) -> TextOfDocument:
    """One page, or the pages that hold `start` to `end`; without pages about 4,000 characters."""

    def text() -> TextOfDocument:
        item = document_of(opened.library, document)
        extracted = opened.library.text(item.id)
        length = len(extracted.text)
        if page is None and start is not None and (start > length or (end or start) < start):
            said = (
                f"the document has no characters from {start} to {end or start}: it has {length:,}"
            )
            raise Problem(422, "no_such_place", said)
        first, last = _wanted(extracted, page, start, end)
        outline = Outline(extracted)
        at = first if start is None or page is not None else start
        before = [one.number for one in extracted.pages if one.end <= first and one.start < first]
        after = [one.number for one in extracted.pages if one.start >= last]
        return TextOfDocument(
            document=item.id,
            title=item.title,
            pages=len(extracted.pages),
            characters=length,
            text=extracted.text[first:last],
            start=first,
            end=last,
            page=outline.page(first),
            heading=joined(outline.path(at, max(last, at))),
            previous_page=before[-1] if before else None,
            next_page=after[0] if after else None,
            previous_start=max(0, first - SHOWN) if first > 0 else None,
            next_start=last if last < length else None,
        )

    return await asyncio.to_thread(text)


def _wanted(
    document: Extracted, page: int | None, start: int | None, end: int | None
) -> tuple[int, int]:
    if page is not None:
        pages = [one for one in document.pages if one.number == page]
        if not pages:
            known = [one.number for one in document.pages]
            hint = f"its pages are {known[0]} to {known[-1]}" if known else "it has no pages"
            raise Problem(404, "page_missing", f"the document has no page {page}", hint=hint)
        begin = stop = pages[0].start
    else:
        begin = start or 0
        stop = min(max(begin, end or begin), len(document.text))
        ends = max(begin, stop - 1)
        pages = [one for one in document.pages if one.start <= ends and one.end > begin]
    low, high = _around(document.text, begin, stop)
    if not pages:
        return low, high
    first, last = min(pages[0].start, begin), max(pages[-1].end, stop)
    if last - first <= LONGEST:
        return first, last
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


# The file that a document was read from, for a browser that must not trust it.

_ASK_AGAIN: Final = "private, no-cache"
_HEADERS: Final = {
    # Whatever it is, it runs nothing and loads nothing; browsers show a PDF all the same.
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": _ASK_AGAIN,
}


@lru_cache(maxsize=256)
def _hash(file: Path, _size: int, _changed: int, _number: int) -> str:
    return sha256_of(file)


@router.get(
    "/original",
    response_class=FileResponse,
    responses={200: {"description": "The file", "content": {"application/octet-stream": {}}}},
)
async def show_original(opened: OpenedLibrary, document: DocumentId) -> FileResponse:
    """The file as it was when it was added: a PDF to be shown, everything else to be saved."""

    def original() -> FileResponse:
        item, file = _original(opened.library, document)
        try:
            with file.open("rb") as source:  # a PDF may begin a little late
                shown = item.kind == "pdf" and b"%PDF-" in source.read(1024)
        except OSError:
            raise _gone() from None
        return FileResponse(
            file,
            media_type="application/pdf" if shown else "application/octet-stream",
            filename=file.name.encode("utf-8", "replace").decode(),
            content_disposition_type="inline" if shown else "attachment",
            headers=_HEADERS,
        )

    return await asyncio.to_thread(original)


def _gone() -> Problem:
    said = "the file of this document has changed or is gone since it was added"
    return Problem(410, "original_gone", said, hint="its text is still here; add the file again")


def _original(library: Library, document: str) -> tuple[DocumentInfo, Path]:
    """Only from a place that the catalog has for this document, and only what was read there."""
    item = document_of(library, document)
    for file in files_of(item):
        with suppress(OSError):
            seen = file.stat()
            if _hash(file, seen.st_size, seen.st_mtime_ns, seen.st_ino) == item.sha256:
                return item, file
    raise _gone()


# The pages of a PDF as they look.


class Places(BaseModel):
    """Where quoted words stand, page by page."""

    text: str = Field(description="The words that are looked for.")
    pages: int = Field(description="Of the whole document.")
    places: list[Place]


@router.get(
    "/pages/{page}",
    response_class=Response,
    responses={
        200: {"description": "A picture", "content": {"image/png": {}}},
        304: {"description": "The same picture"},
        **responses(413, 415),
    },
)
async def show_page(
    opened: OpenedLibrary,
    document: DocumentId,
    served: FromServer,
    *,
    page: Annotated[int, PathOf(ge=1, le=1_000_000)],
    width: Annotated[int, Query(ge=1, le=WIDTHS[-1], description="In pixels, about.")] = 1200,
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """A page of a PDF as a picture."""

    def seen() -> Response:
        item, file = _pdf(opened.library, document)
        if page > item.pages:
            hint = f"its pages are 1 to {item.pages}"
            raise Problem(404, "page_missing", f"the document has no page {page}", hint=hint)
        headers = {"ETag": f'"{item.sha256[:32]}-{page}-{width}"', "Cache-Control": _ASK_AGAIN}
        if headers["ETag"] in if_none_match:
            return Response(status_code=304, headers=headers)
        picture = served.viewer.picture(file, item.sha256, page, width)
        return Response(picture, media_type="image/png", headers=headers)

    return await _looked(served, seen)


@router.get("/places", responses=responses(413, 415))
async def show_places(
    opened: OpenedLibrary,
    document: DocumentId,
    served: FromServer,
    start: Annotated[int, _Offset],
    end: Annotated[int, _Offset],
) -> Places:
    """On which pages of a PDF its text from `start` to `end` stands, and in which rectangles."""

    def seen() -> Places:
        item, file = _pdf(opened.library, document)
        text = opened.library.text(item.id)
        places = served.viewer.places(file, item.sha256, text, start, end)
        words = text.text[start : min(end, start + LONGEST)]
        return Places(text=words, pages=len(text.pages), places=places)

    return await _looked(served, seen)


async def _looked(served: Served, work: Callable[[], T]) -> T:
    """One at a time: the others wait here, and take no thread from other requests."""
    async with served.looking:
        return await asyncio.to_thread(work)


def _pdf(library: Library, document: str) -> tuple[DocumentInfo, Path]:
    item, file = _original(library, document)
    if item.kind != "pdf":
        said = f"only PDFs are shown as they look; this is of the kind {item.kind}"
        raise Problem(404, "no_pages", said, hint="read its text")
    return item, file
