"""Where runs are recorded: files of this machine, or a PostgreSQL that several machines share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.memory.database import Database, Kind
    from secondlook.settings import RunSettings, StoreAddress


@dataclass(frozen=True, slots=True)
class Place:
    path: Path
    """The file, and what other files lie beside: tables that came with a question always do."""
    store: StoreAddress | None = None

    @classmethod
    def of(cls, runs: RunSettings) -> Self:
        return cls(runs.path, runs.store or None)

    def open(self, kind: Kind, *, create: bool = True) -> Database:
        if self.store is not None:
            from secondlook.memory.postgres import PostgresDatabase

            return PostgresDatabase(self.store, kind=kind, create=create)
        from secondlook.memory.sqlite import SqliteDatabase

        file = self.path if kind.name == "runs" else memory_file(self.path)
        return SqliteDatabase(file, kind=kind, create=create)


def memory_file(runs: Path) -> Path:
    """`runs-memory.db` beside `runs.db`."""
    return runs.with_name(f"{runs.stem}-memory.db")
