"""Where the parts of a library lie on disk, and how they are opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.errors import LibraryError, LibraryFormat
from secondlook.library import indices
from secondlook.library import manifest as manifests
from secondlook.library.catalog import Catalog
from secondlook.library.change import Stores
from secondlook.library.published import FetchedTexts, address_of, is_published
from secondlook.library.tables import FOLDER as TABLES
from secondlook.library.tables import TableStore
from secondlook.library.texts import TextStore
from secondlook.library.uploads import FOLDER as UPLOADS
from secondlook.retrieval.analyse import ANALYSER_VERSION, language_name
from secondlook.retrieval.chunk import CHUNKER_VERSION, ChunkOptions

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.library.manifest import Manifest
    from secondlook.reading.port import Embedder
    from secondlook.settings import LibrarySettings, Settings


def open_stores(
    library: Path, manifest: Manifest, chosen: LibrarySettings, *, create: bool = False
) -> Stores:
    folder = manifests.generation_folder(library, manifest.generation)
    if create:
        folder.mkdir(parents=True, exist_ok=True)
    catalog = Catalog(folder / "catalog.db", create=create)
    try:
        index = indices.open_index(library, manifest, chosen, create=create)
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
        index=indices.fresh(settings.library),
    )


def check_compatible(library: Path, manifest: Manifest, settings: Settings) -> None:
    """Queries must be analysed and embedded as the passages were. The default embedder gives way
    to the library's own; another one that was configured on purpose is refused."""
    configured = settings.embedding.model
    indices.check(library, manifest, settings.library)
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
