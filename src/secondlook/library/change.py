"""How a change reaches catalog, texts and index so that a kill at any moment loses nothing.

Three stores cannot commit together, so each change goes: texts written, intent journalled in the
catalog, one index commit, catalog rows applied, old texts deleted, intent cleared. Every stored
entry carries the mark of its change; after a crash the mark tells whether the index commit
happened, and the intent is applied or forgotten accordingly.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from secondlook.library.catalog import Catalog, DocumentRow, FileRow
from secondlook.library.labels import all_labels
from secondlook.library.texts import TextKey, TextStore
from secondlook.retrieval.index.port import Entry, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from secondlook.document import Extracted
    from secondlook.library.tables import TableStore
    from secondlook.retrieval.index.port import Index

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
