"""Which process works on a run: exactly one, also where several reach for it at once."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from secondlook.errors import RunError, RunTaken
from secondlook.memory.process import Process

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.memory.database import Row, Statements

NOBODY = ""
"""In place of a process: who worked on the run left it."""


def take_up(
    db: Statements, run: str, about: Mapping[str, Any], *, process: str, now: float
) -> None:
    """Make `process` the one that works on a recorded run. `about` is what is known of it by now:
    its question, workflow and request; of a request, what is not said again stays."""
    (row,) = db.execute(
        "SELECT id, process, heard, answer, request FROM runs WHERE id = ?", (run,)
    ).fetchall()
    if row["answer"] is not None:
        raise RunError(f"run {run!r} is finished: it cannot be started again")
    if row["process"] != process and lives(row, now=now):
        raise taken(run)
    said_again = {name: value for name, value in about["request"].items() if value}
    request = json.dumps({**json.loads(row["request"]), **said_again}, default=str)
    told = (about["question"], about["workflow"], request)
    # Only if it is still as it was read: another process may have read the same.
    won = db.execute(
        "UPDATE runs SET process = ?, heard = ?, question = ?, workflow = ?, request = ?, "
        "stop_reason = NULL "
        "WHERE id = ? AND process = ? AND heard = ? AND answer IS NULL",
        (process, now, *told, run, row["process"], row["heard"]),
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
