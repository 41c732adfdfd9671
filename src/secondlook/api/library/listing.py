"""Documents and failed files as a client sees them."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from secondlook.api.library.forms import Document, TableOfDocument
from secondlook.api.library.opened import missing
from secondlook.library import FailedFile
from secondlook.library.survey import MEMBER_SEPARATOR
from secondlook.library.uploads import is_upload

if TYPE_CHECKING:
    from secondlook.library import DocumentInfo, Library
    from secondlook.tables.table import Table

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


def files_of(item: DocumentInfo) -> list[Path]:
    """Files that are the document itself, not an archive that holds it."""
    return [
        Path(path)
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
