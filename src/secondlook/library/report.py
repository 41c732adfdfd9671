"""What crosses the library's door, in and out: data only."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.library.catalog import DocumentRow, FileRow
    from secondlook.tables.table import Table

Change = Literal["added", "updated", "moved", "duplicate", "unchanged", "removed", "failed"]


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    change: Change
    document: str | None = None
    passages: int = 0
    reason: str = ""  # why it failed, where it moved from, which document it duplicates


@dataclass(frozen=True, slots=True)
class Progress:
    stage: Literal["waiting", "looking", "reading", "tables", "indexing", "checking", "finishing"]
    files_done: int = 0
    files_total: int = 0
    passages: int = 0
    failed: int = 0
    current: str = ""
    share: float = 0.0  # of the file that is being read now, where that takes its time
    passages_read: int = 0  # cut so far; `passages` of them are ready to be stored


@dataclass(slots=True)
class AddReport:
    changes: list[FileChange] = field(default_factory=list)
    seconds: float = 0.0
    dry_run: bool = False
    interrupted: bool = False  # by Ctrl-C: the same command does the rest

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
    id: str
    sha256: str
    title: str
    kind: str
    paths: tuple[str, ...]  # where it was found; several when copies lie in different places
    author: str | None
    date: str | None
    language: str | None
    pages: int
    passages: int
    characters: int
    metadata: dict[str, str]
    notes: tuple[str, ...]
    added: str  # ISO 8601 time in UTC
    tables: tuple[str, ...] = ()  # names of its tables


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
    writer: str | None  # who is writing right now, such as "pid 4711 on host ..."
    tables: int = 0
    watched: tuple[str, ...] = ()  # folders that it is kept in step with


@dataclass(frozen=True, slots=True)
class Text:
    name: str
    text: str
    title: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


_LONGEST_TITLE = 200


def is_address(text: str) -> bool:
    return text[:8].lower().startswith(("http://", "https://"))


def pasted(text: str, title: str = "", metadata: dict[str, str] | None = None) -> Text:
    """A text that a person pasted, named by its title or else by its first line."""
    if not text.strip():
        raise UsageError("there is no text to add", hint="paste some, or name a file")
    named = title.strip() or text.strip().splitlines()[0]
    plain = "".join(char if char.isprintable() else " " for char in named)[:_LONGEST_TITLE]
    shown = " ".join(plain.split()) or "Pasted text"
    # `!/` separates a member from its archive in a path.
    return Text(
        shown.replace("!/", "! /"),
        text,
        title=shown if title.strip() else None,
        metadata=metadata or {},
    )


# How rows and ranked entries look from outside.


def document_info(row: DocumentRow, files: list[FileRow], tables: Sequence[Table]) -> DocumentInfo:
    said = {name: getattr(row, name, None) for name in DocumentInfo.__dataclass_fields__}
    said["metadata"] = {key: value for file in files for key, value in file.metadata.items()}
    said["paths"], said["notes"] = tuple(file.path for file in files), tuple(row.notes)
    return DocumentInfo(**{**said, "tables": tuple(table.name for table in tables)})  # type: ignore[arg-type]


# Finding the document a person means by an id, a path, a file name or a title.

_SHORTEST_PREFIX = 4
_NAMED = 5


def find(name: str, documents: Sequence[DocumentInfo]) -> DocumentInfo:
    """The first way of reading `name` that fits any document decides."""
    wanted = name.strip()
    folded = wanted.casefold()
    absolute = os.path.abspath(os.path.expanduser(wanted))  # noqa: PTH100, PTH111
    readings: list[Callable[[DocumentInfo], bool]] = [
        lambda d: d.id == folded,
        lambda d: wanted in d.paths or absolute in d.paths,
        # Also of what lies in no file: its path is stdin:NAME or text:NAME.
        lambda d: folded in (PurePath(p.partition(":")[2] or p).name.casefold() for p in d.paths),
        lambda d: d.title.casefold() == folded,
        lambda d: len(folded) >= _SHORTEST_PREFIX and d.id.startswith(folded),
        lambda d: bool(folded) and folded in d.title.casefold(),
    ]
    for fits in readings:
        found = [document for document in documents if fits(document)]
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(f"{document.id} ({document.title})" for document in found[:_NAMED])
            more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
            raise UsageError(
                f"{name!r} fits {len(found)} documents: {listed}{more}", hint="name one by its id"
            )
    raise UsageError(
        f"the library holds no document {name!r}",
        hint="secondlook list shows what it holds, to be named by id, path, file name or title",
    )
