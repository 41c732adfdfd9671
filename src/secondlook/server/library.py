"""`/api/libraries`: the libraries of the server, their documents, passages and tables."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path as FilePath
from pathlib import PurePath
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, Field

from secondlook.answer import Scalar  # noqa: TC001
from secondlook.library.manifest import active_holder
from secondlook.library.report import FailedFile, is_address
from secondlook.library.survey import MEMBER_SEPARATOR
from secondlook.library.uploads import is_upload
from secondlook.retrieval.outline import Outline
from secondlook.server.jobs import LOOSE, Fetched, Job, Placed, name_of
from secondlook.server.problems import OrWithPoint, Problem
from secondlook.server.state import FromServer  # noqa: TC001
from secondlook.tables.query import Query as TableQuery
from secondlook.tables.table import ColumnType  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.library.library import Library
    from secondlook.library.report import DocumentInfo
    from secondlook.passage import Hit, Passage
    from secondlook.server.jobs import Jobs
    from secondlook.tables.table import ColumnProfile, Table

router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])
_DOCUMENT_ID = "9f86d081884c7d65"
HEADING_SEPARATOR = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
FAILED = "failed:"
_AS_HELD = (
    *("id", "kind", "pages", "passages", "characters"),
    *("language", "author", "date", "added", "metadata"),
)


@dataclass(frozen=True, slots=True)
class Opened:
    name: str
    library: Library
    jobs: Jobs


async def opened(
    library: Annotated[str, Path(max_length=64, examples=["default"])], state: FromServer
) -> Opened:
    engine = await state.libraries.aengine(library)
    await asyncio.to_thread(state.jobs.take_up, library)
    return Opened(library, engine.library, state.jobs)


OpenedLibrary = Annotated[Opened, Depends(opened)]
DocumentId = Annotated[str, Path(description="Id of a document, or `failed:...`.", max_length=80)]


def missing(what: str, name: str) -> Problem:
    hint = "the list of documents says what there is"
    return Problem(404, f"{what}_missing", f"the library holds no {what} {name!r}", hint=hint)


def joined(heading: tuple[str, ...]) -> str | None:
    return HEADING_SEPARATOR.join(heading) or None


# Documents, and files that could not be read


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
    notes: list[str] = Field(default_factory=list, description="Such as pages without text.")
    metadata: dict[str, str] = Field(default_factory=dict)
    tables: list[TableOfDocument] = Field(default_factory=list)
    has_original: bool = Field(default=False, description="Whether its file is there to open.")
    uploaded: bool = Field(default=False, description="Whether the library keeps its file itself.")
    address: str | None = Field(default=None, description="Of the web page that it was read from.")


class HeadingForm(BaseModel):
    level: int
    text: str
    start: int
    page: int | None = None


class WholeDocument(Document):
    headings: list[HeadingForm] = Field(default_factory=list)


class Documents(BaseModel):
    documents: list[Document]
    total: int = Field(description="How many there are in all.")
    jobs: list[Job] = Field(description="What is being added right now.")


def document_of(library: Library, identifier: str) -> DocumentInfo:
    """By its id alone: what a client names must mean one thing."""
    found = next((item for item in library.documents() if item.id == identifier), None)
    if found is None:
        raise missing("document", identifier)
    return found


def _found(library: Library, identifier: str) -> DocumentInfo | FailedFile:
    if not identifier.startswith(FAILED):
        return document_of(library, identifier)
    for item in library.failed_files():
        if _failed_id(item.path) == identifier:
            return item
    raise missing("document", identifier)


def _failed_id(path: str) -> str:
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{FAILED}{digest[:16]}"


def _form(
    library: Library, item: DocumentInfo | FailedFile, tables: Mapping[str, Table]
) -> Document:
    name = _file_name(item)
    if isinstance(item, FailedFile):
        kind = PurePath(name).suffix.removeprefix(".").casefold() or "unknown"
        told: dict[str, Any] = {"id": _failed_id(item.path), "reason": _text(item.reason)}
        return Document(**told, kind=kind, title=name, name=name, status="failed")
    return Document(
        **{name: getattr(item, name) for name in _AS_HELD},
        title=_text(item.title),
        name=name,
        notes=list(item.notes),
        tables=[TableOfDocument(**_table(tables[name])) for name in item.tables if name in tables],
        has_original=any(file.is_file() for file in files_of(item)),
        uploaded=any(is_upload(library.path, _anchor(path)) for path in item.paths),
        address=next(filter(is_address, item.paths), None),
    )


def _file_name(item: DocumentInfo | FailedFile) -> str:
    if not isinstance(item, FailedFile) and not item.paths:
        return _text(item.title)
    return _text(name_of(item.path if isinstance(item, FailedFile) else item.paths[0]))


def _text(said: str) -> str:
    """A file name may hold bytes that are no text; JSON takes text alone."""
    return said.encode("utf-8", "replace").decode()


def files_of(item: DocumentInfo) -> list[FilePath]:
    """Files that are the document itself, not an archive that holds it."""
    own = [path for path in item.paths if MEMBER_SEPARATOR not in path]
    return [FilePath(path) for path in own if not (path.startswith(LOOSE) or is_address(path))]


def _anchor(path: str) -> str:
    return path.partition(MEMBER_SEPARATOR)[0]


@router.get("/documents")
async def list_documents(
    opened: OpenedLibrary,
    q: Annotated[str, Query(max_length=200, description="Part of a title or name.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Documents:
    """Failed files first, as a person should look at them; then documents, newest first."""

    def listed() -> Documents:
        library, wanted = opened.library, q.strip().casefold()
        held = sorted(library.documents(), key=lambda item: (item.added, item.paths), reverse=True)
        everything: list[DocumentInfo | FailedFile] = [*library.failed_files(), *held]
        fitting = [
            item
            for item in everything
            if wanted in _file_name(item).casefold()
            or (not isinstance(item, FailedFile) and wanted in item.title.casefold())
        ]
        tables = {table.name: table for table in library.tables()}
        shown = [_form(library, item, tables) for item in fitting[offset : offset + limit]]
        jobs = [job.form() for job in opened.jobs.active(opened.name)]
        return Documents(documents=shown, total=len(fitting), jobs=jobs)

    return await asyncio.to_thread(listed)


@router.get("/documents/{document}")
async def show_document(opened: OpenedLibrary, document: DocumentId) -> WholeDocument:
    """With its headings, as far as its format has any."""

    def shown() -> WholeDocument:
        library = opened.library
        item = _found(library, document)
        tables = {table.name: table for table in library.tables()}
        form = WholeDocument(**_form(library, item, tables).model_dump())
        if form.status == "ready":
            extracted = library.text(document)
            outline = Outline(extracted)
            for one in extracted.headings[:500]:
                text = " ".join(extracted.text[one.start : one.end].split())
                page = outline.page(one.start)
                heading = HeadingForm(level=one.level, text=text, start=one.start, page=page)
                form.headings.append(heading)
        return form

    return await asyncio.to_thread(shown)


@router.delete("/documents/{document}", status_code=204)
async def delete_document(opened: OpenedLibrary, document: DocumentId) -> Response:
    """An uploaded file is deleted; one anywhere else is never touched, a failed one dismissed."""

    def delete() -> None:
        item = _found(opened.library, document)
        # A client gets this at once instead of waiting for a minute.
        if opened.jobs.active(opened.name) or active_holder(opened.library.path):
            said = "files are being added, and only one job at a time can change a library"
            hint = "wait until it is done, or stop that job"
            raise Problem(409, "library_busy", said, hint=hint, headers={"Retry-After": "2"})
        if isinstance(item, FailedFile):
            opened.library.dismiss(item.path)
        else:
            opened.library.remove(item.id)

    await asyncio.to_thread(delete)
    return Response(status_code=204)


@router.post("/documents/{document}/reindex", status_code=202)
async def reindex_document(opened: OpenedLibrary, document: DocumentId) -> Job:
    """Reads its file again, also where it is unchanged; of a web page, what is there now."""
    item = await asyncio.to_thread(_found, opened.library, document)
    paths = (item.path,) if isinstance(item, FailedFile) else item.paths
    if addresses := list(filter(is_address, paths)):
        return opened.jobs.start(opened.name, Fetched(addresses, 0)).form()
    places = [place for path in paths if (place := FilePath(_anchor(path))).is_file()]
    if not places:
        said = "the file of this document is no longer where it was read from"
        raise Problem(410, "file_gone", said, hint="upload it again")
    return opened.jobs.start(opened.name, Placed(places, again=True)).form()


@router.post("/reindex", status_code=202)
async def reindex_all(opened: OpenedLibrary) -> Job:
    """Every file that is still there; what is gone stays as it was read."""

    def start() -> Job:
        anchors = {_anchor(path) for item in opened.library.documents() for path in item.paths}
        places = [place for place in map(FilePath, sorted(anchors)) if place.is_file()]
        return opened.jobs.start(opened.name, Placed(places, again=True)).form()

    return await asyncio.to_thread(start)


# Passages, by search and by id


class Search(BaseModel, extra="forbid", strict=True):
    query: str = Field(min_length=1, max_length=4000, examples=["how deep is berth 4"])
    k: Annotated[int, Field(ge=1, le=100), OrWithPoint] | None = None
    documents: list[str] | None = Field(default=None, max_length=1000)
    filters: dict[str, str] | None = None


class _Place(BaseModel):
    document: str = Field(examples=[_DOCUMENT_ID])
    title: str
    page: int | None
    start: int
    end: int
    text: str
    heading: str | None


class PassageForm(_Place):
    id: str = Field(examples=[f"{_DOCUMENT_ID}.4"])


class HitForm(_Place):
    passage: str
    score: float


class Hits(BaseModel):
    hits: list[HitForm]


def hit_forms(hits: Sequence[Hit]) -> list[dict[str, object]]:
    return [{**_place(hit.passage), "passage": hit.passage.id, "score": hit.score} for hit in hits]


def _place(passage: Passage) -> dict[str, object]:
    plain = ("document", "title", "page", "start", "end", "text")
    return {name: getattr(passage, name) for name in plain} | {"heading": joined(passage.heading)}


@router.post("/search")
async def search(opened: OpenedLibrary, asked: Search) -> Hits:
    """The passages that fit best, without an answer."""

    def found() -> Hits:
        hits = opened.library.search(
            asked.query, k=asked.k, filters=asked.filters, documents=asked.documents or None
        )
        return Hits.model_validate({"hits": hit_forms(hits)})

    return await asyncio.to_thread(found)


@router.get("/passages/{passage}")
async def show_passage(
    opened: OpenedLibrary, passage: Annotated[str, Path(max_length=80)]
) -> PassageForm:
    """By the id that an answer's citation or a search gives."""
    found = await asyncio.to_thread(opened.library.shelf().passages, [passage])
    if passage not in found:
        raise missing("passage", passage)
    return PassageForm.model_validate({"id": passage, **_place(found[passage])})


