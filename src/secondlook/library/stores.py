"""Where the parts of a library lie on disk, and how they are opened."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from secondlook.errors import LibraryDamaged, LibraryError, LibraryFormat, LibraryMissing
from secondlook.library import manifest as manifests
from secondlook.library.catalog import Catalog, TextStore
from secondlook.library.commit import (
    REBUILD,
    GuardedIndex,
    Stores,
    explained,
    prepare,
    version_of_parser,
)
from secondlook.library.manifest import writing
from secondlook.library.publish import (
    FetchedTexts,
    address_of,
    is_published,
    mirrored,
    names_bucket,
    open_published_index,
)
from secondlook.library.report import Progress
from secondlook.library.tables import FOLDER as TABLES
from secondlook.library.tables import TableStore
from secondlook.library.uploads import FOLDER as UPLOADS
from secondlook.retrieval.chunk import CHUNKER_VERSION, ChunkOptions
from secondlook.retrieval.terms import ANALYSER_VERSION, language_name
from secondlook.tables.table import named_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from secondlook.library.catalog import DocumentRow, FileRow
    from secondlook.library.commit import Prepared
    from secondlook.library.manifest import Manifest
    from secondlook.reading.port import Embedder, Reader
    from secondlook.retrieval.index.port import Filter, Index
    from secondlook.settings.sections import LibrarySettings, Settings
    from secondlook.tables.table import Table

# How a library is found, made and opened.

WAIT_FOR_WRITER = 60.0
"""Seconds a second writer waits before it is told who holds the lock."""


def chosen_library(path: str | Path | None, settings: Settings | None) -> tuple[Settings, Path]:
    """What was given, or what is configured."""
    if settings is None:
        from secondlook.settings import load

        settings = load().settings
    if names_bucket(place := path if path is not None else settings.library.path):
        return settings, mirrored(place)
    return settings, Path(place).expanduser().absolute()


def open_current(folder: Path, manifest: Manifest, settings: Settings) -> tuple[Manifest, Stores]:
    """The stores in use, also when a rebuild switches while they are being opened."""
    try:
        return manifest, open_stores(folder, manifest, settings.library)
    except LibraryError:
        newer = manifests.read(folder)
        if newer.generation == manifest.generation:
            raise
        return newer, open_stores(folder, newer, settings.library)


def create_library(folder: Path, settings: Settings) -> Manifest:
    make_folder(folder)
    with writing(folder, wait=WAIT_FOR_WRITER):
        try:
            return manifests.read(folder)  # another process was faster
        except LibraryMissing:
            manifest = fresh_manifest(
                settings, load_embedder_for(settings, settings.embedding.model)
            )
            open_stores(folder, manifest, settings.library, create=True).catalog.close()
            manifests.write(folder, manifest)
            return manifest


def load_embedder_for(settings: Settings, spec: str) -> Embedder:
    from secondlook.reading import load_embedder

    chosen = settings.embedding
    return load_embedder(
        spec,
        base_url=chosen.base_url,
        api_key=os.environ.get("OPENAI_API_KEY"),
        threads=chosen.threads or None,
    )


def load_reader_for(settings: Settings) -> Reader:
    from secondlook.reading import load_reader

    return load_reader(settings.reader.model, threads=settings.embedding.threads or None)


def manifest_time(path: Path) -> int:
    try:
        return (path / manifests.FILE_NAME).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def open_stores(
    library: Path, manifest: Manifest, chosen: LibrarySettings, *, create: bool = False
) -> Stores:
    folder = manifests.generation_folder(library, manifest.generation)
    if create:
        folder.mkdir(parents=True, exist_ok=True)
    catalog = Catalog(folder / "catalog.db", create=create)
    try:
        index = open_index(library, manifest, chosen, create=create)
    except BaseException:
        catalog.close()
        raise
    texts = library / "texts"
    held = FetchedTexts(texts, address_of(manifest)) if is_published(manifest) else TextStore(texts)
    return Stores(catalog, held, index, TableStore(library / TABLES))


def make_folder(library: Path) -> None:
    """An empty folder for a library; refuses to move in where something else lives."""
    try:
        library.mkdir(parents=True, exist_ok=True)
        strangers = [item.name for item in library.iterdir() if not _is_ours(item.name)]
    except OSError as error:
        raise LibraryError(
            f"no library can be made at {str(library)!r}: {error.strerror}",
            hint="choose another place with --library PATH",
        ) from error
    if strangers:
        raise LibraryError(
            f"{str(library)!r} is not a library and not empty (it holds {min(strangers)!r})",
            hint="choose another place with --library PATH",
        )


def fresh_manifest(settings: Settings, embedder: Embedder, *, generation: int = 1) -> Manifest:
    # Checked before anything is written: a library made with a wrong setting would stay wrong.
    language_name(settings.library.language)
    tokens = min(settings.chunking.tokens, embedder.max_tokens)
    chunking = ChunkOptions(tokens=tokens, overlap=min(settings.chunking.overlap, tokens // 2))
    return manifests.Manifest(
        embedder=embedder.name,
        embedder_spec=settings.embedding.model,
        dimensions=embedder.dimensions,
        language=settings.library.language,
        analyser=str(ANALYSER_VERSION),
        chunker=str(CHUNKER_VERSION),
        chunk_tokens=chunking.tokens,
        chunk_overlap=chunking.overlap,
        generation=generation,
        created=manifests.now(),
        index=fresh(settings.library),
    )


def check_compatible(library: Path, manifest: Manifest, settings: Settings) -> None:
    """Queries must be analysed and embedded as the passages were. The default embedder gives way
    to the library's own; another one that was configured on purpose is refused."""
    configured = settings.embedding.model
    check(library, manifest, settings.library)
    if manifest.analyser != str(ANALYSER_VERSION):
        raise LibraryFormat(
            f"the library at {str(library)!r} was made by another version of the text analysis",
            hint="secondlook rebuild makes it anew from its stored texts",
        )
    if configured not in {manifest.embedder_spec, "embedded"}:
        raise LibraryFormat(
            f"the library at {str(library)!r} was made with the embedder "
            f"{manifest.embedder_spec!r}, but {configured!r} is configured",
            hint="secondlook rebuild makes it anew with the configured one; "
            "or use another library with --library PATH",
        )


