"""What crosses the library's door, in and out: data only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Change = Literal["added", "updated", "moved", "duplicate", "unchanged", "removed", "failed"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """What `add` did, or with `dry_run` would do, about one file."""

    path: str
    change: Change
    document: str | None = None
    passages: int = 0
    reason: str = ""
    """Why it failed, where it moved from, which document it duplicates."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A snapshot of a running `add`, sent often; cheap to ignore."""

    stage: Literal["waiting", "looking", "reading", "tables", "indexing", "finishing"]
    files_done: int = 0
    files_total: int = 0
    passages: int = 0
    failed: int = 0
    current: str = ""
    share: float = 0.0
    """Of the file that is being read now, where that takes its time."""
    passages_read: int = 0
    """Cut so far; `passages` of them are ready to be stored."""


@dataclass(slots=True)
class AddReport:
    changes: list[FileChange] = field(default_factory=list)
    seconds: float = 0.0
    dry_run: bool = False
    interrupted: bool = False
    """Stopped by Ctrl-C: what is reported is held, the same command does the rest."""

    def count(self, change: Change) -> int:
        return sum(item.change == change for item in self.changes)

    @property
    def passages(self) -> int:
        return sum(item.passages for item in self.changes)

    @property
    def failed(self) -> list[FileChange]:
        return [item for item in self.changes if item.change == "failed"]


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document the library holds."""

    id: str
    sha256: str
    title: str
    kind: str
    paths: tuple[str, ...]
    """Where it was found; several when copies lie in different places."""
    author: str | None
    date: str | None
    language: str | None
    pages: int
    passages: int
    characters: int
    metadata: dict[str, str]
    notes: tuple[str, ...]
    added: str
    """ISO 8601 time in UTC."""
    tables: tuple[str, ...] = ()
    """Names of its tables."""


@dataclass(frozen=True, slots=True)
class FailedFile:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Status:
    path: str
    documents: int
    passages: int
    failed: tuple[FailedFile, ...]
    bytes: int
    embedder: str
    language: str
    format: int
    compact_due: bool
    why_compact: str
    writer: str | None
    """Who is writing right now ("pid 4711 on host, since ...: secondlook add"), if anybody."""
    tables: int = 0


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is in no file: `name` identifies it, as a path does a file."""

    name: str
    text: str
    title: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
