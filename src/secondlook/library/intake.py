"""Taking documents in: from files, from bytes, from texts."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.document import Extracted
from secondlook.library.attaching import attach
from secondlook.library.catalog import FileRow
from secondlook.library.ingest import Ingest, Pace, ReadFile
from secondlook.library.labels import check_metadata
from secondlook.library.report import AddReport, FileChange, Progress
from secondlook.library.survey import Request, Survey, survey
from secondlook.library.tabulating import Tabulator, not_looked_at
from secondlook.retrieval.parse import PARSER_VERSION, Parsed, ParseLimits, ParserPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from secondlook.library.change import Stores
    from secondlook.library.manifest import Manifest
    from secondlook.library.report import Text
    from secondlook.reading.port import Embedder
    from secondlook.settings import IngestSettings


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
            pace = Pace(self.settings.commit_passages, self.settings.commit_seconds)
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
        return ParseLimits(
            idle_seconds=self.settings.idle_seconds,
            file_bytes=self.settings.max_file_mb << 20,
            table_bytes=self.settings.max_table_mb << 20,
            ocr=self.settings.ocr,
            ocr_language=self.settings.ocr_language,
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
