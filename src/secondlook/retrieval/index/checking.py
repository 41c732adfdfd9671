"""What every engine refuses before anything changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.retrieval.index.port import Entry, Vectors

_UNIT_TOLERANCE = 1e-3


def checked_vectors(vectors: Vectors, count: int, dimensions: int) -> Vectors:
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.shape != (count, dimensions):
        raise UsageError(f"Expected {count} vectors of {dimensions} dimensions, got {rows.shape!r}")
    lengths = np.linalg.norm(rows, axis=1)
    if not np.all(np.abs(lengths - 1) <= _UNIT_TOLERANCE):  # also false for NaN
        raise UsageError("Vectors must have unit length")
    return rows


def distinct_ids(entries: Sequence[Entry]) -> set[str]:
    ids = {entry.id for entry in entries}
    if len(ids) != len(entries):
        raise UsageError("Two entries of one commit have the same id")
    return ids
