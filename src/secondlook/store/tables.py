"""Tables that were handed over with a question, kept with its run, so that an answer can be
verified and a run resumed. `runs-tables/RUN/ID.parquet` beside `runs.db`, and `tables.json`, which
names them. The same table in several runs takes the room of one, where the file system knows
links."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from typing import TYPE_CHECKING

from pydantic import ValidationError

from secondlook.errors import RunError
from secondlook.tables.read import READER_VERSION
from secondlook.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MOST_BYTES = 4 << 30  # of all runs together: beyond it the oldest runs lose their tables
_NAMES = "tables.json"


def tables_folder(runs: Path) -> Path:
    return runs.with_name(f"{runs.stem}-tables")


def run_folder(runs: Path, run: str) -> Path:
    return tables_folder(runs) / run


def write_names(folder: Path, tables: Sequence[Table]) -> None:
    partial = folder / f"{_NAMES}.partial"
    said = {"reader": READER_VERSION, "tables": [table.model_dump(mode="json") for table in tables]}
    try:
        partial.write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
        partial.replace(folder / _NAMES)
    except OSError as error:
        raise RunError(
            f"tables cannot be kept at {str(folder)!r}: {error.strerror or error}",
            hint="check that the disk has room and that you may write there",
        ) from error


def _read(folder: Path) -> tuple[str, list[tuple[Table, Path]]]:
    """Version of the reader, and the tables with their files; those that are gone are left out."""
    try:
        said = json.loads((folder / _NAMES).read_text(encoding="utf-8"))
        reader, tables = said["reader"], [Table.model_validate(item) for item in said["tables"]]
    except (OSError, ValueError, LookupError, TypeError, ValidationError):
        return "", []
    found = [(table, folder / f"{table.id}.parquet") for table in tables]
    return reader, [(table, file) for table, file in found if file.is_file()]


def handed_tables(folder: Path) -> list[tuple[Table, Path]]:
    return _read(folder)[1]


def same_source(runs: Path, sha256: str) -> list[tuple[Table, Path]]:
    """All tables of a file with these contents that an earlier run was given."""
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
    """Delete the oldest beyond so many runs or bytes; the newest always stays."""
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