# Tables: which there are, the columns of each, and its first rows


class TableForm(TableOfDocument):
    title: str = Field(examples=["sales.xlsx, Q1"])
    document: str | None = Field(examples=[_DOCUMENT_ID])


class ColumnForm(BaseModel):
    name: str = Field(examples=["price"])
    type: ColumnType
    missing: int
    distinct: int
    about: str = Field(examples=["1.5 to 99, mean 20.1"])
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


def _holders(library: Library) -> dict[str, str]:
    return {name: item.id for item in library.documents() for name in item.tables}


@router.get("/tables")
async def list_tables(opened: OpenedLibrary) -> list[TableForm]:
    """Their names are used in questions and in generated code."""

    def listed() -> list[TableForm]:
        holders, tables = _holders(opened.library), opened.library.tables()
        return [TableForm(**_table(one), document=holders.get(one.name)) for one in tables]

    return await asyncio.to_thread(listed)


def _table(table: Table) -> dict[str, Any]:
    same = {name: getattr(table, name) for name in ("id", "name", "title", "rows")}
    return same | {"columns": len(table.columns)}


@router.get("/tables/{table}")
async def show_table(
    opened: OpenedLibrary,
    table: Annotated[str, Path(max_length=200, description="Id or name of a table.")],
    rows: Annotated[int, Query(ge=0, le=200, description="How many rows to show.")] = 20,
) -> TablePreview:
    """What is said of a column is computed from its values, once."""
    return await asyncio.to_thread(_preview, opened.library, table, rows)


