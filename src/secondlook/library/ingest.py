"""Reading, embedding and storing, side by side.

One thread takes what the parser processes deliver and cuts it into passages; another embeds them
and commits in batches; the caller's thread reports progress and listens for Ctrl-C. A file is
reported only once the commit that holds it is done.
"""

from __future__ import annotations

import os
import queue
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from secondlook.document import Extracted
from secondlook.errors import ExtractionError, NoText, TableError
from secondlook.library.catalog import FileRow, check_metadata
from secondlook.library.commit import (
    Change,
    NewDocument,
    Prepared,
    attach,
    commit,
    document_id,
    held_document,
    is_made_by,
    prepare,
)
from secondlook.library.report import AddReport, FileChange, Progress
from secondlook.library.report import Change as ChangeKind
from secondlook.library.survey import MEMBER_SEPARATOR, Request, Survey, survey
from secondlook.library.tables import not_writable
from secondlook.retrieval.parse.pool import ParserPool
from secondlook.retrieval.parse.source import PARSER_VERSION, Parsed, ParseLimits
from secondlook.tables.read import READER_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from concurrent.futures import Future

    from secondlook.library.catalog import DocumentRow
    from secondlook.library.commit import Stores
    from secondlook.library.manifest import Manifest
    from secondlook.library.report import Text
    from secondlook.library.tables import TableStore
    from secondlook.reading.port import Embedder
    from secondlook.settings.sections import IngestSettings
    from secondlook.tables.read import Read
    from secondlook.tables.worker import Worker

# Taking documents in: from files, from bytes, from texts.


