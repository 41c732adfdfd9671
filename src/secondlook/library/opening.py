"""How a library is found, made and opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import LibraryError, LibraryMissing
from secondlook.library import manifest as manifests
from secondlook.library.bucket import names_bucket
from secondlook.library.lock import writing
from secondlook.library.published import mirrored
from secondlook.library.stores import fresh_manifest, make_folder, open_stores

if TYPE_CHECKING:
    from secondlook.library.change import Stores
    from secondlook.library.manifest import Manifest
    from secondlook.reading.port import Embedder, Reader
    from secondlook.settings import Settings

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
        api_key=os.environ.get(chosen.api_key_env),
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
