"""The tables of a library's documents: Parquet files of ours, and which document holds which.

`tables/records/DOCUMENT.READER.json` says what one version of the reader found in a document, also
where that is nothing; `tables/ID.parquet` is a table, and its profile is cached beside it. Files
come before the record that names them, and go after it: what no record names is nobody's.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from secondlook.library.catalog import not_writable, write_whole
from secondlook.tables.read import STAGE_PREFIX
from secondlook.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

FOLDER = "tables"
_RECORDS = "records"
_DAMAGED = "its record is damaged"
_Said: TypeAlias = "tuple[tuple[Table, ...], str | None]"


class TableStore:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: dict[Path, tuple[int, _Said]] = {}
        """Records that were read, with the time of each: they change rarely."""

    def has(self, document: str, reader: str) -> bool:
        """Whether this version of the reader has read the document, and its tables are there."""
        file = self._record(document, reader)
        return file.exists() and self._is_whole(file)

    def known(self, reader: str) -> set[str]:
        """Every document that this version of the reader has looked at."""
        return {
            document
            for document, version, file in self._records()
            if version == reader and self._is_whole(file)
        }

    def tables(self, document: str) -> tuple[Table, ...]:
        """Those of a document whose files are there, as the latest reader found them."""
        return self._read(document)[0]

    def problem(self, document: str) -> str | None:
        """Why nothing of a document can be used as a table."""
        return self._read(document)[1]

    def holders(self) -> list[str]:
        """The documents that were looked at, by any version of the reader."""
        return sorted({document for document, _, _ in self._records()})

    def file(self, table: str) -> Path:
        return self.folder / f"{table}.parquet"

    def write(
        self, document: str, reader: str, tables: Sequence[Table], *, problem: str | None = None
    ) -> None:
        """Say what a document holds. The files of its tables lie in `folder` already."""
        said = {"tables": [table.model_dump(mode="json") for table in tables], "problem": problem}
        target = self._record(document, reader)
        try:
            write_whole(target, json.dumps(said, ensure_ascii=False).encode())
        except OSError as error:
            raise not_writable("table", target, error) from error

    def delete(self, document: str) -> None:
        """Forget the tables of a document. Doing it twice does no harm."""
        held = {table.id for file in self._records_of(document) for table in self._said(file)[0]}
        for file in self._records_of(document):
            file.unlink(missing_ok=True)
        self._delete_files(lambda table: table in held)

    def sweep(self, keep: Collection[str]) -> None:
        """Delete what belongs to none of these documents: leftovers of interrupted work."""
        wanted = set(keep)
        for document, _, file in list(self._records()):
            if document not in wanted:
                file.unlink(missing_ok=True)
        held = {table.id for _, _, file in self._records() for table in self._said(file)[0]}
        self._delete_files(lambda table: table not in held)
        for stage in self.folder.glob(f"{STAGE_PREFIX}*"):
            shutil.rmtree(stage, ignore_errors=True)

    def _read(self, document: str) -> _Said:
        """The newest record counts: a document is read again only while its file is there."""
        for file in sorted(self._records_of(document), key=_time, reverse=True):
            tables, problem = self._said(file)
            there = tuple(table for table in tables if self.file(table.id).exists())
            if there or not tables:
                return there, problem
        return (), None

    def _is_whole(self, file: Path) -> bool:
        tables, problem = self._said(file)
        return problem != _DAMAGED and all(self.file(table.id).exists() for table in tables)

    def _said(self, file: Path) -> _Said:
        """What a record says. A damaged one names no table: its document is read again."""
        time = _time(file)
        known = self._seen.get(file)
        if known is None or known[0] != time:
            try:
                said: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
                tables = tuple(Table.model_validate(item) for item in said["tables"])
                known = time, (tables, said["problem"])
            except (OSError, ValueError, LookupError, TypeError, ValidationError):
                known = time, ((), _DAMAGED)
            self._seen[file] = known
        return known[1]

    def _delete_files(self, is_gone: Callable[[str], bool]) -> None:
        """The files of a table begin with its id."""
        for file in self.folder.glob("*"):
            if file.is_file() and is_gone(file.name.partition(".")[0]):
                # Windows keeps a file that somebody reads: the next sweep finds it.
                with contextlib.suppress(OSError):
                    file.unlink()

    def _record(self, document: str, reader: str) -> Path:
        return self.folder / _RECORDS / f"{document}.{reader}.json"

    def _records_of(self, document: str) -> list[Path]:
        return list((self.folder / _RECORDS).glob(f"{document}.*.json"))

    def _records(self) -> Iterator[tuple[str, str, Path]]:
        for file in (self.folder / _RECORDS).glob("*.json"):
            document, _, rest = file.name.partition(".")
            yield document, rest.removesuffix(".json"), file


def _time(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
