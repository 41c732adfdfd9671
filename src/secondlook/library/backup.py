"""One file that holds a whole library, and the way back."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import LibraryError, UsageError
from secondlook.files import writing
from secondlook.library import integrity
from secondlook.library import manifest as manifests
from secondlook.library.tables import FOLDER as TABLES
from secondlook.library.uploads import FOLDER as UPLOADS
from secondlook.library.uploads import originals
from secondlook.reading.calibration import CALIBRATION_FILE

if TYPE_CHECKING:
    from secondlook.library.catalog import Catalog

_ROOT = "library"
_HINT = "secondlook backup FILE makes one"


def write_backup(library: Path, catalog: Catalog, target: Path) -> None:
    import zstandard

    manifest = manifests.read(library)
    if manifest.index != manifests.EMBEDDED:
        raise LibraryError(
            f"the passages of {str(library)!r} lie in Milvus, so one file cannot hold all of it",
            hint="back Milvus up by its own means together with the library's folder; or "
            'secondlook rebuild with library.index = "embedded" brings the passages back first',
        )
    generation = manifests.generation_folder(library, manifest.generation)
    try:
        with tempfile.TemporaryDirectory() as scratch, writing(target) as out:
            copy = Path(scratch) / "catalog.db"
            catalog.copy_to(copy)
            with (
                zstandard.ZstdCompressor(level=3).stream_writer(out, closefd=False) as packed,
                tarfile.open(fileobj=packed, mode="w|") as archive,
            ):
                archive.add(library / manifests.FILE_NAME, f"{_ROOT}/{manifests.FILE_NAME}")
                archive.add(copy, f"{_ROOT}/{generation.name}/catalog.db")
                for name in ("index", integrity.SUMS):  # none in an older library
                    if (generation / name).exists():
                        archive.add(generation / name, f"{_ROOT}/{generation.name}/{name}")
                for name in ("texts", TABLES, CALIBRATION_FILE):  # None is in every library
                    if (library / name).exists():
                        archive.add(library / name, f"{_ROOT}/{name}")
                for file in originals(library):
                    archive.add(file, f"{_ROOT}/{UPLOADS}/{file.name}")
    except OSError as error:
        raise LibraryError(
            f"the backup {str(target)!r} could not be written: {error.strerror or error}",
            hint="check that the folder exists and has room",
        ) from error


def read_backup(archive: Path, library: Path, *, force: bool) -> None:
    """Unpack beside the final place and check it before anything is replaced."""
    if not archive.is_file():
        raise UsageError(f"there is no file {str(archive)!r}")
    if library.exists() and not library.is_dir():
        raise UsageError(f"{str(library)!r} is not a folder", hint="--library PATH names another")
    if library.exists() and any(library.iterdir()):
        elsewhere = "--library PATH restores elsewhere"
        if not (library / manifests.FILE_NAME).exists():
            raise UsageError(f"{str(library)!r} is not a library and not empty", hint=elsewhere)
        if not force:
            hint = f"--force replaces it; {elsewhere}"
            raise UsageError(f"{str(library)!r} is not empty", hint=hint)
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=".restore-") as scratch:
        _unpack(archive, Path(scratch))
        restored, old = Path(scratch) / _ROOT, Path(scratch) / "old"
        if not (restored / manifests.FILE_NAME).is_file():
            raise UsageError(f"{str(archive)!r} is not a backup of a library", hint=_HINT)
        manifests.read(restored)
        if library.exists():
            with manifests.writing(library, wait=0):
                pass  # nobody is at work in what is about to be replaced
            library.replace(old)
        restored.replace(library)
        shutil.rmtree(old, ignore_errors=True)


def _unpack(archive: Path, folder: Path) -> None:
    """Plain files inside the folder alone; not every Python 3.11 has `extractall(filter=)`."""
    import zstandard

    inside = folder.resolve()
    try:
        with (
            archive.open("rb") as packed,
            zstandard.ZstdDecompressor().stream_reader(packed) as unpacked,
            tarfile.open(fileobj=unpacked, mode="r|") as members,
        ):
            for member in members:
                place = (inside / member.name).resolve()
                source = members.extractfile(member) if member.isreg() else None
                if not place.is_relative_to(inside) or not (source or member.isdir()):
                    raise tarfile.TarError(f"{member.name!r} does not belong in a backup")  # noqa: TRY301
                (place.parent if source else place).mkdir(parents=True, exist_ok=True)
                if source is not None:
                    with source, place.open("wb") as copy:
                        shutil.copyfileobj(source, copy)
    except (OSError, tarfile.TarError, zstandard.ZstdError) as error:
        raise UsageError(f"{str(archive)!r} is not a whole backup: {error}", hint=_HINT) from error
