"""A library in memory, for the command line's own tests: it keeps what it is given, finds
passages by the words they share with the query, and can be made to fail in set ways."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from secondlook.document import Extracted, Heading, Page
from secondlook.errors import LibraryMissing, UsageError
from secondlook.library.report import (
    AddReport,
    DocumentInfo,
    FailedFile,
    FileChange,
    Status,
)
from secondlook.passage import Hit, Passage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from secondlook.settings.sections import Settings


@dataclass
class Shelf:
    """What the fake holds, and how it should behave."""

    exists: bool = False
    documents: dict[str, DocumentInfo] = field(default_factory=dict)
    texts: dict[str, Extracted] = field(default_factory=dict)
    failed: list[FailedFile] = field(default_factory=list)
    raises: BaseException | None = None
    compact_due: bool = False
    writer: str | None = None
    language: str = "english"
    settings: list[Settings] = field(default_factory=list)
    purged: list[bool] = field(default_factory=list)
    searched: list[dict[str, object]] = field(default_factory=list)
    added: list[dict[str, object]] = field(default_factory=list)


class FakeLibrary:
    shelf: ClassVar[Shelf]

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(
        cls, path: Path | None = None, *, create: bool = True, settings: Settings | None = None
    ) -> Self:
        assert path is not None
        assert settings is not None
        cls.shelf.settings.append(settings)
        if not cls.shelf.exists and not create:
            raise LibraryMissing(f"there is no library at {str(path)!r}", hint="secondlook add")
        cls.shelf.exists = True
        if cls.shelf.raises:
            raise cls.shelf.raises
        return cls(path)

    @property
    def language(self) -> str:
        return self.shelf.language

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add(
        self,
        paths: Iterable[str | Path],
        *,
        meta: Mapping[str, str] | None = None,
        progress: object = None,
        dry_run: bool = False,
        **options: object,
    ) -> AddReport:
        self.shelf.added.append({"meta": meta, **options})
        changes = [
            self._take(str(path), Path(path).read_bytes(), meta or {}, dry_run=dry_run)
            for path in paths
            if Path(path).exists()
        ]
        return AddReport(changes, 1.25, dry_run=dry_run)

    def add_bytes(
        self, data: bytes, name: str, *, meta: Mapping[str, str] | None = None
    ) -> AddReport:
        return AddReport([self._take(name, data, meta or {}, dry_run=False)], 0.5)

    def _take(
        self, path: str, data: bytes, meta: Mapping[str, str], *, dry_run: bool
    ) -> FileChange:
        digest = sha256(data).hexdigest()
        if not data:
            if not dry_run:
                self.shelf.failed.append(FailedFile(path, "it is\nempty"))
            return FileChange(path, "failed", reason="it is\nempty")
        if digest[:16] in self.shelf.documents:
            return FileChange(path, "unchanged", digest[:16])
        if not dry_run:
            self._keep(path, data.decode(), digest, meta)
        return FileChange(path, "added", digest[:16], passages=1)

    def _keep(self, path: str, text: str, digest: str, meta: Mapping[str, str]) -> None:
        pages = tuple(_pages(text))
        title = text.split("\n", 1)[0].lstrip("# ")
        heading = (Heading(1, 2, 2 + len(title)),) if text.startswith("# ") else ()
        self.shelf.texts[digest[:16]] = Extracted(text, title, pages=pages, headings=heading)
        self.shelf.documents[digest[:16]] = DocumentInfo(
            id=digest[:16], sha256=digest, title=title, kind=Path(path).suffix.lstrip("."),
            paths=(path,), author="Ada", date=None, language="en", pages=len(pages), passages=1,
            characters=len(text), metadata=dict(meta), notes=("one page has no text",),
            added="2026-01-02T03:04:05Z",
        )  # fmt: skip

    def search(self, query: str, **options: object) -> list[Hit]:
        self.shelf.searched.append({"query": query, **options})
        words = set(query.lower().split())
        k = options["k"]
        assert isinstance(k, int)
        filters, only = options.get("filters"), options.get("documents")
        found = [
            self._hit(item)
            for item in self.documents(filters=filters)  # type: ignore[arg-type]
            if words & set(self.shelf.texts[item.id].text.lower().split())
            and (only is None or item.id in only)  # type: ignore[operator]
        ]
        return found[:k]

    def _hit(self, item: DocumentInfo) -> Hit:
        text = self.shelf.texts[item.id].text
        passage = Passage(
            id=f"{item.id}:0", document=item.id, sha256=item.sha256, title=item.title, text=text,
            start=0, end=len(text), page=1 if item.pages else None, heading=("Top", "Sub"),
        )  # fmt: skip
        return Hit(passage, score=0.75, fusion_score=0.5, lexical_rank=1, lexical_score=3.5)

    def documents(self, *, filters: Mapping[str, str] | None = None) -> list[DocumentInfo]:
        wanted = (filters or {}).items()
        return [
            item
            for item in self.shelf.documents.values()
            if all(_holds(item, key, value) for key, value in wanted)
        ]

    def paths(self, documents: Collection[str]) -> dict[str, tuple[str, ...]]:
        held = self.shelf.documents.values()
        return {item.id: item.paths for item in held if item.id in documents and item.paths}

    def document(self, name: str) -> DocumentInfo:
        for item in self.shelf.documents.values():
            if item.id.startswith(name) or name in {item.title, Path(item.paths[0]).name}:
                return item
        raise UsageError(f"no document {name!r}", hint="secondlook list")

    def text(self, document_id: str) -> Extracted:
        return self.shelf.texts[document_id]

    def remove(self, names: Sequence[str], *, purge: bool = False) -> list[FileChange]:
        self.shelf.purged.append(purge)
        gone: Collection[DocumentInfo] = [self.document(name) for name in names]
        for item in gone:
            del self.shelf.documents[item.id]
        return [FileChange(item.paths[0], "removed", item.id) for item in gone]

    def status(self) -> Status:
        held = len(self.shelf.documents)
        return Status(
            path=str(self.path), documents=held, passages=held, failed=tuple(self.shelf.failed),
            bytes=3_500_000, embedder="small@1", language=self.shelf.language, format=1,
            compact_due=self.shelf.compact_due,
            why_compact="many changes" if self.shelf.compact_due else "",
            writer=self.shelf.writer,
        )  # fmt: skip


def _holds(item: DocumentInfo, key: str, value: str) -> bool:
    own = {"kind": item.kind, "author": item.author, "language": item.language}
    return {**own, **item.metadata}.get(key) == value


def _pages(text: str) -> list[Page]:
    """A form feed starts a page; a text without one has no pages."""
    if "\f" not in text:
        return []
    found, start = [], 0
    for number, part in enumerate(text.split("\f"), 1):
        found.append(Page(number, start, start + len(part)))
        start += len(part) + 1
    return found
