"""The wish that a run be stopped, put down where the process that works on it will see it.

As long as a run has no answer, the column of its stop reason holds the wish: records that were
begun by an earlier version have that column too.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.memory.database import select_in
from secondlook.memory.process import Process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.memory.database import Database

_WISH = "cancelled"


@dataclass(frozen=True, slots=True)
class Stops:
    database: Database

    def ask(self, run: str) -> None:
        self._put(run, _WISH)

    def withdraw(self, run: str) -> None:
        self._put(run, None)

    def among(self, runs: Sequence[str]) -> list[str]:
        """Those of them that somebody wants stopped."""
        statement = "SELECT id FROM runs WHERE answer IS NULL AND stop_reason = ? AND id IN"
        return [row["id"] for row in select_in(self.database, statement, runs, _WISH)]

    def worker(self, run: str) -> str:
        """Who works on it, in words."""
        rows = self.database.select("SELECT process FROM runs WHERE id = ?", run)
        with contextlib.suppress(ValueError, TypeError, IndexError):
            process = Process.from_json(rows[0]["process"])
            return f"process {process.pid} on {process.host!r}"
        return "another process"

    def _put(self, run: str, wish: str | None) -> None:
        with self.database.transaction("NORMAL") as db:
            db.execute(
                "UPDATE runs SET stop_reason = ? WHERE id = ? AND answer IS NULL", (wish, run)
            )