def check_embedder(library: Path, manifest: Manifest, embedder: Embedder) -> None:
    if embedder.name != manifest.embedder:
        raise LibraryFormat(
            f"the library at {str(library)!r} was made with the embedder {manifest.embedder!r}, "
            f"and {embedder.name!r} is what is installed now: their vectors do not mix",
            hint="secondlook rebuild makes it anew from its stored texts",
        )


def _is_ours(name: str) -> bool:
    return name in {
        "texts",
        TABLES,
        UPLOADS,
        "write.lock",
        "writer.json",
        ".DS_Store",
    } or name.startswith((f".{manifests.FILE_NAME}", "g1"))


# Where a library's passages lie: in its own folder, or in collections of a Milvus server.

_MILVUS = "milvus:"


def fresh(chosen: LibrarySettings) -> str:
    """What the manifest of a new library says of its index."""
    if chosen.index == manifests.EMBEDDED:
        return manifests.EMBEDDED
    return f"{_MILVUS}secondlook_{uuid.uuid4().hex[:16]}"


def check(library: Path, manifest: Manifest, chosen: LibrarySettings) -> None:
    """A library is searched where its passages are, not where the settings would put new ones."""
    if is_published(manifest):
        return
    in_folder = manifest.index == manifests.EMBEDDED
    if in_folder == (chosen.index == manifests.EMBEDDED):
        return
    if in_folder:
        raise LibraryFormat(
            f"the passages of the library at {str(library)!r} lie in its folder, "
            "but library.index names Milvus",
            hint="secondlook rebuild moves them there; or leave out library.index",
        )
    raise LibraryFormat(
        f"the passages of the library at {str(library)!r} lie in Milvus, "
        "and library.index does not say at which address",
        hint='set library.index = "milvus:http://HOST:PORT"; '
        "or secondlook rebuild moves them into the folder",
    )


def open_index(
    library: Path, manifest: Manifest, chosen: LibrarySettings, *, create: bool = False
) -> Index:
    if manifest.index == manifests.EMBEDDED:
        folder = manifests.generation_folder(library, manifest.generation) / "index"
        return _embedded(folder, manifest, create=create)
    if is_published(manifest):
        return open_published_index(manifest)
    return _in_milvus(manifest, chosen, create=create)


