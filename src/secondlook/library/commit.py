"""How a change reaches catalog, texts and index so that a kill at any moment loses nothing.

Three stores cannot commit together, so each change goes: texts written, intent journalled in the
catalog, one index commit, catalog rows applied, old texts deleted, intent cleared. Every stored
entry carries the mark of its change; after a crash the mark tells whether the index commit
happened, and the intent is applied or forgotten accordingly.
"""

from __future__ import annotations

import re
import uuid
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.errors import LibraryDamaged, LibraryError
from secondlook.library.catalog import (
    MAKE_ROOM,
    Catalog,
    DocumentRow,
    FileRow,
    TextKey,
    TextStore,
    all_labels,
    document_labels,
    storable,
)
from secondlook.library.manifest import now
from secondlook.retrieval.chunk import ChunkOptions, chunk, with_context
from secondlook.retrieval.index.port import EVERYTHING, Entry, Filter, Index, IndexStats, Scored
from secondlook.retrieval.terms import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from secondlook.document import Extracted
    from secondlook.library.manifest import Manifest
    from secondlook.library.tables import TableStore
    from secondlook.passage import Span
    from secondlook.reading.port import Embedder
    from secondlook.retrieval.index.port import Vectors as port_Vectors

if TYPE_CHECKING:
    Vectors = NDArray[np.float32]

_MARK = "@change"


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document ready to be stored; `extracted` is None when its text is held already."""

    row: DocumentRow
    """Its labels may be those of the document alone; the commit adds those of its files."""
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
    intent = uuid.uuid4().hex
    change = _labelled(stores.catalog, change)
    dropped = _documents_dropped(stores.catalog, change)
    for document in change.documents:
        if document.extracted is not None:
            stores.texts.write(document.row.text_key, document.extracted)
    stores.catalog.write_journal(intent, _written(stores.catalog, change, dropped))
    _commit_index(stores.index, change, dropped, mark=f"{_MARK}={intent}")
    _finish(stores, intent, stores.catalog.journal()[intent])


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
        stores.texts.sweep(stores.catalog.text_keys())
        stores.tables.sweep(stores.catalog.ids())


def _labelled(catalog: Catalog, change: Change) -> Change:
    touched = {file.path for file in change.files} | set(change.gone_files)
    holders: dict[str | None, list[FileRow]] = defaultdict(list)
    for file in catalog.files_of([document.row.id for document in change.documents]):
        if file.path not in touched:
            holders[file.document].append(file)
    for file in change.files:
        holders[file.document].append(file)
    documents = []
    for document in change.documents:
        labels = all_labels(document.row.labels, holders[document.row.id])
        entries = [replace(entry, labels=tuple(labels)) for entry in document.entries]
        row = replace(document.row, labels=labels)
        documents.append(replace(document, row=row, entries=entries))
    return replace(change, documents=documents)


def _documents_dropped(catalog: Catalog, change: Change) -> list[str]:
    """Documents whose last file this change takes away."""
    touched = {file.path for file in change.files} | set(change.gone_files)
    before = {row.document for path in touched if (row := catalog.file(path)) and row.document}
    held = {file.document for file in change.files}
    kept_elsewhere = {
        file.document for file in catalog.files_of(before) if file.path not in touched
    }
    return sorted(document for document in before - held - kept_elsewhere if document)


def _written(catalog: Catalog, change: Change, dropped: list[str]) -> dict[str, Any]:
    replaced = catalog.documents_by_id([*dropped, *(doc.row.id for doc in change.documents)])
    kept = {document.row.text_key for document in change.documents}
    return {
        "documents": [asdict(document.row) for document in change.documents],
        "files": [asdict(file) for file in change.files],
        "gone_files": change.gone_files,
        "dropped": dropped,
        "old_texts": [asdict(row.text_key) for row in replaced if row.text_key not in kept],
    }


def _commit_index(index: Index, change: Change, dropped: list[str], *, mark: str) -> None:
    import numpy as np

    if change.documents:
        entries = [
            replace(entry, labels=(*entry.labels, mark))
            for document in change.documents
            for entry in document.entries
        ]
        vectors = np.concatenate([document.vectors for document in change.documents])
        index.add(entries, vectors, replacing=dropped)
    elif dropped:
        index.delete(dropped)


def _landed(index: Index, documents: list[str], *, mark: str) -> bool:
    where = Filter(documents=frozenset(documents), labels=frozenset({mark}))
    some_id = f"{documents[0]}.0"
    vector = index.vectors([some_id]).get(some_id)
    return vector is not None and bool(index.dense(vector, 1, where, exact=True))


def _finish(stores: Stores, intent: str, written: dict[str, Any]) -> None:
    """Apply what the index already shows. Doing it twice does no harm."""
    catalog = stores.catalog
    with catalog.transaction():
        catalog.drop_documents(written["dropped"])
        catalog.drop_files(written["gone_files"])
        catalog.put_documents(DocumentRow(**row) for row in written["documents"])
        catalog.put_files(FileRow(**row) for row in written["files"])
    for key in written["old_texts"]:
        stores.texts.delete(TextKey(**key))
    for document in written["dropped"]:
        stores.tables.delete(document)
    catalog.clear_journal(intent)


# The index with its engine's errors told as the library's own, with what to do about them.

REBUILD = "secondlook rebuild makes it anew from the stored texts"
_FROM_THE_SYSTEM = re.compile(r"\(os error \d+\)")
_WHERE_IN_THE_ENGINE = re.compile(r",? ?/[^\s,]*\.rs:\d+.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class GuardedIndex:
    """Implements the `Index` port on top of another one that lies in `folder`."""

    inner: Index
    folder: Path

    def add(
        self, entries: Sequence[Entry], vectors: port_Vectors, *, replacing: Collection[str] = ()
    ) -> None:
        with explained(self.folder):
            self.inner.add(entries, vectors, replacing=replacing)

    def delete(self, documents: Collection[str]) -> None:
        with explained(self.folder):
            self.inner.delete(documents)

    def dense(
        self, vector: port_Vectors, k: int, where: Filter = EVERYTHING, *, exact: bool = False
    ) -> list[Scored]:
        with explained(self.folder):
            return self.inner.dense(vector, k, where, exact=exact)

    def lexical(self, terms: Sequence[str], k: int, where: Filter = EVERYTHING) -> list[Scored]:
        with explained(self.folder):
            return self.inner.lexical(terms, k, where)

    def fetch(self, ids: Sequence[str]) -> list[Entry]:
        with explained(self.folder):
            return self.inner.fetch(ids)

    def vectors(self, ids: Sequence[str]) -> dict[str, port_Vectors]:
        with explained(self.folder):
            return self.inner.vectors(ids)

    def documents(self) -> dict[str, int]:
        with explained(self.folder):
            return self.inner.documents()

    def stats(self) -> IndexStats:
        with explained(self.folder):
            return self.inner.stats()

    def compact(self, *, purge: bool = False) -> None:
        with explained(self.folder):
            self.inner.compact(purge=purge)


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """What the system refused (room, rights) is no damage; what cannot be made sense of is."""
    import pyarrow as pa

    try:
        yield
    except (OSError, RuntimeError, ValueError, pa.ArrowException) as error:
        said = _WHERE_IN_THE_ENGINE.sub("", " ".join(str(error).split()))
        if _FROM_THE_SYSTEM.search(said):
            raise LibraryError(
                f"the index {str(folder)!r} cannot be used: {said}", hint=MAKE_ROOM
            ) from error
        raise LibraryDamaged(
            f"the index {str(folder)!r} cannot be read: {said}", hint=REBUILD
        ) from error


# From extracted text to entries: chunk, analyse, and say what is to be embedded.

ID_LENGTH = 16
_CARD = "-card"
"""Ends the version under which a card is stored: the same parser made a text of the table once."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document with its entries, and the text to embed for each of them."""

    row: DocumentRow
    extracted: Extracted
    entries: list[Entry]
    to_embed: list[str]


