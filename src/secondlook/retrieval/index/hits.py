"""From what an engine found to the hits that were asked for: exclusions, and ties at the cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secondlook.errors import UsageError
from secondlook.retrieval.index.port import Scored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from secondlook.retrieval.index.port import Entry, Filter, Vectors

_SPARE = 16
"""How many more hits than asked are read, to settle ties at the cut by id."""
_MOST_READ = 10_000
"""From here on a tie at the cut stays as the engine left it."""


def ranked(found: Iterable[tuple[str, float]], *, digits: int) -> list[Scored]:
    """Best first, ties by id; scores that differ by rounding alone are ties."""
    hits = (Scored(id_, round(score, digits)) for id_, score in found)
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def best(search: Callable[[int], list[Scored]], k: int, where: Filter) -> list[Scored]:
    """The first k hits that are not excluded, reading on while a tie crosses the cut. `search` is
    given how many hits to find, and finds fewer only where there are no more."""
    if k <= 0 or (where.documents is not None and not where.documents):
        return []
    limit = k + len(where.excluded) + _SPARE
    while True:
        found = search(limit)
        kept = [hit for hit in found if hit.id not in where.excluded]
        settled = len(kept) > k and kept[k - 1].score > found[-1].score
        if settled or len(found) < limit or (len(kept) >= k and limit >= _MOST_READ):
            return kept[:k]
        limit *= 4


# What every engine refuses before anything changes.

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
