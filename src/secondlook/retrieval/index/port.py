"""What a search engine must do for us. Fusion, reranking and text analysis happen above it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Entry:
    """One passage as an index holds it. Engines must take `terms` as they are."""

    id: str
    document: str
    text: str
    terms: tuple[str, ...]
    start: int
    end: int
    page: int | None = None
    heading: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # metadata of the document as "key=value", for filtering


@dataclass(frozen=True, slots=True)
class Filter:
    documents: frozenset[str] | None = None  # None means all, an empty set means none
    labels: frozenset[str] = frozenset()  # entries that carry every one of these labels
    excluded: frozenset[str] = frozenset()  # ids of passages that must not come back


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Scored:
    id: str
    score: float


@dataclass(frozen=True, slots=True)
class IndexStats:
    passages: int
    documents: int
    bytes: int
    compact_due: bool  # whether `compact` would noticeably improve speed or ranking
    why_compact: str = ""


class Index(Protocol):
    """A store of passages with dense and lexical search. Safe for one writer and many readers
    in different processes; each read sees the newest commit; a commit happens whole or not."""

    def add(
        self, entries: Sequence[Entry], vectors: Vectors, *, replacing: Collection[str] = ()
    ) -> None:
        """In one commit: drop every passage of the entries' documents and of those in `replacing`,
        and store the entries. The vectors are unit length, one row per entry. An entry whose id
        is held under another document takes its place; two with the same id are refused."""

    def delete(self, documents: Collection[str]) -> None:
        """In one commit: drop every passage of these documents; unknown ones are ignored."""

    def dense(
        self, vector: Vectors, k: int, where: Filter = EVERYTHING, *, exact: bool = False
    ) -> list[Scored]:
        """The k entries of highest cosine similarity, best first, ties by id. May miss some in a
        large index unless `exact`; what was just added is found like everything else."""

    def lexical(self, terms: Sequence[str], k: int, where: Filter = EVERYTHING) -> list[Scored]:
        """The k entries of highest BM25 (k1 1.2, b 0.75) above zero, best first, ties by id. A term
        that the query repeats counts each time. Statistics are of all entries that have terms,
        whatever the filter; they are exact after `compact` and drift a little before."""

    def fetch(self, ids: Sequence[str]) -> list[Entry]:
        """The entries with these ids, in the order asked; ids that are not held are left out."""

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """The stored vector of each id that is held."""

    def documents(self) -> dict[str, int]:
        """How many passages are held of each document."""

    def count(self) -> int:
        """How many passages are held of all."""

    def stats(self) -> IndexStats: ...

    def compact(self, *, purge: bool = False) -> None:
        """Merge small commits and bring the search structures up to date. With `purge` no byte
        of deleted entries stays on disk; readers of older versions must then reopen."""


_SPARE = 16  # how many more hits than asked are read, to settle ties at the cut by id
_MOST_READ = 10_000  # from here on a tie at the cut stays as the engine left it


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


_UNIT_TOLERANCE = 1e-3


def checked_vectors(vectors: Vectors, count: int, dimensions: int) -> Vectors:
    import numpy as np

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