@dataclass(frozen=True, slots=True)
class Intake:
    """One act of adding. Whoever makes it holds the write lock, except for `plan`."""

    stores: Stores
    manifest: Manifest
    settings: IngestSettings
    embedder: Callable[[], Embedder]
    progress: Callable[[Progress], None]
    done: Callable[[FileChange], None]
    started: float = field(default_factory=time.monotonic)

    def plan(self, request: Request) -> AddReport:
        """What `add` would do."""
        return AddReport(_planned(self._survey(request)), self._seconds(), dry_run=True)

    def add(self, request: Request) -> AddReport:
        try:
            found = self._survey(request)
        except KeyboardInterrupt:
            return AddReport([], self._seconds(), interrupted=True)
        return self._carry_out(found, force=request.force)

    def add_bytes(self, data: bytes, name: str, metadata: Mapping[str, str]) -> AddReport:
        digest = sha256(data).hexdigest()
        row = _loose_row(f"stdin:{name}", digest, len(data), metadata)
        if unchanged := self._unchanged(row):
            return AddReport([unchanged], self._seconds())
        with tempfile.TemporaryDirectory() as scratch:
            # The parser goes by content and name, so the scratch file keeps the last part of it.
            file = Path(scratch) / (Path(name).name or "stdin")
            file.write_bytes(data)
            parsed = self._parsed([(digest, file)])
            return self._take_in((ReadFile([row], parts, file) for _, parts in parsed), total=1)

    def add_texts(self, texts: Iterable[Text]) -> AddReport:
        unchanged: list[FileChange] = []
        new: list[ReadFile] = []
        for text in texts:
            check_metadata(text.metadata)
            source = _text_source(text)
            if same := self._unchanged(source.files[0]):
                unchanged.append(same)
            else:
                new.append(source)
        report = self._take_in(iter(new), total=len(new))
        report.changes[:0] = unchanged
        return report

    def _unchanged(self, row: FileRow) -> FileChange | None:
        known = self.stores.catalog.file(row.path)
        if known is None or known.document is None:
            return None
        same = (known.sha256, known.metadata, known.parser) == (
            row.sha256,
            row.metadata,
            row.parser,
        )
        return FileChange(known.path, "unchanged", known.document) if same else None

    def _survey(self, request: Request) -> Survey:
        def looked(count: int, path: str) -> None:
            self.progress(Progress("looking", files_total=count, current=path))

        stale = not_looked_at(self.stores.catalog.documents(), self.stores.tables)
        return survey(self.stores.catalog, replace(request, stale=stale), looked=looked)

    def _carry_out(self, found: Survey, *, force: bool) -> AddReport:
        with self.stores.catalog.transaction():
            self.stores.catalog.put_files([*found.to_touch, *found.failed])
        attach(self.stores, found.to_attach, found.to_drop)
        jobs = [(digest, Path(files[0].path)) for digest, files in found.to_read.items()]
        total = sum(len(files) for files in found.to_read.values())
        for change in found.changes:
            self.done(change)
        places = dict(jobs)
        sources = (
            ReadFile(found.to_read[digest], parsed, places[digest])
            for digest, parsed in self._parsed(jobs)
        )
        report = self._take_in(sources, total=total, force=force)
        report.changes[:0] = found.changes
        return report

    def _take_in(
        self, sources: Iterator[ReadFile], *, total: int, force: bool = False
    ) -> AddReport:
        report = AddReport()
        if total:
            pace = Pace()
            tables = Tabulator(self.stores.tables, force=force)
            ingest = Ingest(
                self.stores,
                self.manifest,
                self.embedder(),
                PARSER_VERSION,
                pace=pace,
                tables=tables,
            )
            try:
                report.interrupted = not ingest.run(
                    sources, total=total, progress=self.progress, done=self.done
                )
            finally:
                tables.close()
            report.changes = ingest.changes
            self.stores.tables.sweep(self.stores.catalog.ids())
            self._compact_if_due(report)
        report.seconds = self._seconds()
        return report

    def _compact_if_due(self, report: AddReport) -> None:
        if not report.interrupted and self.stores.index.stats().compact_due:
            files = len(report.changes)
            self.progress(Progress("finishing", files, files, report.passages))
            self.stores.index.compact()

    def _parsed(self, jobs: list[tuple[str, Path]]) -> Iterator[tuple[str, list[Parsed]]]:
        if jobs:
            with ParserPool(min(len(jobs), self._workers()), self._limits()) as pool:
                yield from pool.parse(jobs)

    def _workers(self) -> int:
        # Embedding keeps the cores busy; parsing needs a small share of them.
        return self.settings.workers or max(1, min(4, (os.cpu_count() or 2) // 2))

    def _limits(self) -> ParseLimits:
        ocr = self.settings.ocr
        return ParseLimits(
            file_bytes=self.settings.max_file_mb << 20,
            ocr="off" if ocr == "off" else "auto",
            ocr_language="eng" if ocr in {"off", "auto"} else ocr,
        )

    def _seconds(self) -> float:
        return time.monotonic() - self.started


def _loose_row(path: str, digest: str, size: int, metadata: Mapping[str, str]) -> FileRow:
    """The row of something that lies in no file."""
    return FileRow(path, digest, size, -1, PARSER_VERSION, metadata=dict(metadata))


def _text_source(text: Text) -> ReadFile:
    whole = f"{text.title}\n\n{text.text}" if text.title else text.text
    data = whole.encode(errors="replace")
    digest = sha256(data).hexdigest()
    row = _loose_row(f"text:{text.name}", digest, len(data), text.metadata)
    extracted = Extracted(text.text, title=text.title or text.name)
    return ReadFile([row], [Parsed("", digest, len(data), extracted, None)])


def _planned(found: Survey) -> list[FileChange]:
    """What a dry run reports: files to read count as added or updated before they are read."""
    reading = [
        FileChange(file.path, "updated" if file.document else "added")
        for files in found.to_read.values()
        for file in files
    ]
    return [*found.changes, *reading]


_EMBED_AT_ONCE = 128
_QUEUED_DOCUMENTS = 64
_TICK_SECONDS = 0.1
_COMMITS_BETWEEN_COMPACTIONS = 100


@dataclass(frozen=True, slots=True)
class ReadFile:
    """One content with the files that hold it, as a parser delivered it."""

    files: list[FileRow]
    parsed: list[Parsed]
    place: Path | None = None
    """Where it can be read again, for its tables; None where it lies in no file."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is gathered before a commit."""

    passages: int = 500
    seconds: float = 5.0


@dataclass(slots=True)
class _Item:
    """What goes from the cutting to the embedding thread: documents and rows of files."""

    prepared: list[Prepared] = field(default_factory=list)
    attached: list[DocumentRow] = field(default_factory=list)
    files: list[FileRow] = field(default_factory=list)
    gone_files: list[str] = field(default_factory=list)
    changes: list[FileChange] = field(default_factory=list)
    read: int = 0

    @property
    def passages(self) -> int:
        return sum(len(document.entries) for document in self.prepared)


class Ingest:
    def __init__(
        self,
        stores: Stores,
        manifest: Manifest,
        embedder: Embedder,
        parser: str,
        *,
        pace: Pace,
        tables: Tabulator,
    ) -> None:
        self._stores = stores
        self._manifest = manifest
        self._embedder = embedder
        self._parser = parser
        self._pace = pace
        self._tables = tables
        self._queue: queue.Queue[_Item | None] = queue.Queue(_QUEUED_DOCUMENTS)
        self._stop = threading.Event()
        self._batch = Change()
        self._batch_changes: list[FileChange] = []
        self._batch_since = time.monotonic()
        self._commits = 0
        self._passages_read = 0
        self._done = Progress("reading")
        self._table: tuple[str, float] | None = None
        """The table that is being read, and how much of it is."""
        self.changes: list[FileChange] = []

    def run(
        self,
        sources: Iterator[ReadFile],
        *,
        total: int,
        progress: Callable[[Progress], None],
        done: Callable[[FileChange], None],
    ) -> bool:
        """Take in everything that `sources` yields. False when stopped by Ctrl-C.

        `done` is told of each file once it is stored, `progress` ten times a second how far it is.
        """
        self._done = Progress("reading", files_total=total)
        with ThreadPoolExecutor(2, thread_name_prefix="secondlook") as threads:
            work = [threads.submit(self._read, sources), threads.submit(self._store)]
            try:
                completed = self._watch(work, progress, done)
            except BaseException:
                self._end()
                raise
        for future in work:
            future.result()
        return completed

    def _watch(
        self,
        work: list[Future[None]],
        progress: Callable[[Progress], None],
        done: Callable[[FileChange], None],
    ) -> bool:
        completed = True
        told = 0
        while True:
            try:
                finished, running = wait(work, timeout=_TICK_SECONDS)
                if any(future.exception() for future in finished):
                    self._end()
                progress(self._how_far())
                for change in self.changes[told:]:
                    told += 1
                    done(change)
                if not running:
                    return completed
            except KeyboardInterrupt:
                self._end()
                completed = False

    def _how_far(self) -> Progress:
        table = self._table
        done = replace(self._done, passages_read=self._passages_read)
        if table is None:
            return done
        return replace(done, stage="tables", current=table[0], share=table[1])

    def _end(self) -> None:
        """Nothing new is begun, and a table that takes its time is given up."""
        self._stop.set()
        self._tables.close()

    # The cutting thread

    def _read(self, sources: Iterator[ReadFile]) -> None:
        try:
            for source in sources:
                if self._stop.is_set() or (item := self._unless_stopped(source)) is None:
                    break
                self._passages_read += item.passages
                self._send(item)
        finally:
            self._send(None)

    def _send(self, item: _Item | None) -> None:
        while True:
            try:
                self._queue.put(item, timeout=_TICK_SECONDS)
            except queue.Full:
                # Nobody takes anything any more, not even the end mark.
                if self._stop.is_set():
                    return
            else:
                return

    def _unless_stopped(self, source: ReadFile) -> _Item | None:
        try:
            return self._cut(source)
        except TableError:
            if self._stop.is_set():
                return None
            raise

    def _cut(self, source: ReadFile) -> _Item:
        item = _Item(read=len(source.files))
        for parsed in source.parsed:
            document, problem = self._document(item, parsed)
            if document is not None and holds_tables(source.place, parsed):
                self._tabulate(document, source)
            for number, file in enumerate(source.files):
                self._place(item, file, parsed, document, problem, copy=number > 0)
        for file in source.files:
            self._close_container(item, file, source.parsed)
        return item

    def _tabulate(self, document: DocumentRow, source: ReadFile) -> None:
        def on_progress(share: float) -> None:
            self._table = (source.files[0].path, share)

        if source.place is not None:
            on_progress(0.0)
            self._tables.take_in(document.id, source.place, on_progress=on_progress)
            self._table = None

    def _document(
        self, item: _Item, parsed: Parsed
    ) -> tuple[DocumentRow | None, ExtractionError | None]:
        """The row of the document in `parsed`, cut and queued unless it is held already."""
        if parsed.extracted is None:
            return None, parsed.error
        identifier = document_id(parsed.sha256)
        if parsed.member:
            queued = next((p.row for p in item.prepared if p.row.id == identifier), None)
            held = queued or self._stores.catalog.document(identifier)
            if held is not None and is_made_by(held.parser, self._parser):
                item.attached.append(held)
                return held, None
        prepared = prepare(
            parsed.extracted,
            sha256=parsed.sha256,
            size=parsed.bytes,
            parser=self._parser,
            manifest=self._manifest,
            embedder=self._embedder,
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
        item.files.append(
            replace(
                file,
                path=path,
                container=file.path if parsed.member else None,
                sha256=parsed.sha256 or file.sha256,
                bytes=parsed.bytes if parsed.member else file.bytes,
                document=document.id if document else None,
                error=type(problem).__name__ if problem else None,
                reason=_reason(problem),
            )
        )
        if document is None:
            item.changes.append(FileChange(path, "failed", reason=_reason(problem) or ""))
        elif copy and not (known and known.document):
            reason = f"same content as {document.title!r}"
            item.changes.append(FileChange(path, "duplicate", document.id, 0, reason))
        else:
            change: ChangeKind = "updated" if known and known.document else "added"
            item.changes.append(FileChange(path, change, document.id, document.passages))

    def _close_container(self, item: _Item, file: FileRow, parsed: list[Parsed]) -> None:
        """Write the archive's own row last, and let members go that it no longer has."""
        members = {f"{file.path}{MEMBER_SEPARATOR}{part.member}" for part in parsed if part.member}
        gone = {row.path for row in self._stores.catalog.members_of(file.path)} - members
        item.gone_files.extend(sorted(gone))
        if all(part.member for part in parsed):
            item.files.append(replace(file, document=None))

    # The embedding and committing thread

    def _store(self) -> None:
        try:
            while gathered := self._gather():
                texts = [
                    text for item in gathered for doc in item.prepared for text in doc.to_embed
                ]
                vectors = self._embed(texts)
                if vectors is None:
                    break
                self._stage(gathered, vectors)
                if self._due():
                    self._flush()
            self._flush()
        except BaseException:
            self._stop.set()
            raise

    def _gather(self) -> list[_Item]:
        """What is waiting, up to a good batch; empty when nothing will come any more."""
        gathered: list[_Item] = []
        passages = 0
        while passages < _EMBED_AT_ONCE and not self._stop.is_set():
            try:
                item = self._queue.get(timeout=_TICK_SECONDS)
            except queue.Empty:
                if gathered:
                    break
                if self._due():
                    self._flush()
                continue
            if item is None:
                # Everything after this call would wait for ever: leave the end mark in place.
                self._queue.put(None)
                break
            gathered.append(item)
            passages += item.passages
        return gathered

    def _embed(self, texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]] | None:
        parts = [np.empty((0, self._manifest.dimensions), np.float32)]
        for start in range(0, len(texts), _EMBED_AT_ONCE):
            if self._stop.is_set():
                return None
            parts.append(self._embedder.embed_passages(texts[start : start + _EMBED_AT_ONCE]))
            self._advance(passages=len(parts[-1]))
        return np.concatenate(parts)

    def _stage(
        self, gathered: list[_Item], vectors: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    ) -> None:
        staged = {document.row.id for document in self._batch.documents}
        start = 0
        for item in gathered:
            for document in item.prepared:
                end = start + len(document.entries)
                if document.row.id not in staged:
                    staged.add(document.row.id)
                    self._batch.documents.append(
                        NewDocument(
                            document.row, document.extracted, document.entries, vectors[start:end]
                        )
                    )
                start = end
            self._stage_rows(item, staged)

    def _stage_rows(self, item: _Item, staged: set[str]) -> None:
        self._batch.files.extend(item.files)
        self._batch.gone_files.extend(item.gone_files)
        for row in item.attached:
            if row.id not in staged:
                staged.add(row.id)
                self._batch.documents.append(held_document(self._stores, row))
        self._batch_changes.extend(item.changes)
        failed = sum(change.change == "failed" for change in item.changes)
        self._advance(files=item.read, failed=failed, current=item.changes[-1].path)

    def _due(self) -> bool:
        if not self._batch.files:
            self._batch_since = time.monotonic()
            return False
        waited = time.monotonic() - self._batch_since
        return self._batch.passages >= self._pace.passages or waited >= self._pace.seconds

    def _flush(self) -> None:
        if self._batch.files or self._batch.gone_files:
            commit(self._stores, self._batch)
            self._commits += 1
            if self._commits % _COMMITS_BETWEEN_COMPACTIONS == 0:
                # Thousands of small fragments would slow every search until the end of a long add.
                self._stores.index.compact()
        self.changes.extend(self._batch_changes)
        self._batch, self._batch_changes = Change(), []
        self._batch_since = time.monotonic()

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


def _reason(problem: ExtractionError | None) -> str | None:
    if problem is None:
        return None
    return f"{problem.message} ({problem.hint})" if problem.hint else problem.message


# From a document's file to its tables: read, profiled, and on record before the commit.

TABLE_KINDS: Final = frozenset({"csv", "sheet", "parquet", "sqlite", "jsonl"})
"""Kinds of documents that hold tables. JSON may hold anything: an array of it is tried."""
_COMPRESSED: Final = ".gz"


class Tabulator:
    """Reads tables while documents are taken in. Its process ends with `close`."""

    def __init__(self, store: TableStore, *, force: bool = False) -> None:
        self._store = store
        self._force = force
        self._worker: Worker | None = None
        self._lock = threading.Lock()
        self._closed = False

    def take_in(
        self, document: str, place: Path, *, on_progress: Callable[[float], None] | None = None
    ) -> None:
        """Read the tables in the file `place`, which holds the document.

        A file that is no table after all is not a failure: it stays a document, and its record
        says why it is nothing else.
        """
        if self._store.has(document, READER_VERSION) and not self._force:
            return
        try:
            found = self._read(place, on_progress)
        except (TableError, ExtractionError) as error:
            if self._closed:
                raise
            self._store.write(document, READER_VERSION, (), problem=error.message)
            return
        except OSError as error:
            raise not_writable(self._store.folder, error) from error
        self._store.write(document, READER_VERSION, [one.table for one in found])

    def close(self) -> None:
        """End the work, also what is under way. Any thread may call it."""
        with self._lock:
            self._closed = True
            worker = self._worker
        if worker is not None:
            worker.close()

    def _read(self, place: Path, on_progress: Callable[[float], None] | None) -> list[Read]:
        from secondlook.tables.read import read_tables

        worker = self._started()
        self._store.folder.mkdir(parents=True, exist_ok=True)
        found = read_tables(place, self._store.folder, worker=worker, on_progress=on_progress)
        self._profile(found, worker)
        return found

    def _profile(self, found: list[Read], worker: Worker) -> None:
        """Now, so that the first question need not wait for it; or else then."""
        from secondlook.tables.desk import cached_profile

        for one in found:
            try:
                cached_profile(self._store.folder, worker, one.table, one.file)
            except TableError:
                if self._closed:
                    raise

    def _started(self) -> Worker:
        from secondlook.tables.worker import Worker

        with self._lock:
            if self._closed:
                raise TableError("work on a table was stopped")
            if self._worker is None:
                self._worker = Worker()
            return self._worker


def holds_tables(place: Path | None, parsed: Parsed) -> bool:
    """Whether tables can be read out of the file itself, or it is one that is compressed. What lies
    in an archive has no file of its own."""
    extracted = parsed.extracted
    if place is None or extracted is None:
        return False
    if parsed.member and f"{parsed.member}{_COMPRESSED}" != place.name:
        return False
    is_array = extracted.kind == "json" and (extracted.card or extracted.text.startswith("["))
    return extracted.kind in TABLE_KINDS or is_array


def not_looked_at(rows: Iterable[DocumentRow], store: TableStore) -> frozenset[str]:
    """Documents that may hold tables and were stored before this version of the reader."""
    known = store.known(READER_VERSION)
    return frozenset(row.id for row in rows if row.kind in TABLE_KINDS and row.id not in known)
