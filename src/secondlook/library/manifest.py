"""`library.json`: which format a library has and what made its vectors and terms."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from secondlook.errors import LibraryBusy, LibraryDamaged, LibraryFormat, LibraryMissing
from secondlook.files import write_whole
from secondlook.library.catalog import RESTORE, not_writable

FORMAT = 1
FILE_NAME = "library.json"
EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that must not change silently under the vectors and terms already stored."""

    embedder: str  # name of the embedder that made the vectors: name and hash of its weights
    embedder_spec: str  # what it was called in the settings, "ollama:nomic-embed-text"
    dimensions: int
    language: str
    analyser: str
    chunker: str
    chunk_tokens: int
    chunk_overlap: int
    generation: int = 1  # catalog and index in use; a rebuild makes the next pair
    created: str = ""
    index: str = EMBEDDED  # or `milvus:NAME`, at the server that the settings name
    format: int = FORMAT


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def generation_folder(library: Path, generation: int) -> Path:
    return library / f"g{generation}"


def drop_other_generations(library: Path, in_use: int) -> None:
    """A rebuild leaves the old one to its readers; the next writer clears it away."""
    for folder in library.glob("g[0-9]*"):
        if folder != generation_folder(library, in_use):
            shutil.rmtree(folder, ignore_errors=True)


def read(library: Path) -> Manifest:
    raw, file = read_raw(library), str(library / FILE_NAME)
    version = raw.get("format")
    if version != FORMAT:
        newer = isinstance(version, int) and version > FORMAT
        raise LibraryFormat(
            f"{file!r} has format {version!r}; this version reads format {FORMAT}",
            hint="upgrade secondlook"
            if newer
            else "run secondlook rebuild to make it anew from its stored texts",
        )
    try:
        manifest = Manifest(**raw)
    except TypeError as error:
        raise LibraryDamaged(f"{file!r} is not a manifest: {error}", hint=RESTORE) from error
    for name, kind in Manifest.__annotations__.items():
        value = getattr(manifest, name)
        if type(value).__name__ != kind:
            raise LibraryDamaged(f"{file!r} says {name}={value!r}", hint=RESTORE)
    return manifest


def read_raw(library: Path) -> dict[str, Any]:
    file = library / FILE_NAME
    refuse_links(library)
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise LibraryMissing(
            f"there is no library at {str(library)!r}",
            hint="secondlook add FOLDER makes one; --library PATH names another",
        ) from None
    except (OSError, ValueError) as error:
        raise LibraryDamaged(f"{str(file)!r} cannot be read: {error}", hint=RESTORE) from error
    if not isinstance(raw, dict):
        raise LibraryDamaged(f"{str(file)!r} is not a manifest", hint=RESTORE)
    return raw


def refuse_links(library: Path) -> None:
    """A library may come from anywhere: a link in it would have files elsewhere replaced, or swept
    away as no text of ours."""
    for pattern in (
        "*",
        "g*/*",
        "g*/index/*",
        "g*/index/*/*",
        "texts/*",
        "tables/*",
        "tables/records/*",
    ):
        for place in library.glob(pattern):
            if place.is_symlink():
                raise LibraryFormat(
                    f"{str(place)!r} is a link, and a library's files lie in its own folder",
                    hint="if you made it, put what it leads to in its place; else trust none of it",
                )


def write(library: Path, manifest: Manifest) -> None:
    """Replace the manifest whole: a reader sees the old one or the new one."""
    write_whole(library / FILE_NAME, json.dumps(asdict(manifest), indent=2).encode())


# One writer at a time. The lock dies with its process, so a killed writer leaves none behind.

LOCK_NAME = "write.lock"
HOLDER_NAME = "writer.json"


@contextmanager
def writing(
    library: Path, *, wait: float, waiting: Callable[[str], None] | None = None
) -> Iterator[None]:
    import filelock

    refuse_links(library)
    lock = filelock.FileLock(library / LOCK_NAME)
    command = " ".join([os.path.basename(sys.argv[0]) or "python", *sys.argv[1:2]])  # noqa: PTH119
    said = {"pid": os.getpid(), "host": socket.gethostname(), "since": now(), "command": command}
    try:
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            if waiting:
                waiting(holder(library) or "another process")
            lock.acquire(timeout=wait, poll_interval=0.1)
        try:
            (library / HOLDER_NAME).write_text(json.dumps(said), encoding="utf-8")
        except OSError:
            lock.release()
            raise
    except filelock.Timeout:
        who = holder(library) or "another process"
        raise LibraryBusy(
            f"the library at {str(library)!r} is being written by {who}",
            hint="wait for it to finish; searching works meanwhile",
        ) from None
    except OSError as error:
        raise not_writable("library at", library, error) from error
    try:
        yield
    finally:
        (library / HOLDER_NAME).unlink(missing_ok=True)
        lock.release()


def holder(library: Path) -> str | None:
    try:
        said = json.loads((library / HOLDER_NAME).read_text(encoding="utf-8"))
        return f"pid {said['pid']} on {said['host']} since {said['since']} ({said['command']})"
    except (OSError, ValueError, KeyError, TypeError):
        return None


def active_holder(library: Path) -> str | None:
    """As `holder`, but None when the lock is free: a killed writer leaves its name behind."""
    import filelock

    if not (library / HOLDER_NAME).exists():
        return None
    try:
        with filelock.FileLock(library / LOCK_NAME).acquire(timeout=0):
            return None
    except filelock.Timeout:
        return holder(library)
