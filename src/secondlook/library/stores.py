"""How a library's parts are found, made, opened, and made anew."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import uuid
from dataclasses import replace
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from secondlook import files
from secondlook.errors import LibraryDamaged, LibraryError, LibraryFormat, LibraryMissing
from secondlook.library import integrity
from secondlook.library import manifest as manifests
from secondlook.library.catalog import RESTORE, Catalog, TextStore
from secondlook.library.commit import REBUILD, Stores, open_lance, prepare, version_of_parser
from secondlook.library.manifest import writing
from secondlook.library.publish import (
    PUBLISH_AGAIN,
    FetchedTexts,
    address_of,
    mirror,
    mirrored,
    names_bucket,
    storage_options,
)
from secondlook.library.report import Progress
from secondlook.library.tables import FOLDER as TABLES
from secondlook.library.tables import TableStore
from secondlook.library.uploads import FOLDER as UPLOADS
from secondlook.retrieval.chunk import CHUNKER_VERSION, ChunkOptions
from secondlook.retrieval.terms import ANALYSER_VERSION, language_name
from secondlook.settings import user_file
from secondlook.settings.addresses import hidden
from secondlook.tables.table import named_apart

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.library.commit import Prepared
    from secondlook.library.manifest import Manifest
    from secondlook.reading.port import Embedder, Reader
    from secondlook.retrieval.index.port import Index
    from secondlook.settings.sections import LibrarySettings, Settings
    from secondlook.tables.table import Table

log = logging.getLogger(__name__)
_path = attrgetter("path")
WAIT_FOR_WRITER = 60.0  # seconds a second writer waits before it gives up
_OURS = frozenset({"texts", TABLES, UPLOADS, manifests.LOCK_NAME, manifests.HOLDER_NAME})
_MILVUS = "milvus:"


def chosen_library(path: str | Path | None, settings: Settings | None) -> tuple[Settings, Path]:
    if settings is None:
        from secondlook.settings import load

        settings = load().settings
    if names_bucket(place := path if path is not None else settings.library.path):
        return settings, mirrored(place)
    return settings, Path(place).expanduser().absolute()


def open_current(folder: Path, manifest: Manifest, settings: Settings) -> tuple[Manifest, Stores]:
    """The stores in use, also when a rebuild switches while they are being opened."""
    try:
        stores = _open_stores(folder, manifest, settings.library)
        if not manifest.index.startswith(_MILVUS) and not names_bucket(manifest.index):
            integrity.compare_counts(stores)
    except LibraryError:
        newer = manifests.read(folder)
        if newer.generation == manifest.generation:
            raise
        return newer, _open_stores(folder, newer, settings.library)
    return manifest, stores


def create_library(folder: Path, settings: Settings) -> Manifest:
    """Refuses to move in where something else lives."""
    elsewhere = "choose another place with --library PATH"
    try:
        files.make_folder(folder)
        held = [item.name for item in folder.iterdir()]
    except OSError as error:
        raise LibraryError(
            f"no library can be made at {str(folder)!r}: {error.strerror}", hint=elsewhere
        ) from error
    begun = (f".{manifests.FILE_NAME}", manifests.FILE_NAME, ".DS_Store", "g1")
    if strangers := [name for name in held if name not in _OURS and not name.startswith(begun)]:
        raise LibraryError(
            f"{str(folder)!r} is not a library and not empty (it holds {min(strangers)!r})",
            hint=elsewhere,
        )
    with writing(folder, wait=WAIT_FOR_WRITER):
        try:
            return manifests.read(folder)  # another process was faster
        except LibraryMissing:
            embedder = load_embedder_for(settings)
            manifest = _fresh_manifest(settings, embedder)
            _open_stores(folder, manifest, settings.library, create=True).catalog.close()
            manifests.write(folder, manifest)
            return manifest


def close_to_others(folder: Path) -> None:
    """A library is its owner's alone, also one that an older version made."""
    with contextlib.suppress(OSError):
        if files.close_to_others(folder):
            log.warning("other accounts could read %s; it is yours alone from now on", folder)