def _preview(library: Library, wanted: str, rows: int) -> TablePreview:
    desk = library.desk()
    table = next((one for one in desk.tables() if wanted in {one.id, one.name}), None)
    if table is None:
        raise missing("table", wanted)
    profile = desk.profile(table.id)
    first: list[list[Scalar]] = []
    if rows and table.columns:
        names = tuple(column.name for column in table.columns)
        query = TableQuery(table=table.id, select=names, limit=rows, ties=False)
        first = [list(row) for row in desk.compute(query).rows[:rows]]
    plain = ("name", "type", "missing", "distinct", "warnings")
    columns = [
        ColumnForm(**{name: getattr(one, name) for name in plain}, about=_about(one))
        for one in profile.columns
    ]
    return TablePreview(
        **{name: getattr(table, name) for name in ("id", "name", "title")},
        document=_holders(library).get(table.name),
        total_rows=table.rows,
        columns=columns,
        rows=first,
        warnings=[*table.warnings, *profile.warnings],
    )


def _about(column: ColumnProfile) -> str:
    if column.type == "text" and column.top:
        return ", ".join(f"{_short(top.value)} ({top.count:,})" for top in column.top[:5])
    if column.minimum is None:
        return ""
    mean = f", mean {column.mean:.4g}" if column.mean is not None else ""
    return f"{_short(column.minimum)} to {_short(column.maximum)}{mean}"


def _short(value: object) -> str:
    return shorten(str(value), 60, placeholder="\N{HORIZONTAL ELLIPSIS}")
