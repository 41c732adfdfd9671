"""The tables of a question: those handed over with it, and those of the library."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from secondlook.errors import ExtractionError, SecondlookError, TableError, UsageError
from secondlook.retrieval.index.port import Filter
from secondlook.store.tables import (
    handed_tables,
    keep_within,
    run_folder,
    same_source,
    share,
    write_names,
)
from secondlook.tables.column_types import identifier_of
from secondlook.tables.table import named_apart

if TYPE_CHECKING:
    from secondlook.library.library import Library
    from secondlook.nodes.state import Scope
    from secondlook.settings.sections import RunSettings, Settings
    from secondlook.tables.desk import Desk
    from secondlook.tables.table import Table
    from secondlook.tables.worker import Worker

    Entry = tuple[Table, Path]

ANALYST: Final = "analyst"
"""The workflow for questions over tables: who hands tables over and names none means it."""
_OVER_TABLES: Final = (ANALYST, "auto")
_MOST_TABLES = 100
_READABLE: Final = "name a file: CSV, Parquet, Excel, JSON lines or SQLite"


@dataclass(frozen=True, slots=True)
class Handed:
    entries: tuple[Entry, ...]
    folder: Path
    passing: bool = False  # the folder goes with the run: nothing is recorded

    def close(self) -> None:
        if self.passing:
            shutil.rmtree(self.folder, ignore_errors=True)


def check_tables(tables: object) -> Mapping[str, object]:
    """What was handed over, told apart from what cannot have been meant."""
    names = list(tables) if isinstance(tables, Mapping) else []
    named = all(isinstance(name, str) and name.strip() for name in names)
    if not isinstance(tables, Mapping) or not 0 < len(names) <= _MOST_TABLES or not named:
        raise UsageError(
            f"tables are not from 1 to {_MOST_TABLES} tables by name: {type(tables).__name__!r}"
            + (f" of {', '.join(map(repr, names[:5]))}" if names else ""),
            hint='such as tables={"sales": frame}, where a table is a data frame, a path, or rows',
        )
    return tables


def workflow_for(tables: object, workflow: str | None, settings: Settings) -> str:
    """With tables and no workflow named, the one that computes with them, or the one that picks."""
    check_tables(tables)
    usual = settings.answer.workflow
    meant = workflow or (usual if usual in _OVER_TABLES else ANALYST)
    if meant not in _OVER_TABLES:
        raise UsageError(
            f"the workflow {workflow!r} does not compute with tables",
            hint=f"ask with the workflow {ANALYST!r}, or without tables",
        )
    return meant


def desk_of(
    library: Library, workflow: str | None, scope: Scope, handed: Handed | None
) -> Desk | None:
    """The tables of a run; None where its workflow asks for none, or where there are none to pick
    from because they cannot be listed: documents may still answer. Tables that were handed over are
    what a question is about. Those of the library lie beside them where the question names a part
    of it, and alone where nothing was handed over."""
    if workflow not in _OVER_TABLES:
        return None
    documents, labels = scope["documents"], frozenset(scope["labels"])
    where = Filter(documents=None if documents is None else frozenset(documents), labels=labels)
    try:
        if handed is None:
            return library.desk(where=where)
        from secondlook.tables.desk import Desk

        desk = Desk(handed.entries, folder=handed.folder, worker=library.worker())
        if documents is None and not labels:
            return desk
        held = library.desk(where=where)
        return desk.with_tables([(table, held.file(table.id)) for table in held.tables()])
    except (SecondlookError, OSError):
        if workflow == ANALYST or handed is not None:
            raise
        return None


def take_over(
    tables: Mapping[str, object], *, run: str, runs: RunSettings, worker: Worker
) -> Handed:
    """Write what was handed over as tables of the run: beside the record of runs or, where nothing
    is recorded or can be, in a passing folder."""
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
        raise UsageError(
            f"the table {name!r} cannot be read: {str(path)!r}: {error.strerror or error}",
            hint=_READABLE,
        ) from error
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