def document_id(sha256: str) -> str:
    return sha256[:ID_LENGTH]


def passage_ids(row: DocumentRow) -> list[str]:
    return [f"{row.id}.{ordinal}" for ordinal in range(row.passages)]


def is_made_by(version: str, parser: str) -> bool:
    """Whether what is stored under this version is what the parser would make now."""
    return version_of_parser(version) == parser


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
) -> Prepared:
    extracted = _storable(extracted)
    options = ChunkOptions(tokens=manifest.chunk_tokens, overlap=manifest.chunk_overlap)
    spans = chunk(extracted, embedder.token_starts, options)
    title = extracted.title or ""
    document = document_id(sha256)
    to_embed = [
        with_context(title, span.heading, extracted.text[span.start : span.end]) for span in spans
    ]
    entries = [
        _entry(document, ordinal, span, extracted.text, terms(whole, manifest.language))
        for ordinal, (span, whole) in enumerate(zip(spans, to_embed, strict=True))
    ]
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


def _storable(extracted: Extracted) -> Extracted:
    return replace(
        extracted,
        text=storable(extracted.text),
        title=storable(extracted.title) if extracted.title else extracted.title,
        author=storable(extracted.author) if extracted.author else extracted.author,
        notes=tuple(map(storable, extracted.notes)),
    )


def _entry(document: str, ordinal: int, span: Span, text: str, analysed: tuple[str, ...]) -> Entry:
    return Entry(
        id=f"{document}.{ordinal}",
        document=document,
        text=text[span.start : span.end],
        terms=analysed,
        start=span.start,
        end=span.end,
        page=span.page,
        heading=span.heading,
    )


# Documents that are held already, given to further files or stored again under other labels.

_ATTACHED_PASSAGES = 2000
_ATTACHED_FILES = 2000


def held_document(stores: Stores, row: DocumentRow) -> NewDocument:
    """A document as the index holds it, to be stored again under other labels."""
    entries = stores.index.fetch(passage_ids(row))
    vectors = stores.index.vectors([entry.id for entry in entries])
    stacked = np.stack([vectors[entry.id] for entry in entries])
    return NewDocument(row, None, entries, stacked)


def attach(stores: Stores, files: list[FileRow], gone: list[str]) -> None:
    """Give documents that are held already to further files, and take gone files away.

    A document's new files and gone files go in one commit: between two it would be nobody's.
    """
    rows = {path: row for path in gone if (row := stores.catalog.file(path))}
    by_document: dict[str, Change] = {}
    for file in files:
        by_document.setdefault(file.document or "", Change()).files.append(file)
    for path, row in rows.items():
        by_document.setdefault(row.document or "", Change()).gone_files.append(path)
    batch = Change()
    for identifier, part in by_document.items():
        document = stores.catalog.document(identifier)
        if document and part.files and _labels_after(stores, document, part) != document.labels:
            batch.documents.append(held_document(stores, document))
        batch.files.extend(part.files)
        batch.gone_files.extend(part.gone_files)
        if batch.passages >= _ATTACHED_PASSAGES or len(batch.files) >= _ATTACHED_FILES:
            commit(stores, batch)
            batch = Change()
    if batch.files or batch.gone_files:
        commit(stores, batch)


def _labels_after(stores: Stores, document: DocumentRow, part: Change) -> list[str]:
    touched = {*part.gone_files, *(file.path for file in part.files)}
    others = [file for file in stores.catalog.files_of([document.id]) if file.path not in touched]
    return all_labels(document.labels, [*others, *part.files])
