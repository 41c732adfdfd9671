"""What a client is told of a library and what it holds."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path as pathlib_Path
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, Field

from secondlook.answer import Scalar  # noqa: TC001
from secondlook.library.manifest import active_holder
from secondlook.library.report import FailedFile
from secondlook.library.survey import MEMBER_SEPARATOR
from secondlook.library.uploads import is_upload
from secondlook.retrieval.outline import Outline
from secondlook.server.jobs import (
    Job,
    Placed,
)
from secondlook.server.problems import OrWithPoint, Problem, responses
from secondlook.server.state import Served, served
from secondlook.tables.query import Query as TableQuery
from secondlook.tables.table import ColumnType  # noqa: TC001

if TYPE_CHECKING:
    from secondlook.library.library import Library
    from secondlook.library.report import DocumentInfo
    from secondlook.passage import Hit, Passage
    from secondlook.server.jobs import Jobs
    from secondlook.tables.desk import Desk
    from secondlook.tables.table import ColumnProfile, Table

_DOCUMENT_ID = "9f86d081884c7d65"


class LibraryForm(BaseModel):
    name: str = Field(examples=["default"])
    path: str | None = Field(
        description="The last part of the place where it lies.", examples=["library"]
    )
    documents: int
    tables: int
    passages: int
    failed: int = Field(description="Files that could not be read.")
    bytes: int
    writing: bool = Field(description="Whether something is being added right now.")


class TableOfDocument(BaseModel):
    id: str
    name: str = Field(examples=["sales"])
    rows: int
    columns: int


class Document(BaseModel):
    """A document, or a file that could not be read (`status` is `failed`)."""

    id: str = Field(examples=[_DOCUMENT_ID])
    title: str = Field(examples=["Harbour survey 2024"])
    name: str = Field(description="Of its file.", examples=["survey.pdf"])
    kind: str = Field(examples=["pdf"])
    pages: int = 0
    passages: int = 0
    characters: int = 0
    language: str | None = None
    author: str | None = None
    date: str | None = None
    added: str | None = Field(default=None, description="ISO 8601 in UTC.")
    status: Literal["ready", "failed"] = "ready"
    reason: str | None = Field(default=None, description="Why it failed.")
    notes: list[str] = Field(
        default_factory=list, description="What a reader should know: pages without text, ..."
    )
    metadata: dict[str, str] = Field(default_factory=dict)
    tables: list[TableOfDocument] = Field(default_factory=list)
    has_original: bool = Field(default=False, description="Whether its file is there to open.")
    uploaded: bool = Field(default=False, description="Whether the library keeps its file itself.")


class HeadingForm(BaseModel):
    level: int
    text: str
    start: int
    page: int | None = None


class WholeDocument(Document):
    headings: list[HeadingForm] = Field(default_factory=list)


class Documents(BaseModel):
    documents: list[Document]
    total: int = Field(description="How many fit, of which these are some.")
    jobs: list[Job] = Field(description="What is being taken in right now.")


class Paths(BaseModel, extra="forbid", strict=True):
    paths: list[str] = Field(min_length=1, max_length=100, examples=[["/srv/papers"]])


class TextOfDocument(BaseModel):
    """A part of a document's text. A citation's quote is `text[c.start - start : c.end - start]`,
    where offsets count Unicode code points."""

    document: str = Field(examples=[_DOCUMENT_ID])
    title: str
    page: int | None = Field(description="The page on which it begins; null without pages.")
    pages: int
    start: int
    end: int
    characters: int = Field(description="Of the whole document.")
    text: str
    heading: str | None = Field(
        examples=["Findings \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} Berth 4"]
    )
    previous_page: int | None
    next_page: int | None
    previous_start: int | None = Field(description="Where the part before this one may begin.")
    next_start: int | None


class PassageForm(BaseModel):
    id: str = Field(examples=[f"{_DOCUMENT_ID}.4"])
    document: str = Field(examples=[_DOCUMENT_ID])
    title: str
    page: int | None
    start: int
    end: int
    text: str
    heading: str | None


class TableForm(BaseModel):
    id: str
    name: str = Field(examples=["sales"])
    title: str = Field(examples=["sales.xlsx, Q1"])
    rows: int
    columns: int
    document: str | None = Field(examples=[_DOCUMENT_ID])


class ColumnForm(BaseModel):
    name: str = Field(examples=["price"])
    type: ColumnType
    missing: int
    distinct: int
    about: str = Field(
        description="Its range or its most frequent values.", examples=["1.5 to 99, mean 20.1"]
    )
    unit: str | None = None
    warnings: list[str] = Field(default_factory=list)


class TablePreview(BaseModel):
    id: str
    name: str
    title: str
    document: str | None
    total_rows: int
    columns: list[ColumnForm]
    rows: list[list[Scalar]] = Field(description="The first ones, in the order of the columns.")
    warnings: list[str]


class Search(BaseModel, extra="forbid", strict=True):
    query: str = Field(min_length=1, max_length=4000, examples=["how deep is berth 4"])
    k: Annotated[int, Field(ge=1, le=100), OrWithPoint] | None = Field(
        default=None, description="How many passages."
    )
    documents: list[str] | None = Field(
        default=None, max_length=1000, description="Only in these: ids, file names or titles."
    )
    filters: dict[str, str] | None = Field(
        default=None, description="Only in documents with such metadata."
    )


class HitForm(BaseModel):
    passage: str
    document: str
    title: str
    page: int | None
    start: int
    end: int
    score: float
    text: str
    heading: str | None


class Hits(BaseModel):
    hits: list[HitForm]


class Suggestion(BaseModel):
    question: str = Field(examples=["What is the mean price by region?"])
    why: str = Field(description="What it is made from.", examples=["a column of sales.csv"])


class Suggestions(BaseModel):
    questions: list[Suggestion]
    ready: bool = Field(description="Whether they have been made; ask again where not.")


# The library that a path names, and the names of what is in it.

HEADING_SEPARATOR = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


@dataclass(frozen=True, slots=True)
class Opened:
    name: str
    library: Library
    jobs: Jobs


async def opened(
    library: Annotated[
        str, Path(description="Name of a library; `default` is the server's own.", max_length=64)
    ],
    state: Annotated[Served, Depends(served)],
) -> Opened:
    engine = await state.libraries.aengine(library)
    if not state.jobs.has_taken_up(library):
        await asyncio.to_thread(state.jobs.take_up, library)
    return Opened(library, engine.library, state.jobs)


OpenedLibrary = Annotated[Opened, Depends(opened)]
DocumentId = Annotated[str, Path(description="Id of a document, or `failed:...`.", max_length=80)]


def missing(what: str, name: str) -> Problem:
    return Problem(
        404,
        f"{what}_missing",
        f"the library holds no {what} {name!r}",
        hint="it may have been deleted; the list of documents says what there is",
    )


def joined(heading: tuple[str, ...]) -> str | None:
    return HEADING_SEPARATOR.join(heading) or None


# Which libraries there are, and how much each holds.

libraries_router = APIRouter(tags=["library"])


@libraries_router.get(
    "/api/libraries", summary="The libraries of this server", responses=responses(500)
)
async def list_libraries(state: Annotated[Served, Depends(served)]) -> list[LibraryForm]:
    """How many documents, tables and passages each of them holds."""
    found = []
    for name in state.libraries.names():
        engine = await state.libraries.aengine(name)
        busy = bool(state.jobs.active(name))
        found.append(await asyncio.to_thread(_form, name, engine.library, busy=busy))
    return found


def _form(name: str, library: Library, *, busy: bool) -> LibraryForm:
    status = library.status()
    return LibraryForm(
        name=name,
        path=pathlib_Path(status.path).name or None,
        documents=status.documents,
        tables=status.tables,
        passages=status.passages,
        failed=len(status.failed),
        bytes=status.bytes,
        writing=busy or status.writer is not None,
    )


# Documents and failed files as a client sees them.

FAILED = "failed:"
_LOOSE = ("stdin:", "text:")
"""How paths of what lies in no file begin."""


def page_of(
    library: Library, *, wanted: str, limit: int, offset: int
) -> tuple[list[Document], int]:
    """Newest first, after what failed: that is what a person should look at. With how many fit."""
    held = sorted(library.documents(), key=lambda item: (item.added, item.paths), reverse=True)
    listed: list[DocumentInfo | FailedFile] = [*library.failed_files(), *held]
    found = [item for item in listed if _fits(item, wanted)]
    tables = {table.name: table for table in library.tables()}
    shown = [
        failed_form(item) if isinstance(item, FailedFile) else document_form(library, item, tables)
        for item in found[offset : offset + limit]
    ]
    return shown, len(found)


def _fits(item: DocumentInfo | FailedFile, wanted: str) -> bool:
    folded = wanted.strip().casefold()
    if isinstance(item, FailedFile):
        return folded in _file_name(item.path).casefold()
    return folded in item.title.casefold() or folded in _name(item).casefold()


def document_of(library: Library, identifier: str) -> DocumentInfo:
    """By its id alone: what a client names must mean one thing."""
    found = next((item for item in library.documents() if item.id == identifier), None)
    if found is None:
        raise missing("document", identifier)
    return found


def failed_of(library: Library, identifier: str) -> FailedFile:
    for item in library.failed_files():
        if failed_id(item.path) == identifier:
            return item
    raise missing("document", identifier)


def failed_id(path: str) -> str:
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{FAILED}{digest[:16]}"


def document_form(library: Library, item: DocumentInfo, tables: dict[str, Table]) -> Document:
    return Document(
        id=item.id,
        title=_text(item.title),
        name=_name(item),
        kind=item.kind,
        pages=item.pages,
        passages=item.passages,
        characters=item.characters,
        language=item.language,
        author=item.author,
        date=item.date,
        added=item.added,
        notes=list(item.notes),
        metadata=item.metadata,
        tables=[_table(tables[name]) for name in item.tables if name in tables],
        has_original=any(file.is_file() for file in files_of(item)),
        uploaded=any(is_upload(library.path, anchor(path)) for path in item.paths),
    )


def files_of(item: DocumentInfo) -> list[pathlib_Path]:
    """Files that are the document itself, not an archive that holds it."""
    return [
        pathlib_Path(path)
        for path in item.paths
        if MEMBER_SEPARATOR not in path and not path.startswith(_LOOSE)
    ]


def anchor(path: str) -> str:
    return path.partition(MEMBER_SEPARATOR)[0]


def failed_form(item: FailedFile) -> Document:
    name = _file_name(item.path)
    return Document(
        id=failed_id(item.path),
        title=name,
        name=name,
        kind=PurePath(name).suffix.removeprefix(".").casefold() or "unknown",
        status="failed",
        reason=_text(item.reason),
    )


def _table(table: Table) -> TableOfDocument:
    return TableOfDocument(
        id=table.id, name=table.name, rows=table.rows, columns=len(table.columns)
    )


def _name(item: DocumentInfo) -> str:
    return _file_name(item.paths[0]) if item.paths else _text(item.title)


def _file_name(path: str) -> str:
    for loose in _LOOSE:
        path = path.removeprefix(loose)
    return _text(PurePath(path).name or path)


def _text(said: str) -> str:
    """A file name may hold bytes that are no text; JSON takes text alone."""
    return said.encode("utf-8", "replace").decode()


# Documents: listed, shown, deleted, read again.

documents_router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])
_MOST_HEADINGS = 500


@documents_router.get("/documents", summary="Documents and failed files", responses=responses(404))
async def list_documents(
    opened: OpenedLibrary,
    q: Annotated[str, Query(max_length=200, description="Part of a title or name.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Documents:
    """Failed files first, then documents, newest first; and what is being taken in."""
    found, total = await asyncio.to_thread(
        page_of, opened.library, wanted=q, limit=limit, offset=offset
    )
    jobs = [job.form() for job in opened.jobs.active(opened.name)]
    return Documents(documents=found, total=total, jobs=jobs)


@documents_router.get("/documents/{document}", summary="One document", responses=responses(404))
async def show_document(opened: OpenedLibrary, document: DocumentId) -> WholeDocument:
    """With its headings, as far as its format has any."""
    return await asyncio.to_thread(_shown, opened.library, document)


@documents_router.delete(
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


@documents_router.post(
    "/documents/{document}/reindex",
    status_code=202,
    summary="Read a document again",
    responses=responses(404, 409, 410, 429),
)
async def reindex_document(opened: OpenedLibrary, document: DocumentId) -> Job:
    """Reads its file again, also where it is unchanged."""
    places = await asyncio.to_thread(_places, opened.library, document)
    return opened.jobs.start(opened.name, Placed(places, again=True)).form()


@documents_router.post(
    "/reindex",
    status_code=202,
    summary="Read all documents again",
    responses=responses(404, 409, 429),
)
async def reindex_all(opened: OpenedLibrary) -> Job:
    """Every file that is still there; what is gone stays as it was read."""
    return await asyncio.to_thread(_reindex_all, opened)


def _reindex_all(opened: Opened) -> Job:
    anchors = {anchor(path) for item in opened.library.documents() for path in item.paths}
    places = [place for place in map(pathlib_Path, sorted(anchors)) if place.is_file()]
    return opened.jobs.start(opened.name, Placed(places, again=True)).form()


def _shown(library: Library, identifier: str) -> WholeDocument:
    if identifier.startswith(FAILED):
        failed = failed_of(library, identifier)
        return WholeDocument(**failed_form(failed).model_dump())
    item = document_of(library, identifier)
    tables = {table.name: table for table in library.tables()}
    form = document_form(library, item, tables)
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
    if identifier.startswith(FAILED):
        failed = failed_of(library, identifier)
        _check_free(opened)
        library.dismiss(failed.path)
    else:
        item = document_of(library, identifier)
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


def _places(library: Library, identifier: str) -> list[pathlib_Path]:
    if identifier.startswith(FAILED):
        paths: tuple[str, ...] = (failed_of(library, identifier).path,)
    else:
        paths = document_of(library, identifier).paths
    places = [place for path in paths if (place := pathlib_Path(anchor(path))).is_file()]
    if not places:
        raise Problem(
            410,
            "file_gone",
            "the file of this document is no longer where it was read from",
            hint="upload it again",
        )
    return places


# Passages, by search and by id.

search_router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])


@search_router.post("/search", summary="Find passages", responses=responses(404, 422))
async def search(opened: OpenedLibrary, asked: Search) -> Hits:
    """The passages that fit best, without an answer."""
    return await asyncio.to_thread(_searched, opened.library, asked)


@search_router.get("/passages/{passage}", summary="One passage", responses=responses(404))
async def show_passage(
    opened: OpenedLibrary, passage: Annotated[str, Path(max_length=80)]
) -> PassageForm:
    """By the id that an answer's citation or a search gives."""
    found = await asyncio.to_thread(opened.library.shelf().passages, [passage])
    if passage not in found:
        raise missing("passage", passage)
    return _passage_form(found[passage])


