"""Documents that are held already, given to further files or stored again under other labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secondlook.library.change import Change, NewDocument, commit
from secondlook.library.labels import all_labels
from secondlook.library.prepare import passage_ids

if TYPE_CHECKING:
    from secondlook.library.catalog import DocumentRow, FileRow
    from secondlook.library.change import Stores

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
