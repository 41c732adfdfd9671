"""How a change reaches catalog, texts and index so that a kill at any moment loses nothing: texts
written, intent journalled, one index commit, catalog rows applied, old texts deleted, intent
cleared. Every stored entry carries the mark of its change, which tells after a crash whether the
index commit happened."""

from __future__ import annotations

import re
import uuid
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from secondlook.errors import LibraryDamaged, LibraryError, LibraryMissing
from secondlook.library.catalog import (
    MAKE_ROOM,
    Catalog,
    DocumentRow,
    FileRow,
    TextStore,
    all_labels,
    document_labels,
    storable,
)
from secondlook.library.manifest import now
from secondlook.retrieval.chunk import ChunkOptions, chunk, with_context
from secondlook.retrieval.index.port import Entry, Filter, Index
from secondlook.retrieval.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.document import Extracted
    from secondlook.library.manifest import Manifest
    from secondlook.library.tables import TableStore
    from secondlook.reading.port import Embedder
    from secondlook.retrieval.index.port import Vectors

_MARK = "@change"


@dataclass(frozen=True, slots=True)
class NewDocument:
    row: DocumentRow  # the commit adds the labels of its files
    extracted: Extracted | None
    entries: list[Entry]
    vectors: Vectors


@dataclass(slots=True)
class Change:
    """What one commit does. Documents that no file holds afterwards are dropped by it."""

    documents: list[NewDocument] = field(default_factory=list)
    files: list[FileRow] = field(default_factory=list)
    gone_files: list[str] = field(default_factory=list)

    @property
    def passages(self) -> int:
        return sum(len(document.entries) for document in self.documents)


@dataclass(frozen=True, slots=True)
class Stores:
    catalog: Catalog
    texts: TextStore
    index: Index
    tables: TableStore


def commit(stores: Stores, change: Change) -> None:
    catalog, intent = stores.catalog, uuid.uuid4().hex
    touched = {file.path for file in change.files} | set(change.gone_files)
    documents = [_labelled(catalog, document, change, touched) for document in change.documents]
    before = {row.document for path in touched if (row := catalog.file(path)) and row.document}
    held = {file.document for file in change.files}
    elsewhere = {file.document for file in catalog.files_of(before) if file.path not in touched}
    dropped = sorted(before - held - elsewhere)
    for document in documents:
        if document.extracted is not None:
            stores.texts.write(document.row, document.extracted)
    replaced = catalog.documents_by_id([*dropped, *(document.row.id for document in documents)])
    kept = {(document.row.sha256, document.row.parser) for document in documents}
    old = [row for row in replaced if (row.sha256, row.parser) not in kept]
    written: dict[str, Any] = {
        "documents": [asdict(document.row) for document in documents],
        "files": [asdict(file) for file in change.files],
        "gone_files": change.gone_files,
        "dropped": dropped,
        "old_texts": [{"sha256": row.sha256, "parser": row.parser} for row in old],
    }
    catalog.write_journal(intent, written)
    if documents:
        entries = [
            replace(entry, labels=(*entry.labels, f"{_MARK}={intent}"))
            for document in documents
            for entry in document.entries
        ]
        vectors = np.concatenate([document.vectors for document in documents])
        stores.index.add(entries, vectors, replacing=dropped)
    elif dropped:
        stores.index.delete(dropped)
    _finish(stores, intent, written)


def recover(stores: Stores) -> None:
    """Bring a library to a consistent state after its writer died. Costs nothing otherwise."""
    journal = stores.catalog.journal()
    for intent, written in journal.items():
        added = [row["id"] for row in written["documents"]]
        if not added:
            stores.index.delete(written["dropped"])
        elif not _landed(stores.index, added, mark=f"{_MARK}={intent}"):
            stores.catalog.clear_journal(intent)
            continue
        _finish(stores, intent, written)
    if journal:
        stores.texts.sweep(stores.catalog.documents())
        stores.tables.sweep(stores.catalog.ids())


def _labelled(
    catalog: Catalog, document: NewDocument, change: Change, touched: set[str]
) -> NewDocument:
    name = document.row.id
    files = [file for file in catalog.files_of([name]) if file.path not in touched]
    files += [file for file in change.files if file.document == name]
    labels = all_labels(document.row.labels, files)
    entries = [replace(entry, labels=tuple(labels)) for entry in document.entries]
    return replace(document, row=replace(document.row, labels=labels), entries=entries)


def _landed(index: Index, documents: list[str], *, mark: str) -> bool:
    where = Filter(documents=frozenset(documents), labels=frozenset({mark}))
    some_id = f"{documents[0]}.0"
    vector = index.vectors([some_id]).get(some_id)
    return vector is not None and bool(index.dense(vector, 1, where, exact=True))


def _finish(stores: Stores, intent: str, written: dict[str, Any]) -> None:
    catalog = stores.catalog
    with catalog.transaction():
        catalog.drop_documents(written["dropped"])
        catalog.drop_files(written["gone_files"])
        catalog.put_documents(DocumentRow(**row) for row in written["documents"])
        catalog.put_files(FileRow(**row) for row in written["files"])
    for key in written["old_texts"]:
        stores.texts.delete(**key)
    for document in written["dropped"]:
        stores.tables.delete(document)
    catalog.clear_journal(intent)


# The index with its engine's errors told as the library's own, with what to do about them.

REBUILD = "secondlook rebuild makes it anew from the stored texts"
_FROM_THE_SYSTEM = re.compile(r"\(os error \d+\)")
_WHERE_IN_THE_ENGINE = re.compile(r",? ?/[^\s,]*\.rs:\d+.*", re.DOTALL)


