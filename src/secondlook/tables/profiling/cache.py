"""Profiles are kept beside the tables' files: computed once for the same contents."""

from __future__ import annotations

import contextlib
import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from pydantic import ValidationError

from secondlook.tables.table import Table, TableProfile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secondlook.tables.worker import Worker

PROFILE_VERSION = 1
"""Raised with every change of what a profile says: older ones are computed anew."""
SECONDS = 1_800.0


def profile_table(
    worker: Worker,
    table: Table,
    file: Path,
    *,
    on_progress: Callable[[float], None] | None = None,
) -> TableProfile:
    """What is in the table, computed from its Parquet file."""
    found = worker.call(
        "profiling.tasks:profile",
        seconds=SECONDS,
        on_progress=on_progress,
        file=file,
        table=table.model_dump(mode="json", exclude={"path"}),
        today=datetime.now(UTC).date().isoformat(),
    )
    return TableProfile.model_validate(found)


def cached_profile(
    folder: Path,
    worker: Worker,
    table: Table,
    file: Path,
    *,
    on_progress: Callable[[float], None] | None = None,
) -> TableProfile:
    """The profile kept in `folder`, or a new one that is kept there then."""
    kept = profile_file(folder, table)
    known = _kept_profile(kept, table)
    if known is not None:
        return known
    profile = profile_table(worker, table, file, on_progress=on_progress)
    # A library that cannot be written to, or a full disk, costs the time of the next question.
    with contextlib.suppress(OSError):
        _keep(kept, profile)
    return profile


def profile_file(folder: Path, table: Table) -> Path:
    return folder / f"{table.id}.profile.json"


def _kept_profile(file: Path, table: Table) -> TableProfile | None:
    """None where there is none, or it is of another version, another table, or damaged."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["version"] != PROFILE_VERSION:
            return None
        profile = TableProfile.model_validate(kept["profile"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, ValidationError):
        return None
    names = tuple(column.name for column in table.columns)
    same = profile.table == table.id and tuple(one.name for one in profile.columns) == names
    return profile if same else None


def _keep(file: Path, profile: TableProfile) -> None:
    partial = file.with_name(f".{file.name}.{uuid4().hex}.partial")
    kept = {"version": PROFILE_VERSION, "profile": profile.model_dump(mode="json")}
    try:
        with partial.open("w", encoding="utf-8") as stream:
            json.dump(kept, stream, ensure_ascii=False, sort_keys=True)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
