"""The tables that an analysis was made of, wherever a copy of the same contents still is."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import ExtractionError, TableError
from secondlook.memory.handed_tables import handed_tables, run_folder
from secondlook.verify.files import sha256_of
from secondlook.verify.report import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.answer import InputTable
    from secondlook.library import Library
    from secondlook.settings import Settings
    from secondlook.tables.desk import Desk
    from secondlook.tables.table import Table
    from secondlook.tables.worker import Worker

    Entry = tuple[Table, Path]


@dataclass(frozen=True, slots=True)
class Found:
    desk: Desk
    """Those that were found, under the names and ids that the answer gives them."""
    missing: dict[str, str]
    """Why each of the others was not, by its name."""


@contextmanager
def found_tables(
    inputs: Sequence[InputTable], run: str, *, library: Library | None, settings: Settings
) -> Iterator[Found]:
    """Kept with the run, held by the library, or read again from a file that has not changed."""
    from secondlook.tables.desk import Desk
    from secondlook.tables.worker import Worker

    with ExitStack() as held:
        worker = library.worker() if library is not None else held.enter_context(Worker())
        # ignore_cleanup_errors: Windows keeps files alive that are still mapped
        passing = tempfile.TemporaryDirectory(prefix="secondlook-", ignore_cleanup_errors=True)
        folder = Path(held.enter_context(passing))
        known = {table.id: (table, file) for table, file in _kept(run, library, settings)}
        entries: list[Entry] = []
        missing: dict[str, str] = {}
        for one in inputs:
            found = known.get(one.id) or _read_again(one, folder, worker)
            if isinstance(found, str):
                missing[one.name] = found
            else:
                named = found[0].model_copy(update={"id": one.id, "name": one.name})
                entries.append((named, found[1]))
        yield Found(Desk(entries, folder=folder, worker=worker), missing)


def _kept(run: str, library: Library | None, settings: Settings) -> list[Entry]:
    kept = list(handed_tables(run_folder(settings.runs.path, run))) if _is_name(run) else []
    if library is None:
        return kept
    desk = library.desk()
    return [*((table, desk.file(table.id)) for table in desk.tables()), *kept]


def _is_name(run: str) -> bool:
    """An answer is anybody's file: its run must not lead out of the folder of runs."""
    return bool(run) and all(sign.isalnum() or sign == "-" for sign in run)


def _read_again(one: InputTable, folder: Path, worker: Worker) -> Entry | str:
    """The table as its file still holds it; else why not, in words."""
    from secondlook.tables.reading import read_tables

    gone = "neither the record of runs nor the library holds it"
    path = Path(one.path) if one.path else None
    digest = sha256_of(path) if path is not None else None
    if path is None or digest is None:
        return f"{gone}, and there is no file to read it from"
    if digest != one.sha256:
        return f"{gone}, and its file {shown(str(path), width=200)} has changed since"
    try:
        read = read_tables(path, folder, worker=worker)
    except (ExtractionError, TableError) as error:
        return f"{gone}, and its file cannot be read: {error.message}"
    same = [item for item in read if one.id == item.table.id or one.title == item.table.title]
    if not same:
        return f"{gone}, and its file has no table {shown(one.title)}"
    return same[0].table, same[0].file
