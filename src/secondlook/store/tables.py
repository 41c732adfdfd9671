"""Tables that were handed over with a question, kept with its run: `runs-tables/RUN/ID.parquet`
beside `runs.db`, and `tables.json`, which names them. Runs share them by links."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from secondlook.errors import ExtractionError, RunError, TableError, UsageError
from secondlook.files import sealed, unsealed, write_whole
from secondlook.tables.column_types import identifier_of
from secondlook.tables.read import READER_VERSION
from secondlook.tables.table import Table, named_apart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.settings.sections import RunSettings
    from secondlook.tables.worker import Worker

    Entry = tuple[Table, Path]

MOST_BYTES = 4 << 30  # of all runs together: beyond it the oldest runs lose their tables
_NAMES = "tables.json"


def tables_folder(runs: Path) -> Path:
    return runs.with_name(f"{runs.stem}-tables")


def run_folder(runs: Path, run: str) -> Path:
    return tables_folder(runs) / run


def write_names(folder: Path, tables: Sequence[Table]) -> None:
    held = {"reader": READER_VERSION, "tables": [table.model_dump(mode="json") for table in tables]}
    try:
        write_whole(folder / _NAMES, sealed(held))
    except OSError as error:
        said = f"tables cannot be kept at {str(folder)!r}: {error.strerror or error}"
        hint = "check that the disk has room and that you may write there"
        raise RunError(said, hint=hint) from error


def _read(folder: Path) -> tuple[str, list[Entry]]:
    """Version of the reader, and the tables with their files; those that are gone are left out."""
    try:
        said = unsealed((folder / _NAMES).read_bytes())
        reader, tables = said["reader"], [Table.model_validate(item) for item in said["tables"]]
    except (OSError, ValueError, LookupError, TypeError, ValidationError):
        return "", []
    found = [(table, folder / f"{table.id}.parquet") for table in tables]
    return reader, [(table, file) for table, file in found if file.is_file()]


def handed_tables(folder: Path) -> list[Entry]:
    return _read(folder)[1]


def same_source(runs: Path, sha256: str) -> list[Entry]:
    for folder in _newest_first(tables_folder(runs)):
        reader, held = _read(folder)
        found = [item for item in held if item[0].sha256 == sha256]
        if found and reader == READER_VERSION:
            return found
    return []


def share(file: Path, folder: Path) -> Path:
    target = folder / file.name
    if not target.exists():
        try:
            os.link(file, target)
        except OSError:
            shutil.copyfile(file, target)
    return target


def forget_tables(runs: Path, *forgotten: str) -> None:
    for run in forgotten:
        shutil.rmtree(run_folder(runs, run), ignore_errors=True)


def keep_within(runs: Path, *, keep: int, most_bytes: int = MOST_BYTES) -> None:
    held, seen = 0, set[int]()
    for number, folder in enumerate(_newest_first(tables_folder(runs))):
        with contextlib.suppress(OSError):  # another process removes it just now
            for file in folder.iterdir():
                status = file.stat()
                if status.st_ino not in seen:  # a link takes no room
                    seen.add(status.st_ino)
                    held += status.st_size
        if number and (number >= keep or held > most_bytes):
            shutil.rmtree(folder, ignore_errors=True)


def _newest_first(folder: Path) -> list[Path]:
    try:
        found = [(item.stat().st_mtime_ns, item) for item in folder.iterdir() if item.is_dir()]
    except FileNotFoundError:
        return []
    return [item for _, item in sorted(found, reverse=True)]


# Taking tables over from who asks.

_READABLE = "name a file: CSV, Parquet, Excel, JSON lines or SQLite"


@dataclass(frozen=True, slots=True)
class Handed:
    entries: tuple[Entry, ...]
    folder: Path
    passing: bool = False  # the folder goes with the run: nothing is recorded

    def close(self) -> None:
        if self.passing:
            shutil.rmtree(self.folder, ignore_errors=True)


def take_over(
    tables: Mapping[str, object], *, run: str, runs: RunSettings, worker: Worker
) -> Handed:
    """Write them beside the record of runs or, where nothing is recorded, in a passing folder."""
    folder, passing = run_folder(runs.path, run), not runs.keep
    try:
        if not passing:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        passing = True
    if passing:
        folder = Path(tempfile.mkdtemp(prefix="secondlook-tables-"))
    found: list[Entry] = []
    try:
        for name, given in tables.items():
            if isinstance(given, str | os.PathLike):
                found += _from_file(name, Path(given), folder, runs, worker)
                continue
            if given is None or isinstance(given, bool | int | float | bytes):
                raise UsageError(  # noqa: TRY301
                    f"the table {name!r} is of type {type(given).__name__!r}",
                    hint="a table is a data frame, a pyarrow table, a path, or a list of rows as "
                    "dicts",
                )
            from secondlook.tables.read import table_from_frame

            frame: Any = given
            read = table_from_frame(name, frame, folder)
            found.append((read.table, read.file))
        named = named_apart([table for table, _ in found])
        entries = tuple((table, file) for table, (_, file) in zip(named, found, strict=True))
        write_names(folder, named)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if not passing:
        keep_within(runs.path, keep=runs.keep)
    return Handed(entries, folder, passing)


def _from_file(
    name: str, given: Path, folder: Path, runs: RunSettings, worker: Worker
) -> list[Entry]:
    """What an earlier run was given of the same contents is not read again."""
    path = given.expanduser().absolute()
    known: list[Entry] = []
    try:
        with path.open("rb") as stream:
            if runs.keep:
                known = same_source(runs.path, hashlib.file_digest(stream, "sha256").hexdigest())
    except OSError as error:
        said = f"the table {name!r} cannot be read: {str(path)!r}: {error.strerror or error}"
        raise UsageError(said, hint=_READABLE) from error
    if known:
        return [_shared(name, path, table, file, folder) for table, file in known]
    from secondlook.tables.read import read_tables

    try:
        read = read_tables(path, folder, worker=worker, name=name)
    except (ExtractionError, TableError) as error:
        # Several tables may have been handed over: the reason alone does not say whose it is.
        said = f"the table {name!r} cannot be read from {path.name!r}: {error.message}"
        raise type(error)(said, hint=error.hint or _READABLE) from error
    return [(one.table, one.file) for one in read]


def _shared(name: str, path: Path, table: Table, file: Path, folder: Path) -> Entry:
    """A table of an earlier run as it would be called had it been read now."""
    from secondlook.tables.desk import profile_file

    _, _, sheet = table.title.partition(f"{Path(table.path or '').name}, ")
    profile = profile_file(file.parent, table)
    if profile.exists():
        share(profile, folder)
    called = {
        "name": identifier_of(name, sheet),
        "title": f"{path.name}, {sheet}" if sheet else path.name,
        "path": str(path),
    }
    return table.model_copy(update=called), share(file, folder)


def handed_to(run: str, runs: RunSettings) -> Handed | None:
    """The tables that a recorded run was given; None where it was given none, or they are gone."""
    folder = run_folder(runs.path, run)
    entries = handed_tables(folder)
    return Handed(tuple(entries), folder) if entries else None
