"""Taking documents in: parser processes read, one thread cuts, embeds and commits, the caller's
thread reports. A file is reported only once the commit that holds it is done."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

import numpy as np

from secondlook.document import Extracted
from secondlook.errors import ExtractionError, NoText, TableError
from secondlook.library.catalog import DocumentRow, FileRow, check_metadata, not_writable
from secondlook.library.commit import (
    Change,
    NewDocument,
    Prepared,
    Stores,
    attach,
    commit,
    document_id,
    held_document,
    prepare,
    version_of_parser,
)
from secondlook.library.report import AddReport, FileChange, Progress, Text
from secondlook.library.survey import MEMBER_SEPARATOR, Request, Survey, survey
from secondlook.library.uploads import sha256_of
from secondlook.retrieval.parse.pool import ParserPool
from secondlook.retrieval.parse.source import PARSER_VERSION, Parsed, ParseLimits
from secondlook.tables.read import READER_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from secondlook.library.manifest import Manifest
    from secondlook.library.tables import TableStore
    from secondlook.reading.port import Embedder
    from secondlook.retrieval.index.port import Vectors
    from secondlook.retrieval.web.site import Page
    from secondlook.settings.sections import IngestSettings
    from secondlook.tables.worker import Worker

_EMBED_AT_ONCE = 128
_TICK_SECONDS = 0.1
_COMMIT_PASSAGES, _COMMIT_SECONDS = 500, 5.0  # how much is gathered before a commit


@dataclass(frozen=True, slots=True)
class ReadFile:
    files: list[FileRow]
    parsed: list[Parsed]
    place: Path | None = None  # where it can be read again, for its tables


class _Stopped(Exception):
    """Nothing new is begun; what is in the batch is still committed."""


@dataclass(slots=True)
class _Item:
    prepared: list[Prepared] = field(default_factory=list)
    attached: list[DocumentRow] = field(default_factory=list)
    files: list[FileRow] = field(default_factory=list)
    gone_files: list[str] = field(default_factory=list)
    changes: list[FileChange] = field(default_factory=list)
    read: int = 0

    @property
    def passages(self) -> int:
        return sum(len(document.entries) for document in self.prepared)


class Intake:
    """One act of adding. Its maker holds the write lock, except for `plan`."""

    _embedder: Embedder  # loaded when there is something to take in
    _flushed: float

    def __init__(
        self,
        stores: Stores,
        manifest: Manifest,
        settings: IngestSettings,
        *,
        embedder: Callable[[], Embedder],
        progress: Callable[[Progress], None],
        done: Callable[[FileChange], None],
    ) -> None:
        self._stores, self._manifest, self._settings = stores, manifest, settings
        self._load_embedder, self._tell, self._stored = embedder, progress, done
        self._tables = Tabulator(stores.tables)
        self._started = time.monotonic()
        self._stop = threading.Event()
        self._batch = Change()
        self._batch_changes: list[FileChange] = []
        self._changes: list[FileChange] = []
        self._commits = self._passages_read = 0
        self._done = Progress("reading")
        self._table: tuple[str, float] | None = None  # that is being read, and how much of it is
        self._pool: ParserPool | None = None

    def plan(self, request: Request) -> AddReport:
        """What `add` would do: files to read count as added or updated before they are read."""
        found = self._survey(request)
        files = [file for files in found.to_read.values() for file in files]
        reading = [FileChange(one.path, "updated" if one.document else "added") for one in files]
        return AddReport([*found.changes, *reading], self._seconds(), dry_run=True)

    def add(self, request: Request) -> AddReport:
        try:
            found = self._survey(request)
        except KeyboardInterrupt:
            return AddReport([], self._seconds(), interrupted=True)
        with self._stores.catalog.transaction():
            self._stores.catalog.put_files([*found.to_touch, *found.failed])
        attach(self._stores, found.to_attach, found.to_drop)
        for change in found.changes:
            self._stored(change)
        places = {digest: Path(files[0].path) for digest, files in found.to_read.items()}
        sources = (
            ReadFile(found.to_read[digest], parsed, places[digest])
            for digest, parsed in self._parsed(places)
        )
        total = sum(len(files) for files in found.to_read.values())
        self._tables.force = request.force
        return self._take_in(sources, found.changes, total)

    def add_bytes(self, data: bytes, name: str, metadata: Mapping[str, str]) -> AddReport:
        digest = sha256(data).hexdigest()
        row = _loose_row(f"stdin:{name}", digest, len(data), metadata)
        if held := self._held(row):
            return AddReport([held], self._seconds())
        with tempfile.TemporaryDirectory() as scratch:
            # The parser goes by content and name, so the scratch file keeps the last part of it.
            file = Path(scratch) / (Path(name).name or "stdin")
            file.write_bytes(data)
            parsed = self._parsed({digest: file})
            return self._take_in((ReadFile([row], parts, file) for _, parts in parsed), [], 1)

    def add_texts(self, texts: Iterable[Text]) -> AddReport:
        held: list[FileChange] = []
        new: list[ReadFile] = []
        for text in texts:
            check_metadata(text.metadata)
            whole = f"{text.title}\n\n{text.text}" if text.title else text.text
            data = whole.encode(errors="replace")
            digest = sha256(data).hexdigest()
            row = _loose_row(f"text:{text.name}", digest, len(data), text.metadata)
            if same := self._held(row):
                held.append(same)
                continue
            extracted = Extracted(text.text, title=text.title or text.name)
            new.append(ReadFile([row], [Parsed("", digest, len(data), extracted, None)]))
        return self._take_in(iter(new), held, len(new))

    def add_pages(self, pages: Iterable[Page], metadata: Mapping[str, str]) -> AddReport:
        """Their source is their address. What fails keeps what was read of it before."""
        changes: list[FileChange] = []
        to_read: dict[str, list[FileRow]] = {}
        places: dict[str, Path] = {}
        for page in pages:
            if page.file is None:
                changes.append(FileChange(page.url, "failed", reason=page.problem))
                continue
            digest, known = sha256_of(page.file), self._stores.catalog.file(page.url)
            labels = {**(known.metadata if known else {}), **metadata}
            row = _loose_row(page.url, digest, page.file.stat().st_size, labels)
            row = replace(row, folders=[urlsplit(page.url).hostname or ""])
            if held := self._held(row):
                changes.append(held)
            else:
                to_read.setdefault(digest, []).append(row)
                places.setdefault(digest, page.file)
        for change in changes:
            self._stored(change)
        sources = (
            ReadFile(to_read[one], parts, places[one]) for one, parts in self._parsed(places)
        )
        return self._take_in(sources, changes, sum(map(len, to_read.values())))

    def _held(self, row: FileRow) -> FileChange | None:
        """What need not be read: as it was, or the content of a document under another name."""
        known = self._stores.catalog.file(row.path)
        said = (row.sha256, row.metadata, row.parser)
        if known and known.document and (known.sha256, known.metadata, known.parser) == said:
            return FileChange(known.path, "unchanged", known.document)
        held = self._stores.catalog.document(document_id(row.sha256))
        if held is None or version_of_parser(held.parser) != PARSER_VERSION:
            return None
        attach(self._stores, [replace(row, document=held.id)], [])
        if known and known.document == held.id:
            return FileChange(row.path, "updated", held.id, 0, "labels changed")
        return FileChange(row.path, "duplicate", held.id, 0, f"same content as {held.title!r}")

    def _survey(self, request: Request) -> Survey:
        def looked(count: int, path: str) -> None:
            self._tell(Progress("looking", files_total=count, current=path))

        # Documents that may hold tables and were stored before this version of the reader.
        known, rows = self._stores.tables.known(READER_VERSION), self._stores.catalog.documents()
        stale = {row.id for row in rows if row.kind in _TABLE_KINDS and row.id not in known}
        request = replace(request, stale=frozenset(stale))
        return survey(self._stores.catalog, request, looked=looked)

    def _parsed(self, jobs: dict[str, Path]) -> Iterator[tuple[str, list[Parsed]]]:
        if not jobs:
            return
        ocr = self._settings.ocr
        limits = ParseLimits(
            file_bytes=self._settings.max_file_mb << 20,
            ocr="off" if ocr == "off" else "auto",
            ocr_language=None if ocr in {"off", "auto"} else ocr,
        )
        # Embedding keeps the cores busy; parsing needs a small share of them.
        workers = self._settings.workers or max(1, min(4, (os.cpu_count() or 2) // 2))
        with ParserPool(min(len(jobs), workers), limits) as self._pool:
            try:
                yield from self._pool.parse(jobs.items())
            except ValueError:
                self._go_on()  # it was closed under way
                raise

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _take_in(
        self, sources: Iterator[ReadFile], changes: list[FileChange], total: int
    ) -> AddReport:
        report = AddReport(self._changes)
        if total:
            self._embedder = self._load_embedder()
            self._done, self._flushed = Progress("reading", files_total=total), time.monotonic()
            try:
                report.interrupted = not self._run(sources)
            finally:
                self._tables.close()
            self._stores.tables.sweep(self._stores.catalog.ids())
            if not report.interrupted and self._stores.index.stats().compact_due:
                files = len(report.changes)
                self._tell(Progress("finishing", files, files, report.passages))
                self._stores.index.compact()
        report.changes = [*changes, *self._changes]
        report.seconds = self._seconds()
        return report

    def _run(self, sources: Iterator[ReadFile]) -> bool:
        """False when stopped by Ctrl-C. A file is told of once it is stored."""
        completed, reported = True, 0
        with ThreadPoolExecutor(1, thread_name_prefix="secondlook") as threads:
            work = threads.submit(self._work, sources)
            while True:
                try:
                    is_over = bool(wait([work], timeout=_TICK_SECONDS).done)
                    now = replace(self._done, passages_read=self._passages_read)
                    if table := self._table:
                        now = replace(now, stage="tables", current=table[0], share=table[1])
                    self._tell(now)
                    for change in self._changes[reported:]:
                        reported += 1
                        self._stored(change)
                    if is_over:
                        break
                except BaseException as error:
                    # Nothing new is begun, and what takes its time is given up.
                    self._stop.set()
                    self._tables.close()
                    if self._pool is not None:
                        self._pool.close()
                    if not isinstance(error, KeyboardInterrupt):
                        raise
                    completed = False
        work.result()
        return completed

    def _cut(self, source: ReadFile) -> Iterator[_Item]:
        """What is in a file, a large archive in several pieces; the last names the file itself."""
        item = _Item()
        for parsed in source.parsed:
            self._go_on()
            if item.passages >= _COMMIT_PASSAGES:
                yield item
                item = _Item()
            document, problem = self._document(item, parsed)
            if document and source.place and holds_tables(source.place, parsed):
                self._table = (source.files[0].path, 0.0)
                try:
                    self._tables.take_in(document.id, source.place, on_progress=self._table_read)
                except TableError:
                    self._go_on()
                    raise
                self._table = None
            for number, file in enumerate(source.files):
                self._place(item, file, parsed, document, problem, copy=number > 0)
        for file in source.files:
            # The archive's own row comes last. Members go that it no longer has.
            names = [part.member for part in source.parsed]
            members = {f"{file.path}{MEMBER_SEPARATOR}{name}" for name in names if name}
            held = {row.path for row in self._stores.catalog.members_of(file.path)}
            item.gone_files.extend(sorted(held - members))
            if all(names):
                item.files.append(replace(file, document=None))
        item.read = len(source.files)
        yield item

    def _table_read(self, share: float) -> None:
        if self._table is not None:
            self._table = (self._table[0], share)

    def _document(
        self, item: _Item, parsed: Parsed
    ) -> tuple[DocumentRow | None, ExtractionError | None]:
        if parsed.extracted is None:
            return None, parsed.error
        identifier = document_id(parsed.sha256)
        if parsed.member:
            queued = next((p.row for p in item.prepared if p.row.id == identifier), None)
            held = queued or self._stores.catalog.document(identifier)
            if held is not None and version_of_parser(held.parser) == PARSER_VERSION:
                item.attached.append(held)
                return held, None
        prepared = prepare(
            parsed.extracted,
            sha256=parsed.sha256,
            size=parsed.bytes,
            parser=PARSER_VERSION,
            manifest=self._manifest,
            embedder=self._embedder,
            go_on=self._go_on,
        )
        if not prepared.entries:
            return None, NoText("it holds no text")
        item.prepared.append(prepared)
        return prepared.row, None

    def _place(
        self,
        item: _Item,
        file: FileRow,
        parsed: Parsed,
        document: DocumentRow | None,
        problem: ExtractionError | None,
        *,
        copy: bool,
    ) -> None:
        path = f"{file.path}{MEMBER_SEPARATOR}{parsed.member}" if parsed.member else file.path
        known = self._stores.catalog.file(path)
        hint = f" ({problem.hint})" if problem and problem.hint else ""
        reason = f"{problem.message}{hint}" if problem else None
        row = replace(
            file,
            path=path,
            container=file.path if parsed.member else None,
            sha256=parsed.sha256 or file.sha256,
            bytes=parsed.bytes if parsed.member else file.bytes,
            document=document.id if document else None,
            error=type(problem).__name__ if problem else None,
            reason=reason,
        )
        item.files.append(row)
        was_held = known is not None and known.document is not None
        if document is None:
            change = FileChange(path, "failed", reason=reason or "")
        elif copy and not was_held:
            same = f"same content as {document.title!r}"
            change = FileChange(path, "duplicate", document.id, 0, same)
        else:
            what: Literal["updated", "added"] = "updated" if was_held else "added"
            change = FileChange(path, what, document.id, document.passages)
        item.changes.append(change)

    def _work(self, sources: Iterator[ReadFile]) -> None:
        waiting: list[_Item] = []
        with contextlib.suppress(_Stopped):
            for item in chain.from_iterable(map(self._cut, sources)):
                waiting.append(item)
                self._passages_read += item.passages
                is_due = time.monotonic() - self._flushed >= _COMMIT_SECONDS
                if is_due or sum(item.passages for item in waiting) >= _EMBED_AT_ONCE:
                    self._store(waiting)
                    waiting = []
                if is_due or self._batch.passages >= _COMMIT_PASSAGES:
                    self._flush()
            self._store(waiting)
        self._flush()

    def _store(self, items: list[_Item]) -> None:
        """Embeds what was cut and puts it into the batch, all of it or, when stopped, nothing."""
        texts = [text for item in items for one in item.prepared for text in one.to_embed]
        vectors = [np.empty((0, self._manifest.dimensions), np.float32)]
        for start in range(0, len(texts), _EMBED_AT_ONCE):
            self._go_on()
            part = texts[start : start + _EMBED_AT_ONCE]
            vectors.append(self._embedder.embed_passages(part))
            self._advance(passages=len(part))
        self._stage(items, np.concatenate(vectors))

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise _Stopped

    def _stage(self, gathered: list[_Item], vectors: Vectors) -> None:
        batch, start = self._batch, 0
        staged = {document.row.id for document in batch.documents}
        for item in gathered:
            for one in item.prepared:
                part = vectors[start : start + len(one.entries)]
                start += len(one.entries)
                if one.row.id not in staged:
                    staged.add(one.row.id)
                    batch.documents.append(NewDocument(one.row, one.extracted, one.entries, part))
            for row in item.attached:
                if row.id not in staged:
                    staged.add(row.id)
                    batch.documents.append(held_document(self._stores, row))
            batch.files.extend(item.files)
            batch.gone_files.extend(item.gone_files)
            self._batch_changes.extend(item.changes)
            failed = sum(change.change == "failed" for change in item.changes)
            self._advance(files=item.read, failed=failed, current=item.changes[-1].path)

    def _flush(self) -> None:
        if self._batch.files or self._batch.gone_files:
            commit(self._stores, self._batch)
            self._commits += 1
            if self._commits % 100 == 0:
                # Thousands of small fragments would slow every search until the end of a long add.
                self._stores.index.compact()
        self._changes.extend(self._batch_changes)
        self._batch, self._batch_changes = Change(), []
        self._flushed = time.monotonic()

    def _advance(
        self, *, files: int = 0, passages: int = 0, failed: int = 0, current: str = ""
    ) -> None:
        done = self._done
        self._done = replace(
            done,
            stage="indexing",
            files_done=done.files_done + files,
            passages=done.passages + passages,
            failed=done.failed + failed,
            current=current or done.current,
        )


def _loose_row(path: str, digest: str, size: int, metadata: Mapping[str, str]) -> FileRow:
    return FileRow(path, digest, size, -1, PARSER_VERSION, metadata=dict(metadata))


# From a document's file to its tables: read, profiled, and on record before the commit.

_TABLE_KINDS: Final = frozenset({"csv", "sheet", "parquet", "sqlite", "jsonl"})
"""Kinds of documents that hold tables. JSON may hold anything: an array of it is tried."""


class Tabulator:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self.force = False  # also what is known is read again
        self._worker: Worker | None = None
        self._lock = threading.Lock()
        self._closed = False

    def take_in(
        self, document: str, place: Path, *, on_progress: Callable[[float], None] | None = None
    ) -> None:
        """Read the tables in the file `place`. One that is no table stays a document, and its
        record says why."""
        from secondlook.tables.desk import cached_profile
        from secondlook.tables.read import read_tables

        folder = self._store.folder
        if not self.force and self._store.known(READER_VERSION, document):
            return
        try:
            worker = self._started()
            folder.mkdir(parents=True, exist_ok=True)
            found = read_tables(place, folder, worker=worker, on_progress=on_progress)
            for one in found:
                # Profiled now, so that the first question need not wait for it; or else then.
                try:
                    cached_profile(folder, worker, one.table, one.file)
                except TableError:
                    if self._closed:
                        raise
        except (TableError, ExtractionError) as error:
            if self._closed:
                raise
            self._store.write(document, READER_VERSION, (), problem=error.message)
        except OSError as error:
            raise not_writable("table", folder, error) from error
        else:
            self._store.write(document, READER_VERSION, [one.table for one in found])

    def close(self) -> None:
        with self._lock:
            self._closed = True
            worker = self._worker
        if worker is not None:
            worker.close()

    def _started(self) -> Worker:
        from secondlook.tables.worker import Worker

        with self._lock:
            if self._closed:
                raise TableError("work on a table was stopped")
            self._worker = self._worker or Worker()
            return self._worker


def holds_tables(place: Path, parsed: Parsed) -> bool:
    """Whether tables can be read out of the file itself, or it is one that is compressed. What lies
    in an archive has no file of its own."""
    extracted = parsed.extracted
    if extracted is None or (parsed.member and f"{parsed.member}.gz" != place.name):
        return False
    is_array = extracted.kind == "json" and (extracted.card or extracted.text.startswith("["))
    return extracted.kind in _TABLE_KINDS or is_array
