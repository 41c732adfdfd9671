"""The bytes of one file or member, and the budget that all members of a file share."""

from __future__ import annotations

import hashlib
import io
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from secondlook.errors import Damaged, ExtractionError, LimitExceeded, NoText, Unsupported
from secondlook.retrieval.parse.limits import DEFAULT_LIMITS, ParseLimits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IN_MEMORY_BYTES = 64 << 20
HEAD_BYTES = 64 << 10
_HASH_BLOCK = 8 << 20


def silent_beat() -> None:
    """Nobody watches."""


@dataclass(slots=True)
class Budget:
    """What is left of the limits of one file, spent by it and by everything inside it."""

    limits: ParseLimits = DEFAULT_LIMITS
    beat: Callable[[], None] = silent_beat
    members: int = 0
    expanded: int = 0
    chars: int = 0

    def spend_member(self) -> None:
        self.beat()
        self.members += 1
        if self.members > self.limits.members:
            raise LimitExceeded(
                f"the archive holds more than {self.limits.members:,} files; the rest was left out",
                hint="unpack it and add the folder",
            )

    def spend_expanded(self, count: int) -> None:
        self.expanded += count
        if self.expanded > self.limits.expanded_bytes:
            raise LimitExceeded(
                f"it expands to more than {self.limits.expanded_bytes:,} bytes",
                hint="a small file that grows this much is usually a decompression bomb",
            )

    def spend_chars(self, count: int) -> None:
        self.beat()
        self.chars += count
        if self.chars > self.limits.text_chars:
            raise LimitExceeded(f"it holds more than {self.limits.text_chars:,} characters of text")

    def spend_pages(self, count: int) -> None:
        self.beat()
        if count > self.limits.pages:
            raise LimitExceeded(f"it has {count:,} pages, the limit is {self.limits.pages:,}")


@dataclass(slots=True)
class Source:
    """Bytes to parse. Small ones are held, so that hash and text speak of the same bytes."""

    name: str
    size: int
    sha256: str
    head: bytes
    budget: Budget = field(default_factory=Budget)
    data: bytes | None = None
    path: Path | None = None
    depth: int = 0
    """How many archives it lies in."""

    @classmethod
    def of_bytes(cls, data: bytes, name: str, budget: Budget, *, depth: int = 0) -> Source:
        digest = hashlib.sha256(data).hexdigest()
        head = data[:HEAD_BYTES]
        return cls(name, len(data), digest, head, budget, data=data, depth=depth)

    @property
    def suffix(self) -> str:
        """The extension in lower case with its dot; "" where there is none."""
        return os.path.splitext(self.name)[1].lower()  # noqa: PTH122 - a name, not a path

    @property
    def is_large(self) -> bool:
        """Too large to be held in memory."""
        return self.size > IN_MEMORY_BYTES

    def open(self) -> BinaryIO:
        if self.data is not None:
            return io.BytesIO(self.data)
        if self.path is None:
            raise Damaged(f"{self.name!r} has no contents")
        return self.path.open("rb")

    def read(self) -> bytes:
        if self.data is None:
            with self.open() as stream:
                self.data = stream.read()
        return self.data


def open_source(path: Path, budget: Budget) -> Source:
    """Hash a file and hold it if it is small. Refuses everything but readable regular files."""
    try:
        descriptor = _open_regular(path)
    except FileNotFoundError as error:
        raise ExtractionError("it is no longer there") from error
    except PermissionError as error:
        raise ExtractionError("it cannot be read: permission denied") from error
    except OSError as error:
        raise ExtractionError(f"it cannot be read: {error.strerror or error}") from error
    with os.fdopen(descriptor, "rb") as stream:
        return _load(path, stream, budget)


def _open_regular(path: Path) -> int:
    _require_regular(path.stat().st_mode)
    # Without O_NONBLOCK a FIFO that took the file's place just now would block forever.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        _require_regular(os.fstat(descriptor).st_mode)
    except ExtractionError:
        os.close(descriptor)
        raise
    return descriptor


def _require_regular(mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    what = "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
    raise Unsupported(f"it is {what}, not a file")


def _load(path: Path, stream: BinaryIO, budget: Budget) -> Source:
    size = os.fstat(stream.fileno()).st_size
    most = budget.limits.most_bytes(path.suffix.lower())
    if size > most:
        raise LimitExceeded(
            f"it has {size:,} bytes, the limit is {most:,}",
            hint="split it, or raise the limit on the size of a file",
        )
    if size == 0:
        raise NoText("the file is empty")
    if size <= IN_MEMORY_BYTES:
        return Source.of_bytes(stream.read(size), path.name, budget)
    return _load_large(path, stream, size, budget)


def _load_large(path: Path, stream: BinaryIO, size: int, budget: Budget) -> Source:
    head = stream.read(HEAD_BYTES)
    stream.seek(0)
    digest = hashlib.sha256()
    left = size  # a log that grows while it is read must come to an end
    while left > 0 and (block := stream.read(min(left, _HASH_BLOCK))):
        digest.update(block)
        left -= len(block)
        budget.beat()
    return Source(path.name, size, digest.hexdigest(), head, budget, path=path)
