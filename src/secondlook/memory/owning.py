"""Which process works on a run: exactly one, also where several reach for it at once."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from secondlook.errors import RunError, RunTaken
from secondlook.memory.process import Process

if TYPE_CHECKING:
    from secondlook.memory.database import Row, Statements

NOBODY = ""
"""In place of a process: who worked on the run left it."""


def take_up(db: Statements, run: str, *, process: str, now: float) -> None:
    """Make `process` the one that works on a recorded run."""
    (row,) = db.execute(
        "SELECT id, process, heard, answer FROM runs WHERE id = ?", (run,)
    ).fetchall()
    if row["answer"] is not None:
        raise RunError(f"run {run!r} is finished: it cannot be started again")
    if row["process"] != process and lives(row, now=now):
        raise taken(run)
    # Only if it is still as it was read: another process may have read the same.
    won = db.execute(
        "UPDATE runs SET process = ?, heard = ? "
        "WHERE id = ? AND process = ? AND heard = ? AND answer IS NULL",
        (process, now, run, row["process"], row["heard"]),
    )
    if not won.rowcount:
        raise taken(run)


def hear(db: Statements, run: str, *, process: str, now: float) -> None:
    """A sign of life. What another has taken over, this process may write no more; of what was
    removed there is nothing to tell."""
    heard = db.execute(
        "UPDATE runs SET heard = ? WHERE id = ? AND process IN (?, ?)",
        (now, run, process, NOBODY),
    )
    if not heard.rowcount and db.execute("SELECT id FROM runs WHERE id = ?", (run,)).fetchall():
        raise taken(run)


def lives(row: Row, *, now: float) -> bool:
    """Whether the process that works on a run still does."""
    with contextlib.suppress(ValueError, TypeError):
        return Process.from_json(row["process"]).lives(heard=row["heard"], now=now)
    return False


def taken(run: str) -> RunTaken:
    return RunTaken(
        f"run {run!r} is still being worked on, by another process",
        hint="secondlook runs shows when it ends",
    )