def _searched(library: Library, asked: Search) -> Hits:
    hits = library.search(
        asked.query, k=asked.k, filters=asked.filters, documents=asked.documents or None
    )
    return Hits(hits=[_hit_form(hit) for hit in hits])


def _hit_form(hit: Hit) -> HitForm:
    said = _passage_form(hit.passage).model_dump(exclude={"id"})
    return HitForm(**said, passage=hit.passage.id, score=hit.score)


def _passage_form(passage: Passage) -> PassageForm:
    return PassageForm(
        id=passage.id,
        document=passage.document,
        title=passage.title,
        page=passage.page,
        start=passage.start,
        end=passage.end,
        text=passage.text,
        heading=joined(passage.heading),
    )


# Tables: which there are, what each is like, and its first rows.

tables_router = APIRouter(prefix="/api/libraries/{library}/tables", tags=["library"])
_LONGEST_VALUE = 60
_SHOWN_VALUES = 5


@tables_router.get("", summary="The tables of a library", responses=responses(404))
async def list_tables(opened: OpenedLibrary) -> list[TableForm]:
    """Names are what a question or generated code calls them."""
    return await asyncio.to_thread(_listed, opened.library)


@tables_router.get(
    "/{table}", summary="A table's profile and first rows", responses=responses(404, 422)
)
async def show_table(
    opened: OpenedLibrary,
    table: Annotated[str, Path(max_length=200, description="Id or name of a table.")],
    rows: Annotated[int, Query(ge=0, le=200, description="How many rows to show.")] = 20,
) -> TablePreview:
    """What is said of a column is computed from its values, once."""
    return await asyncio.to_thread(_preview, opened.library, table, rows)


