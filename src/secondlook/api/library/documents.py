"""Documents: listed, shown, deleted, read again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response

from secondlook.api.library import listing
from secondlook.api.library.forms import Documents, HeadingForm, WholeDocument
from secondlook.api.library.job_forms import Job  # noqa: TC001  # FastAPI reads it
from secondlook.api.library.opened import DocumentId, Opened, OpenedLibrary  # noqa: TC001
from secondlook.api.library.works import Placed
from secondlook.api.problems import Problem, responses
from secondlook.library.lock import active_holder
from secondlook.retrieval.outline import Outline

if TYPE_CHECKING:
    from secondlook.library import Library

router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])
_MOST_HEADINGS = 500


@router.get("/documents", summary="Documents and failed files", responses=responses(404))
async def list_documents(
    opened: OpenedLibrary,
    q: Annotated[str, Query(max_length=200, description="Part of a title or name.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Documents:
    """Failed files first, then documents, newest first; and what is being taken in."""
    found, total = await asyncio.to_thread(
        listing.page_of, opened.library, wanted=q, limit=limit, offset=offset
    )
    jobs = [job.form() for job in opened.jobs.active(opened.name)]
    return Documents(documents=found, total=total, jobs=jobs)


@router.get("/documents/{document}", summary="One document", responses=responses(404))
async def show_document(opened: OpenedLibrary, document: DocumentId) -> WholeDocument:
    """With its headings, as far as its format has any."""
    return await asyncio.to_thread(_shown, opened.library, document)


@router.delete(
    "/documents/{document}",
    status_code=204,
    summary="Delete a document",
    responses=responses(404, 409, 503),
)
async def delete_document(opened: OpenedLibrary, document: DocumentId) -> Response:
    """Forgets it. An uploaded file is deleted; a file anywhere else is never touched. The id of
    a failed file takes it off the list."""
    await asyncio.to_thread(_delete, opened, document)
    return Response(status_code=204)


@router.post(
    "/documents/{document}/reindex",
    status_code=202,
    summary="Read a document again",
    responses=responses(404, 409, 410, 429),
)
async def reindex_document(opened: OpenedLibrary, document: DocumentId) -> Job:
    """Reads its file again, also where it is unchanged."""
    places = await asyncio.to_thread(_places, opened.library, document)
    return opened.jobs.start(opened.name, Placed(places, again=True)).form()


@router.post(
    "/reindex",
    status_code=202,
    summary="Read all documents again",
    responses=responses(404, 409, 429),
)
async def reindex_all(opened: OpenedLibrary) -> Job:
    """Every file that is still there; what is gone stays as it was read."""
    return await asyncio.to_thread(_reindex_all, opened)


def _reindex_all(opened: Opened) -> Job:
    anchors = {listing.anchor(path) for item in opened.library.documents() for path in item.paths}
    places = [place for place in map(Path, sorted(anchors)) if place.is_file()]
    return opened.jobs.start(opened.name, Placed(places, again=True)).form()


def _shown(library: Library, identifier: str) -> WholeDocument:
    if identifier.startswith(listing.FAILED):
        failed = listing.failed_of(library, identifier)
        return WholeDocument(**listing.failed_form(failed).model_dump())
    item = listing.document_of(library, identifier)
    tables = {table.name: table for table in library.tables()}
    form = listing.document_form(library, item, tables)
    return WholeDocument(**form.model_dump(), headings=_headings(library, identifier))


def _headings(library: Library, identifier: str) -> list[HeadingForm]:
    extracted = library.text(identifier)
    outline = Outline(extracted)
    return [
        HeadingForm(
            level=one.level,
            text=" ".join(extracted.text[one.start : one.end].split()),
            start=one.start,
            page=outline.page(one.start),
        )
        for one in extracted.headings[:_MOST_HEADINGS]
    ]


def _delete(opened: Opened, identifier: str) -> None:
    library = opened.library
    if identifier.startswith(listing.FAILED):
        failed = listing.failed_of(library, identifier)
        _check_free(opened)
        library.dismiss(failed.path)
    else:
        item = listing.document_of(library, identifier)
        _check_free(opened)
        library.remove(item.id)


def _check_free(opened: Opened) -> None:
    """A client is told at once what would keep it waiting for a minute."""
    if opened.jobs.active(opened.name) or active_holder(opened.library.path):
        raise Problem(
            409,
            "library_busy",
            "files are being taken in, and one at a time can change a library",
            hint="wait until it is done, or stop that job",
            headers={"Retry-After": "2"},
        )


def _places(library: Library, identifier: str) -> list[Path]:
    if identifier.startswith(listing.FAILED):
        paths: tuple[str, ...] = (listing.failed_of(library, identifier).path,)
    else:
        paths = listing.document_of(library, identifier).paths
    places = [place for path in paths if (place := Path(listing.anchor(path))).is_file()]
    if not places:
        raise Problem(
            410,
            "file_gone",
            "the file of this document is no longer where it was read from",
            hint="upload it again",
        )
    return places
