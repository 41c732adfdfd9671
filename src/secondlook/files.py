"""Files that are there whole or not at all, are their owner's alone, and tell of damage."""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

_SUM = "sum"
_OTHERS = 0o077


@contextlib.contextmanager
def writing(target: Path) -> Iterator[IO[bytes]]:
    """A file beside the target that takes its place at the end, on disk by then."""
    partial = target.with_name(f".{target.name}.partial-{uuid4().hex}")
    try:
        number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        partial.replace(target)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def write_whole(target: Path, data: bytes) -> None:
    make_folder(target.parent)
    with writing(target) as out:
        out.write(data)


def make_folder(folder: Path) -> None:
    """With its parents; nobody else's where it is new."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def close_to_others(place: Path) -> bool:
    """Take other accounts' rights to a folder or file of ours away; whether they had any."""
    status = place.stat()
    open_to_others = os.name == "posix" and bool(status.st_mode & _OTHERS)
    if not open_to_others or status.st_uid != os.geteuid():
        return False
    place.chmod(status.st_mode & ~_OTHERS)
    return True


def digest(file: Path, *, anew: bool = False) -> str:
    """SHA-256 of a file, computed once a minute while its size and time stay: a bad disk leaves
    both as they were."""
    status, minute = file.stat(), time.monotonic() // 60
    of_file = _digest.__wrapped__ if anew else _digest
    return of_file(file, status.st_mtime_ns, status.st_size, minute)


@lru_cache(maxsize=4096)
def _digest(file: Path, _time: int, _size: int, _minute: float) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sealed(held: dict[str, Any]) -> bytes:
    """As JSON that carries its own hash."""
    return _written(held | {_SUM: _hash(held)})


def unsealed(stored: bytes) -> dict[str, Any]:
    """What was sealed; a ValueError where it was changed since. Older files carry no hash."""
    held = json.loads(stored)
    if not isinstance(held, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004  # as JSON's own errors are
    if (said := held.pop(_SUM, None)) is not None and said != _hash(held):
        raise ValueError("it was changed since it was written")
    return held


def _hash(held: dict[str, Any]) -> str:
    return hashlib.sha256(_written(held)).hexdigest()


def _written(held: dict[str, Any]) -> bytes:
    return json.dumps(held, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