def _listed(library: Library) -> list[TableForm]:
    holders = _holders(library)
    return [
        TableForm(
            id=table.id,
            name=table.name,
            title=table.title,
            rows=table.rows,
            columns=len(table.columns),
            document=holders.get(table.name),
        )
        for table in library.tables()
    ]


def _preview(library: Library, wanted: str, rows: int) -> TablePreview:
    desk = library.desk()
    table = next((one for one in desk.tables() if wanted in {one.id, one.name}), None)
    if table is None:
        raise missing("table", wanted)
    profile = desk.profile(table.id)
    return TablePreview(
        id=table.id,
        name=table.name,
        title=table.title,
        document=_holders(library).get(table.name),
        total_rows=table.rows,
        columns=[_column(column) for column in profile.columns],
        rows=_first_rows(desk, table, rows),
        warnings=[*table.warnings, *profile.warnings],
    )


def _first_rows(desk: Desk, table: Table, rows: int) -> list[list[Scalar]]:
    if not rows or not table.columns:
        return []
    names = tuple(column.name for column in table.columns)
    query = TableQuery(table=table.id, select=names, limit=rows, ties=False)
    return [list(row) for row in desk.compute(query).rows[:rows]]


def _holders(library: Library) -> dict[str, str]:
    """The document of each table, by the table's name."""
    return {name: item.id for item in library.documents() for name in item.tables}


def _column(column: ColumnProfile) -> ColumnForm:
    return ColumnForm(
        name=column.name,
        type=column.type,
        missing=column.missing,
        distinct=column.distinct,
        about=_about(column),
        unit=column.unit or column.currency,
        warnings=list(column.warnings),
    )


def _about(column: ColumnProfile) -> str:
    if column.type == "text" and column.top:
        shown = [f"{_short(top.value)} ({top.count:,})" for top in column.top[:_SHOWN_VALUES]]
        return ", ".join(shown)
    if column.minimum is None:
        return ""
    mean = f", mean {column.mean:.4g}" if column.mean is not None else ""
    return f"{_short(column.minimum)} to {_short(column.maximum)}{mean}"


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return (
        text
        if len(text) <= _LONGEST_VALUE
        else f"{text[: _LONGEST_VALUE - 1]}\N{HORIZONTAL ELLIPSIS}"
    )
