"""Where an answer comes from: a document's text by page or place, and its file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse

from secondlook.api.library import listing
from secondlook.api.library.forms import TextOfDocument
from secondlook.api.library.opened import DocumentId, OpenedLibrary  # noqa: TC001
from secondlook.api.library.originals import Hashes, original_of
from secondlook.api.library.windows import chosen_window
from secondlook.api.problems import responses

if TYPE_CHECKING:
    from secondlook.library import Library

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
