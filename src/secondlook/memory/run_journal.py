"""The journal of a run as its record holds it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from secondlook.errors import RunError
from secondlook.memory.journal import JournalEntry

if TYPE_CHECKING:
    from secondlook.memory.database import Database

Entries = list[tuple[str, JournalEntry]]


@dataclass(frozen=True, slots=True)
class RunJournal:
    """A reply is on the disk when `put` returns. One that comes after all, when its run was left,
    is kept; one of a process from which another has taken the run over is not."""

    database: Database
    run: str
    process: str

    def get(self, key: str) -> JournalEntry | None:
        statement = "SELECT entry FROM journal WHERE run = ? AND key = ?"
        rows = self.database.select(statement, self.run, key)
        return _entry(self.run, rows[0]["entry"]) if rows else None

    def put(self, key: str, entry: JournalEntry) -> None:
        with self.database.transaction("FULL") as db:
            db.execute(
                "INSERT INTO journal (run, key, entry) SELECT ?, ?, ? WHERE EXISTS "
                "(SELECT 1 FROM runs WHERE id = ? AND process IN (?, '')) ON CONFLICT DO NOTHING",
                (self.run, key, json.dumps(asdict(entry)), self.run, self.process),
            )

    def entries(self) -> Entries:
        """All of them, in the order they came."""
        rows = self.database.select(
            "SELECT key, entry FROM journal WHERE run = ? ORDER BY rowid", self.run
        )
        return [(row["key"], _entry(self.run, row["entry"])) for row in rows]


def _entry(run: str, text: str) -> JournalEntry:
    try:
        return JournalEntry(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise unreadable(run, "journal", error) from error


def unreadable(run: str, what: str, error: Exception) -> RunError:
    return RunError(
        f"the {what} of run {run!r} cannot be read: {' '.join(str(error).split()[:40])}",
        hint="another version of Secondlook wrote it, or it is damaged; "
        f"secondlook runs remove {run} removes it",
    )