def load_embedder_for(settings: Settings) -> Embedder:
    """The one that the settings name: never one that a library names."""
    from secondlook.reading import load_embedder

    chosen = settings.embedding
    return load_embedder(
        chosen.model,
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


def _open_stores(
    library: Path, manifest: Manifest, chosen: LibrarySettings, *, create: bool = False
) -> Stores:
    if names_bucket(manifest.index) and library != mirror(place := address_of(manifest)):
        raise LibraryFormat(
            f"the library at {str(library)!r} names another place for its passages, {place}",
            hint=f"if you trust it, open it there: --library {place}",
        )
    folder = manifests.generation_folder(library, manifest.generation)
    if create:
        folder.mkdir(parents=True, exist_ok=True)
    catalog = Catalog(folder / "catalog.db", create=create)
    try:
        index = _open_index(folder / "index", manifest, chosen, create=create)
    except BaseException:
        catalog.close()
        raise
    texts = TextStore(library / "texts")
    if names_bucket(manifest.index):
        texts = FetchedTexts(library / "texts", address_of(manifest))
    return Stores(catalog, texts, index, TableStore(library / TABLES))


def _fresh_manifest(settings: Settings, embedder: Embedder, *, generation: int = 1) -> Manifest:
    # Checked before anything is written: a library made with a wrong setting would stay wrong.
    language_name(settings.library.language)
    tokens = min(settings.chunking.tokens, embedder.max_tokens)
    chunking = ChunkOptions(tokens=tokens, overlap=min(settings.chunking.overlap, tokens // 2))
    in_milvus = settings.library.index != manifests.EMBEDDED
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
        index=f"{_MILVUS}secondlook_{uuid.uuid4().hex[:16]}" if in_milvus else manifests.EMBEDDED,
    )


def check_compatible(path: Path, manifest: Manifest, settings: Settings) -> None:
    """Queries must be analysed and embedded as the passages were. A library came from somewhere:
    which service is asked, or what is loaded, only the settings say."""
    library = f"the library at {str(path)!r}"
    held_in, wanted = (
        "Milvus" if name.startswith(_MILVUS) else "its folder"
        for name in (manifest.index, settings.library.index)
    )
    if not names_bucket(manifest.index) and held_in != wanted:
        raise LibraryFormat(
            f"the passages of {library} lie in {held_in}, and library.index names {wanted}",
            hint='set library.index ("embedded", or "milvus:http://HOST:PORT"); '
            "or secondlook rebuild moves them",
        )
    if manifest.analyser != str(ANALYSER_VERSION):
        raise LibraryFormat(
            f"{library} was made by another version of the text analysis",
            hint="secondlook rebuild makes it anew from its stored texts",
        )
    made, configured = hidden(manifest.embedder_spec), settings.embedding.model
    if made.split("@http")[0] != configured.split("@http")[0]:  # its address may be another now
        raise LibraryFormat(
            f"{library} was made with the embedder {made!r}, but {configured!r} is configured",
            hint="secondlook rebuild makes it anew with the configured one; or, if that service or "
            f"code may have your questions, add model = {json.dumps(made)} under [embedding] in "
            f"{user_file()}",
        )


def _open_index(
    folder: Path, manifest: Manifest, chosen: LibrarySettings, *, create: bool
) -> Index:
    dimensions = manifest.dimensions
    if names_bucket(manifest.index):
        options = storage_options()
        return open_lance(manifest.index, dimensions, PUBLISH_AGAIN, storage_options=options)
    if manifest.index == manifests.EMBEDDED:
        return open_lance(str(folder), dimensions, REBUILD, create=create)
    from secondlook.retrieval.index.milvus import MilvusIndex

    address, token = _server(chosen)
    name = _collections(manifest.index, manifest.generation)
    try:
        return MilvusIndex.open(address, name, dimensions=dimensions, token=token, create=create)
    except LibraryMissing as error:
        raise LibraryDamaged(
            f"{error.message}: it is another server, or the index was dropped there", hint=REBUILD
        ) from error


def _forget(index: str, generation: int, chosen: LibrarySettings) -> None:
    """Drop what an unused index holds outside of the library's folder, if its server answers."""
    if not index.startswith(_MILVUS) or not chosen.index.startswith(_MILVUS):
        return
    from secondlook.retrieval.index import milvus

    address, token = _server(chosen)
    with contextlib.suppress(LibraryError):
        milvus.drop(address, _collections(index, generation), token=token)


def _collections(index: str, generation: int) -> str:
    return f"{index.removeprefix(_MILVUS)}_g{generation}"


def _server(chosen: LibrarySettings) -> tuple[str, str | None]:
    return chosen.index.removeprefix(_MILVUS), os.environ.get("MILVUS_TOKEN")


# The tables of a library: each under a name of its own.


def tables_by_document(stores: Stores) -> dict[str, tuple[Table, ...]]:
    """By document, named in the order of paths, whatever part of the library is asked."""
    files = stores.catalog.files_of(stores.tables.holders())
    first = {file.document or "": file.path for file in sorted(files, key=_path, reverse=True)}
    held = [
        (document, table.model_copy(update={"path": path}))
        for document, path in sorted(first.items(), key=itemgetter(1))
        for table in stores.tables.held(document)[0]
    ]
    found: dict[str, tuple[Table, ...]] = {}
    named = named_apart([table for _, table in held])
    for (document, _), table in zip(held, named, strict=True):
        found[document] = (*found.get(document, ()), table)
    return found


def unusable(stores: Stores) -> list[tuple[str, str]]:
    problems = {name: stores.tables.held(name)[1] for name in stores.tables.holders()}
    kinds = {row.id: row.kind for row in stores.catalog.documents_by_id(problems)}
    files = stores.catalog.files_of([name for name, problem in problems.items() if problem])
    first = {file.document or "": file.path for file in sorted(files, key=_path, reverse=True)}
    return sorted(
        (path, problems[document] or "")
        for document, path in first.items()
        if kinds.get(document) not in {None, "json", "jsonl"}  # most JSON is no table to anybody
    )


# Making catalog and index anew from the stored texts, for another embedder or format.

_PASSAGES_AT_ONCE = 500


def rebuild(
    library: Path, settings: Settings, embedder: Embedder, *, progress: Callable[[Progress], None]
) -> Manifest:
    raw = manifests.read_raw(library)  # of any format
    old, old_index = raw.get("generation", 1), str(raw.get("index", manifests.EMBEDDED))
    if not isinstance(old, int):
        file = str(library / manifests.FILE_NAME)
        raise LibraryDamaged(f"{file!r} says generation={old!r}", hint=RESTORE)
    manifest = _fresh_manifest(settings, embedder, generation=old + 1)
    folder = manifests.generation_folder(library, manifest.generation)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        source = Catalog(manifests.generation_folder(library, old) / "catalog.db", create=False)
        with contextlib.closing(source):
            source.copy_to(folder / "catalog.db")
        stores = _open_stores(library, manifest, settings.library, create=True)
        with contextlib.closing(stores.catalog):
            rows = stores.catalog.documents()
            passages = 0
            batch: list[Prepared] = []
            for done, row in enumerate(rows, 1):
                made = prepare(
                    stores.texts.read(row),
                    sha256=row.sha256,
                    size=row.bytes,
                    parser=version_of_parser(row.parser),
                    manifest=manifest,
                    embedder=embedder,
                )
                kept = replace(made.row, title=row.title, labels=row.labels, added=row.added)
                batch.append(replace(made, row=kept))
                if sum(len(one.entries) for one in batch) < _PASSAGES_AT_ONCE and done < len(rows):
                    continue
                entries = [
                    replace(entry, labels=tuple(one.row.labels))
                    for one in batch
                    for entry in one.entries
                ]
                texts = [text for one in batch for text in one.to_embed]
                stores.index.add(entries, np.asarray(embedder.embed_passages(texts)))
                stores.catalog.put_documents(one.row for one in batch)
                passages += len(entries)
                progress(Progress("indexing", done, len(rows), passages))
                batch = []
            stores.index.compact()
        integrity.remember_index(folder)
        manifests.write(library, manifest)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        _forget(manifest.index, manifest.generation, settings.library)
        raise
    # Who still reads the old one follows to the new one at the first error.
    _forget(old_index, old, settings.library)
    return manifest
