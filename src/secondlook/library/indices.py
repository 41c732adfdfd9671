"""Where a library's passages lie: in its own folder, or in collections of a Milvus server."""

from __future__ import annotations

import contextlib
import os
import uuid
from typing import TYPE_CHECKING

from secondlook.errors import LibraryDamaged, LibraryError, LibraryFormat, LibraryMissing
from secondlook.library import manifest as manifests
from secondlook.library.guarded import REBUILD, GuardedIndex, explained
from secondlook.library.published import is_published, open_published_index

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.library.manifest import Manifest
    from secondlook.retrieval.index.port import Index
    from secondlook.settings import LibrarySettings

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
        milvus.drop(_address(chosen), _name(index, generation), token=_token(chosen))


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
            token=_token(chosen),
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


def _token(chosen: LibrarySettings) -> str | None:
    return os.environ.get(chosen.index_token_env)
