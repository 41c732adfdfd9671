"""What the worker process may be asked to run: functions under `secondlook.tables`, by name.

A task is `def task(connection, **arguments) -> value`: it gets a DuckDB connection that can open
only the files it was given, and JSON-able arguments; it gives a JSON-able value back. Where the
caller listens to progress it also gets `report`, which takes the share that is done.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS: frozenset[str] = frozenset(
    {
        "computing.running:compute_task",
        "profiling.examining:look_closer",
        "profiling.joins:overlaps",
        "profiling.tasks:profile",
        "reading.task:read",
        "reading.task:read_rows",
        "worker_tasks:select",
    }
)
"""As `module:function`; the module is under `secondlook.tables`."""


def find(task: str) -> Callable[..., Any]:
    if task not in TASKS:
        raise LookupError(f"{task!r} is no task of the worker for tables")
    module, function = task.split(":")
    found: Callable[..., Any] = getattr(import_module(f"secondlook.tables.{module}"), function)
    return found


def select(connection: Any, *, sql: str, parameters: list[Any] | None = None) -> dict[str, Any]:
    """One statement as it stands, for tests and for looking around: names and rows as text."""
    result = connection.execute(sql, parameters or [])
    names = [column[0] for column in result.description or ()]
    rows = [[None if cell is None else str(cell) for cell in row] for row in result.fetchall()]
    return {"columns": names, "rows": rows}
