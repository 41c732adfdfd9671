"""The tables at hand for a question: their profiles, joins and what can be computed with them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pydantic import ValidationError

from secondlook.errors import TableError
from secondlook.files import digest, sealed, unsealed, write_whole
from secondlook.tables.examine import examine
from secondlook.tables.joins import find_joins
from secondlook.tables.query import Computed, Filter, Query
from secondlook.tables.table import Examination, Join, Table, TableProfile, named_apart

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from secondlook.tables.worker import Worker


MOST_VALUES = 5000  # Distinct values of one column that are looked at
_KEPT_COLUMNS = 100


class Desk:
    """Threads may share one. Profiles are cached in `folder`, beside the tables' files; what is
    computed is computed by `worker`, which belongs to whoever made it."""

    def __init__(
        self, entries: Sequence[tuple[Table, Path]], *, folder: Path, worker: Worker
    ) -> None:
        self._tables = tuple(table for table, _ in entries)
        self._by_id = {table.id: table for table in self._tables}
        self._files = {table.id: file for table, file in entries}
        self._folder = folder
        self._worker = worker
        self._profiles: dict[str, TableProfile] = {}
        self._joins: dict[tuple[str, ...], tuple[Join, ...]] = {}

    def tables(self) -> tuple[Table, ...]:
        return self._tables

    def table(self, table: str) -> Table:
        """By its id, or by its name."""
        by_name = (one for one in self._tables if one.name == table)
        found = self._by_id.get(table) or next(by_name, None)
        if found is None:
            known = ", ".join(one.name for one in self._tables) or "none"
            raise TableError(f"there is no table {table!r} at hand", hint=f"There are: {known}.")
        return found

    def file(self, table: str) -> Path:
        """Its Parquet file, as it was written."""
        meant = self.table(table)
        file = self._files[meant.id]
        return _whole(meant, file)

    def profile(self, table: str) -> TableProfile:
        meant = self.table(table)
        if meant.id not in self._profiles:
            file = self._files[meant.id]  # not looked at where its profile is known
            self._profiles[meant.id] = cached_profile(self._folder, self._worker, meant, file)
        return self._profiles[meant.id]

    def joins(self, tables: Sequence[str]) -> tuple[Join, ...]:
        """Likely joins between these tables; each set of them is looked at once."""
        meant = [self.table(name) for name in tables]
        key = tuple(sorted({table.id for table in meant}))
        if key not in self._joins:
            several = [(self._by_id[one], self.profile(one), self.file(one)) for one in key]
            self._joins[key] = find_joins(self._worker, several) if len(several) > 1 else ()
        return self._joins[key]

    def examine(self, table: str, columns: Sequence[str]) -> tuple[Examination, ...]:
        """A second look at single columns; empty where nothing new can be said of them."""
        meant = self.table(table)
        profile, file = self.profile(meant.id), self.file(meant.id)
        return examine(self._worker, meant, profile, file, columns)

    def compute(self, query: Query) -> Computed:
        """What it comes to, by DuckDB in the limited worker."""
        meant = self.table(query.table)
        said = self._worker.call(
            "compute:compute_task",
            seconds=MOST_SECONDS,
            query=query.model_dump(mode="json"),
            table=meant.model_dump(mode="json"),
            file=self.file(meant.id),
        )
        return Computed.model_validate(said)

    def values(self, table: str, column: str) -> tuple[str, ...]:
        """Distinct values of a column as stored, at most `MOST_VALUES`. They are asked for several
        times in every question, so the worker keeps some; a file is named by its contents."""
        kept, key = self._worker.values, (self.file(table), column)
        found = kept.get(key)
        if found is None:
            there = Filter(column=column, comparison="present")
            query = Query(
                table=table, where=(there,), select=(column,), distinct=True, limit=MOST_VALUES
            )
            found = tuple(str(row[0]) for row in self.compute(query).rows)
            if len(kept) >= _KEPT_COLUMNS:
                kept.clear()
            kept[key] = found
        return found

    def with_tables(self, entries: Sequence[tuple[Table, Path]]) -> Desk:
        """One more desk with these tables on it too; those that are there keep their names."""
        new = [(table, file) for table, file in entries if table.id not in self._by_id]
        taken = {table.name for table in self._tables}
        named = named_apart([table for table, _ in new], taken=taken)
        added = [(table, file) for table, (_, file) in zip(named, new, strict=True)]
        both = [(table, self._files[table.id]) for table in self._tables]
        return Desk([*both, *added], folder=self._folder, worker=self._worker)


# Profiles are kept beside the tables' files: computed once for the same contents.

PROFILE_VERSION = 3  # Raised with every change of what a profile says: older ones are computed anew
SECONDS = 1_800.0
MOST_SECONDS = 60.0  # That a query may take


def profile_table(worker: Worker, table: Table, file: Path) -> TableProfile:
    described = table.model_dump(mode="json", exclude={"path"})
    found = worker.call("profile:profile", seconds=SECONDS, file=file, table=described)
    return TableProfile.model_validate(found)


def _whole(table: Table, file: Path) -> Path:
    """The file, if it is as it was written."""
    with contextlib.suppress(OSError):
        if table.checksum in {"", digest(file)}:
            return file
    raise TableError(
        f"the stored table {table.title!r} was damaged on the disk",
        hint="secondlook add --force PATH reads it again",
    )


def cached_profile(folder: Path, worker: Worker, table: Table, file: Path) -> TableProfile:
    """The profile kept in `folder`, or a new one that is kept there then."""
    kept = profile_file(folder, table)
    try:
        known = unsealed(kept.read_bytes())
        profile = TableProfile.model_validate(known["profile"])
        names = [column.name for column in table.columns]
        same = profile.table == table.id and [one.name for one in profile.columns] == names
        if same and known["version"] == PROFILE_VERSION:
            return profile
    except (OSError, ValueError, KeyError, TypeError, RecursionError, ValidationError):
        pass  # None is there, or it is damaged
    profile = profile_table(worker, table, _whole(table, file))
    said = {"version": PROFILE_VERSION, "profile": profile.model_dump(mode="json")}
    # A library that cannot be written to, or a full disk, costs the time of the next question.
    with contextlib.suppress(OSError):
        write_whole(kept, sealed(said))
    return profile


def profile_file(folder: Path, table: Table) -> Path:
    return folder / f"{table.id}.profile.json"