def open_lance(place: str, dimensions: int, remedy: str, **options: Any) -> Index:
    from secondlook.retrieval.index.lance import LanceIndex

    try:
        with explained(place):
            index = LanceIndex.open(place, dimensions=dimensions, **options)
    except LibraryMissing as error:
        raise LibraryDamaged(f"the index {place!r} is missing", hint=remedy) from error
    names = [name for name in vars(Index) if not name.startswith("_")]
    return cast(
        "Index", SimpleNamespace(**{name: explained(place)(getattr(index, name)) for name in names})
    )


@contextmanager
def explained(place: str) -> Iterator[None]:
    """What the system refused (room, rights) is no damage; what cannot be made sense of is."""
    import pyarrow as pa

    try:
        yield
    except BaseException as error:
        # The engine panics over bytes that it cannot make sense of, past every Exception.
        known = (OSError, RuntimeError, ValueError, LookupError, pa.ArrowException)
        if not isinstance(error, known) and type(error).__name__ != "PanicException":
            raise
        said = _WHERE_IN_THE_ENGINE.sub("", " ".join(str(error).split()))
        index = f"the index {place!r}"
        if _FROM_THE_SYSTEM.search(said):
            raise LibraryError(f"{index} cannot be used: {said}", hint=MAKE_ROOM) from error
        raise LibraryDamaged(f"{index} cannot be read: {said}", hint=REBUILD) from error


# From extracted text to entries: chunk, analyse, and say what is to be embedded.

_CARD = "-card"  # ends the version under which a card is stored


@dataclass(frozen=True, slots=True)
class Prepared:
    row: DocumentRow
    extracted: Extracted
    entries: list[Entry]
    to_embed: list[str]


def document_id(sha256: str) -> str:
    return sha256[:16]


def version_of_parser(version: str) -> str:
    return version.removesuffix(_CARD)


def prepare(
    extracted: Extracted,
    *,
    sha256: str,
    size: int,
    parser: str,
    manifest: Manifest,
    embedder: Embedder,
    go_on: Callable[[], None] = lambda: None,
) -> Prepared:
    """`go_on` is called all along, and may raise: a long text takes its time."""

    def starts(part: str) -> list[int]:
        go_on()
        return embedder.token_starts(part)

    title, author = (storable(said or "") for said in (extracted.title, extracted.author))
    extracted = replace(
        extracted,
        text=storable(extracted.text),
        title=title or extracted.title,
        author=author or extracted.author,
        notes=tuple(map(storable, extracted.notes)),
    )
    document = document_id(sha256)
    options = ChunkOptions(tokens=manifest.chunk_tokens, overlap=manifest.chunk_overlap)
    entries, to_embed = [], []
    known: dict[str, str] = {}
    for ordinal, span in enumerate(chunk(extracted, starts, options)):
        go_on()
        text = extracted.text[span.start : span.end]
        whole = with_context(title, span.heading, text)
        to_embed.append(whole)
        # Most words occur in many passages: each is kept once.
        words = tuple(known.setdefault(one, one) for one in terms(whole, manifest.language))
        place = (span.start, span.end, span.page, span.heading)
        entries.append(Entry(f"{document}.{ordinal}", document, text, words, *place))
    row = DocumentRow(
        id=document,
        sha256=sha256,
        bytes=size,
        parser=f"{parser}{_CARD}" if extracted.card else parser,
        title=title,
        author=extracted.author,
        date=extracted.date,
        language=extracted.language,
        kind=extracted.kind,
        pages=len(extracted.pages),
        passages=len(entries),
        characters=len(extracted.text),
        notes=list(extracted.notes),
        labels=document_labels(extracted),
        added=now(),
    )
    return Prepared(row, extracted, entries, to_embed)


# Documents that are held already, given to further files or stored again under other labels.

_ATTACHED_PASSAGES = 2000
_ATTACHED_FILES = 2000


def held_document(stores: Stores, row: DocumentRow) -> NewDocument:
    entries = stores.index.fetch([f"{row.id}.{ordinal}" for ordinal in range(row.passages)])
    vectors = stores.index.vectors([entry.id for entry in entries])
    return NewDocument(row, None, entries, np.stack([vectors[entry.id] for entry in entries]))


def attach(stores: Stores, files: list[FileRow], gone: list[str]) -> None:
    """Give documents that are held already to further files, and take gone files away. A document's
    new files and gone files go in one commit: between two it would be nobody's."""
    by_document: dict[str, Change] = {}
    for file in files:
        by_document.setdefault(file.document or "", Change()).files.append(file)
    for path in gone:
        if row := stores.catalog.file(path):
            by_document.setdefault(row.document or "", Change()).gone_files.append(path)
    batch = Change()
    for identifier, part in by_document.items():
        document = stores.catalog.document(identifier)
        if document and part.files:
            held = NewDocument(document, None, [], np.empty((0, 0), np.float32))
            touched = {*part.gone_files, *(file.path for file in part.files)}
            if _labelled(stores.catalog, held, part, touched).row.labels != document.labels:
                batch.documents.append(held_document(stores, document))
        batch.files.extend(part.files)
        batch.gone_files.extend(part.gone_files)
        if batch.passages >= _ATTACHED_PASSAGES or len(batch.files) >= _ATTACHED_FILES:
            commit(stores, batch)
            batch = Change()
    if batch.files or batch.gone_files:
        commit(stores, batch)
