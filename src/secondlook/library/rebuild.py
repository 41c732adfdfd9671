"""Making catalog and index anew from the stored texts, for another embedder or format.

The next generation is built beside the one in use and switched to in one step, so that searches
go on meanwhile and a kill leaves the old one in use.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from secondlook.library import indices
from secondlook.library import manifest as manifests
from secondlook.library.catalog import Catalog
from secondlook.library.prepare import prepare, version_of_parser
from secondlook.library.report import Progress
from secondlook.library.stores import fresh_manifest, open_stores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.library.catalog import DocumentRow
    from secondlook.library.change import Stores
    from secondlook.library.manifest import Manifest
    from secondlook.library.prepare import Prepared
    from secondlook.reading.port import Embedder
    from secondlook.settings import Settings

_PASSAGES_AT_ONCE = 500


def rebuild(
    library: Path,
    settings: Settings,
    embedder: Embedder,
    *,
    progress: Callable[[Progress], None],
) -> Manifest:
    old = manifests.generation_in_use(library)
    old_index = str(manifests.read_raw(library).get("index", manifests.EMBEDDED))
    manifest = fresh_manifest(settings, embedder, generation=old + 1)
    folder = manifests.generation_folder(library, manifest.generation)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        _copy_catalog(manifests.generation_folder(library, old), folder)
        stores = open_stores(library, manifest, settings.library, create=True)
        try:
            _fill(stores, manifest, embedder, progress)
            stores.index.compact()
        finally:
            stores.catalog.close()
        manifests.write(library, manifest)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        indices.forget(manifest.index, manifest.generation, settings.library)
        raise
    # Who still reads the old one follows to the new one at the first error.
    indices.forget(old_index, old, settings.library)
    return manifest


def _copy_catalog(old: Path, new: Path) -> None:
    source = Catalog(old / "catalog.db", create=False)
    try:
        source.copy_to(new / "catalog.db")
    finally:
        source.close()


def _fill(
    stores: Stores, manifest: Manifest, embedder: Embedder, progress: Callable[[Progress], None]
) -> None:
    rows = stores.catalog.documents()
    done = passages = 0
    for batch in _batches(stores, rows, manifest, embedder):
        entries = [
            replace(entry, labels=tuple(document.row.labels))
            for document in batch
            for entry in document.entries
        ]
        texts = [text for document in batch for text in document.to_embed]
        stores.index.add(entries, np.asarray(embedder.embed_passages(texts)))
        stores.catalog.put_documents(document.row for document in batch)
        done, passages = done + len(batch), passages + len(entries)
        progress(Progress("indexing", done, len(rows), passages))


def _batches(
    stores: Stores, rows: list[DocumentRow], manifest: Manifest, embedder: Embedder
) -> Iterator[list[Prepared]]:
    batch: list[Prepared] = []
    for row in rows:
        extracted = stores.texts.read(row.text_key)
        made = prepare(
            extracted,
            sha256=row.sha256,
            size=row.bytes,
            parser=version_of_parser(row.parser),
            manifest=manifest,
            embedder=embedder,
        )
        kept = replace(made.row, title=row.title, labels=row.labels, added=row.added)
        batch.append(replace(made, row=kept))
        if sum(len(document.entries) for document in batch) >= _PASSAGES_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch
