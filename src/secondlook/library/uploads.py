"""Files that were uploaded: the originals that the library itself keeps, as `uploads/NAME`.
`uploads/.incoming-X/` is an upload on its way; a lock in it lives as long as its process."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import unicodedata
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from secondlook.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator

    from filelock import BaseFileLock

    from secondlook.library.catalog import Catalog, FileRow

FOLDER = "uploads"
_INCOMING = ".incoming-"
_LOCK = "lock"
_SEAL = "names.json"
_JUST_MADE_SECONDS = 60.0  # a folder without a lock may be about to get it


@dataclass(slots=True)
class Arriving:
    number: int
    name: str
    stream: BinaryIO
    size: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def write(self, data: bytes) -> None:
        self.stream.write(data)
        self.digest.update(data)
        self.size += len(data)

    def close(self) -> None:
        """All of it is there, and on the disk: hundreds of files do not stay open."""
        if not self.stream.closed:
            self.stream.flush()
            os.fsync(self.stream.fileno())
            self.stream.close()


@dataclass(frozen=True, slots=True)
class Entry:
    number: int
    name: str
    sha256: str


class Staging:
    """One upload on its way. Whoever holds one either seals or discards it."""

    def __init__(self, folder: Path, lock: BaseFileLock) -> None:
        self.folder = folder
        self._lock = lock
        self._arriving: list[Arriving] = []
        self._placed: dict[int, Path] = {}

    def begin(self, name: str) -> Arriving:
        number = len(self._arriving)
        one = Arriving(number, name, (self.folder / str(number)).open("wb"))
        self._arriving.append(one)
        return one

    def seal(self) -> list[Entry]:
        """From here on a kill loses nothing. Each file gets a name, but for equal ones."""
        taken: dict[str, str] = {}
        entries: dict[tuple[str, str], Entry] = {}
        for one in self._arriving:
            one.close()
            digest = one.digest.hexdigest()
            if (folded(one.name), digest) in entries:
                (self.folder / str(one.number)).unlink()
                continue
            name = unlike(one.name, taken)
            taken[folded(name)] = name
            entries[folded(one.name), digest] = Entry(one.number, name, digest)
        sealed = list(entries.values())
        write_whole(self.folder / _SEAL, json.dumps([asdict(one) for one in sealed]).encode())
        return sealed

    def entries(self) -> list[Entry]:
        said = json.loads((self.folder / _SEAL).read_text(encoding="utf-8"))
        return [Entry(**item) for item in said]

    def put_in_place(self) -> list[Path]:
        """One that takes another's place keeps that until `settle`; a kill loses nothing."""
        uploads = self.folder.parent
        there = {folded(file.name): file for file in uploads.iterdir() if file.is_file()}
        for entry in self.entries():
            target = there.get(folded(entry.name), uploads / entry.name)
            staged = self.folder / str(entry.number)
            self._placed[entry.number] = target
            if staged.exists():
                if target.is_file():
                    target.replace(self._previous(entry.number))
                staged.replace(target)
        return list(self._placed.values())

    def settle(self, kept: Collection[Path]) -> list[Path]:
        """Delete what is not to be kept; returns what is there again as before."""
        restored = []
        for number, target in self._placed.items():
            if target in kept:
                continue
            previous = self._previous(number)
            if previous.exists():
                previous.replace(target)
                restored.append(target)
            elif not (self.folder / str(number)).exists():  # else it never got to its place
                target.unlink(missing_ok=True)
        self.discard()
        return restored

    def leave(self) -> None:
        """Let go of it: whoever sweeps next takes it up."""
        for one in self._arriving:
            one.stream.close()
        self._lock.release()

    def discard(self) -> None:
        self.leave()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _previous(self, number: int) -> Path:
        return self.folder / f"{number}-previous"


def new_staging(library: Path) -> Staging:
    import filelock

    uploads = library / FOLDER
    uploads.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=_INCOMING, dir=uploads))
    lock = filelock.FileLock(folder / _LOCK, thread_local=False)
    lock.acquire(timeout=0)
    return Staging(folder, lock)


def sweep(library: Path) -> list[Staging]:
    """Clear away what killed processes left; uploads that had arrived come back."""
    import filelock

    found = []
    for folder in sorted((library / FOLDER).glob(f"{_INCOMING}*")):
        with contextlib.suppress(filelock.Timeout, OSError):
            age = time.time() - folder.stat().st_mtime
            if not (folder / _LOCK).exists() and age < _JUST_MADE_SECONDS:
                continue
            lock = filelock.FileLock(folder / _LOCK, thread_local=False)
            lock.acquire(timeout=0)
            staging = Staging(folder, lock)
            if (folder / _SEAL).exists():
                found.append(staging)
            else:
                staging.discard()
    return found


def is_upload(library: Path, path: str | Path) -> bool:
    return Path(path).parent == library / FOLDER


def delete_originals(library: Path, catalog: Catalog, gone: Iterable[FileRow]) -> None:
    """Unless others still stand for them. No file outside of uploads/ is ever touched."""
    for anchor in {row.container or row.path for row in gone}:
        rows = [catalog.file(anchor), *catalog.members_of(anchor)]
        if is_upload(library, anchor) and not any(row and row.document for row in rows):
            with contextlib.suppress(OSError):  # Windows keeps a file that somebody reads
                Path(anchor).unlink(missing_ok=True)
            catalog.drop_files([anchor])


def originals(library: Path) -> Iterator[Path]:
    with contextlib.suppress(FileNotFoundError):
        for file in sorted((library / FOLDER).iterdir()):
            if file.is_file() and not file.name.startswith("."):
                yield file


def sha256_of(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


# Names of uploaded files. A client may call its file anything; what is stored has a plain name
# that every file system takes and that stays inside its folder.

MOST_BYTES = 180
_LONGEST_SUFFIX = 20
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of writing: `exe.fdp` would read as a PDF."""
_FORBIDDEN = re.compile(r'[<>:"|?*]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)", re.IGNORECASE)


def safe_name(given: str) -> str:
    base = unicodedata.normalize("NFC", given).replace("\\", "/").rpartition("/")[2]
    base = "".join(
        char for char in base if unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"}
    )
    base = _FORBIDDEN.sub("_", _TURNING.sub("", base))
    base = " ".join(base.split()).lstrip(". ").rstrip(". ")
    if _RESERVED.match(base):
        base = f"_{base}"
    if len(base.encode()) > MOST_BYTES:
        stem, suffix = _parts(base)
        base = f"{_cut(stem, MOST_BYTES - len(suffix.encode()))}{suffix}"
    return base or "upload"


def unlike(name: str, taken: Container[str]) -> str:
    """`report (2).pdf` where there is a `report.pdf`; `taken` holds `folded` names."""
    stem, suffix = _parts(name)
    number, found = 1, name
    while folded(found) in taken:
        number += 1
        mark = f" ({number})"
        found = f"{_cut(stem, MOST_BYTES - len(mark) - len(suffix.encode()))}{mark}{suffix}"
    return found


def folded(name: str) -> str:
    """Equal for names that some file system takes for the same."""
    return unicodedata.normalize("NFC", name).casefold()


def _parts(name: str) -> tuple[str, str]:
    suffix = PurePosixPath(name).suffix
    if not suffix or len(suffix.encode()) > _LONGEST_SUFFIX:
        return name, ""
    return name.removesuffix(suffix), suffix


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore").rstrip(". ")
