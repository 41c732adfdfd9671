"""One file that holds a whole library, and the way back."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

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
MOST_BYTES = 64 << 30  # that a backup may unpack to, unless told
_MOST_FILES = 1_000_000
_MOST_ABOUT_A_FILE = 1 << 20  # names and the like, which tarfile reads into memory


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


def read_backup(archive: Path, library: Path, *, force: bool, most_bytes: int = MOST_BYTES) -> None:
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
        _unpack(archive, Path(scratch), most_bytes=most_bytes)
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


class _Member(tarfile.TarInfo):
    @classmethod
    def frombuf(cls, *given: Any, **options: Any) -> Self:
        made = super().frombuf(*given, **options)
        if made.size > _MOST_ABOUT_A_FILE and not (made.isreg() or made.isdir()):
            raise tarfile.HeaderError(f"{made.size:,} bytes about one file")
        return made


def _unpack(archive: Path, folder: Path, *, most_bytes: int) -> None:
    """Plain files inside the folder alone; not every Python 3.11 has `extractall(filter=)`."""
    import zstandard

    inside = folder.resolve()
    free = shutil.disk_usage(folder).free
    size = count = 0
    try:
        with (
            archive.open("rb") as packed,
            zstandard.ZstdDecompressor().stream_reader(packed) as unpacked,
            tarfile.open(fileobj=unpacked, mode="r|", tarinfo=_Member) as members,
        ):
            for member in members:
                # Few bytes can unpack to any number: counted before they are written.
                size, count = size + member.size, count + 1
                if size > min(most_bytes, free) or count > _MOST_FILES:
                    said = f"{size / (1 << 30):,.1f} GiB or {count:,} files"
                    raise UsageError(
                        f"{str(archive)!r} unpacks to {said} and more, which is too much here",
                        hint=f"{free / (1 << 30):,.1f} GiB are free; --max-gb N allows more than "
                        f"{most_bytes >> 30}. Is it from someone you trust?",
                    )
                members.members = []  # type: ignore[attr-defined]  # it would remember all of them
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
