"""The tables at hand for a question: their profiles, joins and what can be computed with them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from secondlook.errors import TableError
from secondlook.tables.naming import named_apart

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from secondlook.tables.query import Computed, Query
    from secondlook.tables.table import Examination, Join, Table, TableProfile
    from secondlook.tables.worker import Worker


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
        self._lock = threading.Lock()
        self._profiles: dict[str, TableProfile] = {}
        self._joins: dict[tuple[str, ...], tuple[Join, ...]] = {}

    def tables(self) -> tuple[Table, ...]:
        return self._tables

    def table(self, table: str) -> Table:
        """By its id, or by its name."""
        found = self._by_id.get(table) or next(
            (one for one in self._tables if one.name == table), None
        )
        if found is None:
            known = ", ".join(one.name for one in self._tables) or "none"
            raise TableError(f"there is no table {table!r} at hand", hint=f"There are: {known}.")
        return found

    def file(self, table: str) -> Path:
        """Its Parquet file."""
        return self._files[self.table(table).id]

    def profile(self, table: str) -> TableProfile:
        from secondlook.tables.profiling import cached_profile

        meant = self.table(table)
        with self._lock:
            known = self._profiles.get(meant.id)
        if known is None:
            known = cached_profile(self._folder, self._worker, meant, self._files[meant.id])
            with self._lock:
                self._profiles[meant.id] = known
        return known

    def joins(self, tables: Sequence[str]) -> tuple[Join, ...]:
        """Likely joins between these tables; each set of them is looked at once."""
        from secondlook.tables.profiling import find_joins

        meant = [self.table(name) for name in tables]
        key = tuple(sorted({table.id for table in meant}))
        with self._lock:
            known = self._joins.get(key)
        if known is None:
            several = [(self._by_id[one], self.profile(one), self._files[one]) for one in key]
            known = find_joins(self._worker, several) if len(several) > 1 else ()
            with self._lock:
                self._joins[key] = known
        return known

    def examine(self, table: str, columns: Sequence[str]) -> tuple[Examination, ...]:
        """A second look at single columns; empty where nothing new can be said of them."""
        from secondlook.tables.profiling import examine

        meant = self.table(table)
        others = [
            (one, self.profile(one.id), self._files[one.id])
            for one in self._tables
            if one.id != meant.id
        ]
        profile, file = self.profile(meant.id), self._files[meant.id]
        return examine(self._worker, meant, profile, file, columns, others=others)

    def compute(self, query: Query) -> Computed:
        from secondlook.tables.computing import compute

        meant = self.table(query.table)
        return compute(self._worker, query, meant, self._files[meant.id])

    def with_tables(self, entries: Sequence[tuple[Table, Path]]) -> Desk:
        """One more desk with these tables on it too; those that are there keep their names."""
        new = [(table, file) for table, file in entries if table.id not in self._by_id]
        taken = {table.name for table in self._tables}
        named = named_apart([table for table, _ in new], taken=taken)
        added = [(table, file) for table, (_, file) in zip(named, new, strict=True)]
        both = [(table, self._files[table.id]) for table in self._tables]
        return Desk([*both, *added], folder=self._folder, worker=self._worker)
