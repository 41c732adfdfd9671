"""Reading a library that was published to object storage, from any machine.

Its small parts (catalog, tables, calibration) are copied into a folder of the cache that looks like
a library; texts follow when they are asked for; the index is searched where it lies.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from secondlook.errors import (
    LibraryBusy,
    LibraryDamaged,
    LibraryError,
    LibraryMissing,
    LibraryReadOnly,
)
from secondlook.library import manifest as manifests
from secondlook.library.bucket import Bucket, names_bucket, storage_options
from secondlook.library.guarded import GuardedIndex, explained
from secondlook.library.publishing import PUBLISHED, catalog_name, read_published
from secondlook.library.tables import FOLDER as TABLES
from secondlook.library.texts import TextKey, TextStore
from secondlook.reading.calibration import CALIBRATION_FILE
from secondlook.settings.places import place_of

if TYPE_CHECKING:
    from secondlook.document import Extracted
    from secondlook.library.manifest import Manifest
    from secondlook.retrieval.index.port import Index

_CACHE = "SECONDLOOK_CACHE"
_ATTEMPTS = 5
PUBLISH_AGAIN = "publish it again: secondlook publish"


def is_published(manifest: Manifest) -> bool:
    """Whether it is a copy that can only be read."""
    return names_bucket(manifest.index)


def refuse_change(manifest: Manifest) -> None:
    if is_published(manifest):
        raise _read_only(address_of(manifest))


def refuse_change_at(path: Path) -> None:
    """The same, before anything is opened there."""
    if names_bucket(path):
        raise _read_only(place_of(path))


def _read_only(address: str) -> LibraryReadOnly:
    return LibraryReadOnly(
        f"the library at {address} is a published copy: it can be read, not changed",
        hint="change the library that it was published from, then secondlook publish",
    )


def refuse_change_in(folder: Path) -> None:
    """The same, where nothing else of the library is needed."""
    try:
        manifest = manifests.read(folder)
    except LibraryError:  # missing, or of another format: whoever opens it will be told
        return
    refuse_change(manifest)


def address_of(manifest: Manifest) -> str:
    return manifest.index.rpartition("/g")[0]


def mirrored(address: str | Path) -> Path:
    """The folder of the cache that stands for a published library, brought up to date."""
    bucket = Bucket(address)
    chosen = os.environ.get(_CACHE)
    cache = Path(chosen) if chosen else Path(platformdirs.user_cache_dir("secondlook"))
    digest = hashlib.sha256(bucket.address.encode()).hexdigest()[:16]
    folder = cache / "published" / digest
    follow(bucket, folder)
    return folder


def follow(bucket: Bucket, folder: Path) -> None:
    """Bring the folder up to the newest publication. Processes may do so side by side."""
    for _ in range(_ATTEMPTS):
        said = read_published(bucket)
        if said is None:
            raise LibraryMissing(
                f"there is no library at {bucket.address}",
                hint=f"secondlook publish {bucket.address} puts one there",
            )
        number = said[PUBLISHED]
        if _held(folder) == (said.get("created"), number):
            return
        known = {field.name for field in fields(manifests.Manifest)}
        raw = {name: value for name, value in said.items() if name in known}
        index = f"{bucket.address}/g{said['generation']}/index"
        manifest = manifests.Manifest(**{**raw, "generation": number, "index": index})
        if _copied(bucket, folder, number):
            manifests.write(folder, manifest)
            _clear(folder, number)
            return
    raise LibraryBusy(
        f"{bucket.address} is published anew faster than it can be read", hint="try again"
    )


def _held(folder: Path) -> tuple[object, object] | None:
    try:
        raw = manifests.read_raw(folder)
    except LibraryError:
        return None
    return raw.get("created"), raw.get("generation")


def _copied(bucket: Bucket, folder: Path, number: int) -> bool:
    """Whether all of it was still there: the next publication but one takes it away."""
    catalog = manifests.generation_folder(folder, number) / "catalog.db"
    if not catalog.exists() and not bucket.fetch(catalog_name(number), catalog):
        return False
    held = bucket.sizes(TABLES)
    for name, size in held.items():
        target = folder / name
        if target.suffix == ".json" or not target.exists() or target.stat().st_size != size:
            bucket.fetch(name, target)
    if not bucket.fetch(CALIBRATION_FILE, folder / CALIBRATION_FILE):
        (folder / CALIBRATION_FILE).unlink(missing_ok=True)
    for file in (folder / TABLES).rglob("*"):
        if file.is_file() and file.relative_to(folder).as_posix() not in held:
            file.unlink(missing_ok=True)
    return True


def _clear(folder: Path, number: int) -> None:
    for old in folder.glob("g[0-9]*"):
        if int(old.name[1:]) < number - 1:
            shutil.rmtree(old, ignore_errors=True)


def open_published_index(manifest: Manifest) -> Index:
    from secondlook.retrieval.index.lance import LanceIndex

    place = Path(manifest.index)
    try:
        with explained(place):
            index = LanceIndex.open(
                manifest.index,
                dimensions=manifest.dimensions,
                storage_options=storage_options(),
            )
    except LibraryMissing as error:
        raise LibraryDamaged(
            f"the index {manifest.index!r} is missing", hint=PUBLISH_AGAIN
        ) from error
    return GuardedIndex(index, place)


class FetchedTexts(TextStore):
    """Texts that are copied when they are first read."""

    def __init__(self, folder: Path, address: str) -> None:
        super().__init__(folder)
        self._bucket = Bucket(address)

    def read(self, key: TextKey) -> Extracted:
        file = self._file(key)
        if not file.exists():
            self._bucket.fetch(f"texts/{file.parent.name}/{file.name}", file)
        return super().read(key)
