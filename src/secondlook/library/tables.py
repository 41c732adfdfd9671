"""The tables of a library's documents. `tables/records/DOCUMENT.READER.json` says what one version
of the reader found, also nothing; `tables/ID.parquet` is a table, its profile beside it. Files come
before the record that names them, and go after it."""

from __future__ import annotations

import contextlib
import re
import shutil
from typing import TYPE_CHECKING

from secondlook.files import sealed, unsealed, write_whole
from secondlook.library.catalog import not_writable
from secondlook.tables.read import STAGE_PREFIX
from secondlook.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    _Record = tuple[int, tuple[Table, ...], str | None]  # when it was written, tables, problem

FOLDER = "tables"
_DAMAGED = "its record is damaged"


class TableStore:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: dict[Path, _Record] = {}  # records that were read: they change rarely

    def known(self, reader: str, document: str = "*") -> set[str]:
        found = set()
        for held, version, file in self._records(document):
            _, tables, problem = self._record(file)
            is_whole = problem != _DAMAGED and all(self.file(one.id).exists() for one in tables)
            if version == reader and is_whole:
                found.add(held)
        return found

    def held(self, document: str) -> tuple[tuple[Table, ...], str | None]:
        """Tables of a document whose files are there, and why nothing can be used as a table. The
        newest record counts: a document is read again only while its file is there."""
        for _, tables, problem in self._newest(document):
            there = tuple(table for table in tables if self.file(table.id).exists())
            if there or not tables:
                return there, problem
        return (), None

    def written(self, document: str) -> Sequence[Table]:
        """Those of the newest record, whether their files are there or not."""
        return next((tables for _, tables, _ in self._newest(document)), ())

    def _newest(self, document: str) -> list[_Record]:
        records = [self._record(file) for _, _, file in self._records(document)]
        return sorted(records, key=lambda record: -record[0])

    def is_damaged(self, document: str) -> bool:
        return any(self._record(file)[2] == _DAMAGED for _, _, file in self._records(document))

    def holders(self) -> list[str]:
        return sorted({document for document, _, _ in self._records()})

    def file(self, table: str) -> Path:
        return self.folder / f"{table}.parquet"

    def write(
        self, document: str, reader: str, tables: Sequence[Table], *, problem: str | None = None
    ) -> None:
        said = {"tables": [table.model_dump(mode="json") for table in tables], "problem": problem}
        target = self.folder / "records" / f"{document}.{reader}.json"
        try:
            write_whole(target, sealed(said))
        except OSError as error:
            raise not_writable("table", target, error) from error

    def delete(self, document: str) -> None:
        gone: set[str] = set()
        for _, _, file in self._records(document):
            gone.update(table.id for table in self._record(file)[1])
            file.unlink(missing_ok=True)
        self._delete_files(lambda table: table in gone)

    def sweep(self, keep: Collection[str]) -> None:
        """Delete what belongs to none of these documents: leftovers of interrupted work."""
        wanted, held = set(keep), set[str]()
        for document, _, file in self._records():
            if document in wanted:
                held.update(table.id for table in self._record(file)[1])
            else:
                file.unlink(missing_ok=True)
        self._delete_files(lambda table: table not in held)
        for stage in self.folder.glob(f"{STAGE_PREFIX}*"):
            shutil.rmtree(stage, ignore_errors=True)

    def _record(self, file: Path) -> _Record:
        time = 0
        try:
            time = file.stat().st_mtime_ns
            if file not in self._seen or self._seen[file][0] != time:
                said = unsealed(file.read_bytes())
                tables = tuple(Table.model_validate(item) for item in said["tables"])
                if any(not re.fullmatch(r"[\w-]+", table.id) for table in tables):
                    raise ValueError("a file elsewhere is no table of ours")  # noqa: TRY301
                self._seen[file] = time, tables, said["problem"]
        except (OSError, ValueError, LookupError, TypeError):
            self._seen[file] = time, (), _DAMAGED
        return self._seen[file]

    def _delete_files(self, is_gone: Callable[[str], bool]) -> None:
        for file in self.folder.glob("*"):
            if file.is_file() and is_gone(file.name.partition(".")[0]):
                # Windows keeps a file that somebody reads: the next sweep finds it.
                with contextlib.suppress(OSError):
                    file.unlink()

    def _records(self, document: str = "*") -> list[tuple[str, str, Path]]:
        files = (self.folder / "records").glob(f"{document}.*.json")
        return [(*file.name.removesuffix(".json").split(".", 1), file) for file in files]  # type: ignore[misc]
