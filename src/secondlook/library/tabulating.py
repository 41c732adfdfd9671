"""From a document's file to its tables: read, profiled, and on record before the commit."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from secondlook.errors import ExtractionError, TableError
from secondlook.library.tables import not_writable
from secondlook.tables.reading.port import READER_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from secondlook.library.catalog import DocumentRow
    from secondlook.library.tables import TableStore
    from secondlook.retrieval.parse import Parsed
    from secondlook.tables.reading.port import Read
    from secondlook.tables.worker import Worker

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
        from secondlook.tables.reading import read_tables

        worker = self._started()
        self._store.folder.mkdir(parents=True, exist_ok=True)
        found = read_tables(place, self._store.folder, worker=worker, on_progress=on_progress)
        self._profile(found, worker)
        return found

    def _profile(self, found: list[Read], worker: Worker) -> None:
        """Now, so that the first question need not wait for it; or else then."""
        from secondlook.tables.profiling import cached_profile

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
