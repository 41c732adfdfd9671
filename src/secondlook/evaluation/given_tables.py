"""The table of each question: read and profiled once for its contents, used by every
configuration. A question sees its own table alone."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from filelock import FileLock
from pydantic import ValidationError

from secondlook.errors import LibraryError
from secondlook.tables.desk import Desk
from secondlook.tables.reading import READER_VERSION, read_tables
from secondlook.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.evaluation.datasets.tables import TableFile
    from secondlook.tables.worker import Worker

    Entry = tuple[Table, Path]

_NAMES = "tables.json"
_SUFFIX = ".parquet"

GIVEN: ContextVar[Desk | None] = ContextVar("given", default=None)
"""The tables of the question that is being answered; the nodes of its run inherit it."""


@contextmanager
def given(desk: Desk | None) -> Iterator[None]:
    """Until it is left, questions are about these tables."""
    token = GIVEN.set(desk)
    try:
        yield
    finally:
        GIVEN.reset(token)


@dataclass(slots=True)
class GivenTables:
    """The tables of a set, by their names in it. Threads may share one."""

    read_table: Callable[[str], TableFile]
    folder: Path
    worker: Callable[[], Worker]
    _desks: dict[str, Desk] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def desk(self, name: str) -> Desk:
        """With this table alone, read now if it never was."""
        with self._lock:
            if name not in self._desks:
                self._desks[name] = self._opened(self.read_table(name))
            return self._desks[name]

    def _opened(self, table: TableFile) -> Desk:
        digest = hashlib.sha256(table.file.encode() + b"\0" + table.content).hexdigest()
        place = self.folder / digest[:32]
        try:
            place.mkdir(parents=True, exist_ok=True)
            with FileLock(place.with_suffix(".lock")):
                entries = _held(place) or self._read(table, place)
        except OSError as error:
            raise LibraryError(
                f"the table {table.file!r} cannot be kept under {str(place)!r}: {error}",
                hint="make room there, or name another folder in SECONDLOOK_CACHE",
            ) from error
        desk = Desk(entries, folder=place, worker=self.worker())
        for one, _ in entries:
            desk.profile(one.id)  # no configuration pays for what the first one would
        return desk

    def _read(self, table: TableFile, place: Path) -> list[Entry]:
        source = place / table.file
        source.write_bytes(table.content)
        read = read_tables(source, place, worker=self.worker())
        said = {
            "reader": READER_VERSION,
            "tables": [one.table.model_dump(mode="json") for one in read],
        }
        partial = place / f".{_NAMES}.partial-{os.getpid()}"
        partial.write_text(json.dumps(said), encoding="utf-8")
        partial.replace(place / _NAMES)
        return [(one.table, one.file) for one in read]


def _held(place: Path) -> list[Entry]:
    """As this version's reader read them; empty where it has not."""
    try:
        said = json.loads((place / _NAMES).read_text(encoding="utf-8"))
        if said["reader"] != READER_VERSION:
            return []
        tables = [Table.model_validate(item) for item in said["tables"]]
    except (OSError, ValueError, LookupError, TypeError, ValidationError):
        return []
    found = [(table, place / f"{table.id}{_SUFFIX}") for table in tables]
    return found if all(file.is_file() for _, file in found) else []