def forget(index: str, generation: int, chosen: LibrarySettings) -> None:
    """Drop what an index that is no longer used holds outside of the library's folder, as far as
    its server answers."""
    if not index.startswith(_MILVUS) or not chosen.index.startswith(_MILVUS):
        return
    from secondlook.retrieval.index import milvus

    with contextlib.suppress(LibraryError):
        milvus.drop(_address(chosen), _name(index, generation), token=_token())


def _embedded(folder: Path, manifest: Manifest, *, create: bool) -> Index:
    from secondlook.retrieval.index.lance import LanceIndex

    try:
        with explained(folder):
            index = LanceIndex.open(folder, dimensions=manifest.dimensions, create=create)
    except LibraryMissing as error:
        raise LibraryDamaged(f"the index {str(folder)!r} is missing", hint=REBUILD) from error
    return GuardedIndex(index, folder)


def _in_milvus(manifest: Manifest, chosen: LibrarySettings, *, create: bool) -> Index:
    from secondlook.retrieval.index.milvus import MilvusIndex

    name = _name(manifest.index, manifest.generation)
    try:
        return MilvusIndex.open(
            _address(chosen),
            name,
            dimensions=manifest.dimensions,
            token=_token(),
            create=create,
        )
    except LibraryMissing as error:
        raise LibraryDamaged(
            f"{error.message}: it is another server, or the index was dropped there", hint=REBUILD
        ) from error


def _name(index: str, generation: int) -> str:
    return f"{index.removeprefix(_MILVUS)}_g{generation}"


def _address(chosen: LibrarySettings) -> str:
    return chosen.index.removeprefix(_MILVUS)


def _token() -> str | None:
    return os.environ.get("MILVUS_TOKEN")


# The tables of a library as they are asked: each under a name of its own.


def tables_by_document(stores: Stores) -> dict[str, tuple[Table, ...]]:
    """Every table, by the document that holds it.

    Names are given in the order of paths, whoever asks: what a table is called does not depend on
    which part of the library a question is about.
    """
    files = _first_files(stores.catalog.files_of(stores.tables.holders()))
    held = {
        document: tuple(
            table.model_copy(update={"path": file.path}) for table in stores.tables.tables(document)
        )
        for document, file in sorted(files.items(), key=lambda item: item[1].path)
    }
    named = iter(named_apart([table for tables in held.values() for table in tables]))
    return {
        document: tuple(next(named) for _ in tables) for document, tables in held.items() if tables
    }


def tables_within(stores: Stores, where: Filter) -> list[Table]:
    """Those of the documents in scope."""
    held = tables_by_document(stores)
    rows = {row.id: row for row in stores.catalog.documents_by_id(held)}
    return [
        table
        for document, tables in held.items()
        if document in rows and _in_scope(rows[document], where)
        for table in tables
    ]


def unusable(stores: Stores) -> list[tuple[str, str]]:
    """Paths of what looks like a table and cannot be used as one, with the reason."""
    problems = {
        document: problem
        for document in stores.tables.holders()
        if (problem := stores.tables.problem(document))
    }
    kinds = {row.id: row.kind for row in stores.catalog.documents_by_id(problems)}
    files = _first_files(stores.catalog.files_of(problems))
    return sorted(
        (file.path, problems[document])
        for document, file in files.items()
        if kinds.get(document) not in {None, "json", "jsonl"}  # most JSON is no table to anybody
    )


def _first_files(files: Iterable[FileRow]) -> dict[str, FileRow]:
    found: dict[str, FileRow] = {}
    for file in sorted(files, key=lambda item: item.path):
        found.setdefault(file.document or "", file)
    return found


def _in_scope(row: DocumentRow, where: Filter) -> bool:
    if where.documents is not None and row.id not in where.documents:
        return False
    return where.labels <= set(row.labels)


# Making catalog and index anew from the stored texts, for another embedder or format.

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
        forget(manifest.index, manifest.generation, settings.library)
        raise
    # Who still reads the old one follows to the new one at the first error.
    forget(old_index, old, settings.library)
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
