"""What a search engine must do for us. Fusion, reranking and text analysis happen above it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
    labels: tuple[str, ...] = ()
    """Metadata of the document as "key=value", for filtering."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries may be returned: all conditions hold together."""

    documents: frozenset[str] | None = None
    """Only these documents; None means all, an empty set means none."""
    labels: frozenset[str] = frozenset()
    """Entries that carry every one of these labels."""
    excluded: frozenset[str] = frozenset()
    """Ids of passages that must not come back."""


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
    compact_due: bool
    """Whether `compact` would noticeably improve speed or ranking."""
    why_compact: str = ""


class Index(Protocol):
    """A store of passages with dense and lexical search. Safe for one writer and many readers
    in different processes; each read sees the newest commit; a commit happens whole or not."""

    def add(
        self, entries: Sequence[Entry], vectors: Vectors, *, replacing: Collection[str] = ()
    ) -> None:
        """In one commit: drop every passage of the entries' documents and of the documents in
        `replacing`, and store the entries. The vectors are unit length, one row per entry.
        An entry whose id is held under another document takes its place; two entries with the
        same id are refused."""

    def delete(self, documents: Collection[str]) -> None:
        """In one commit: drop every passage of these documents; unknown ones are ignored."""

    def dense(
        self, vector: Vectors, k: int, where: Filter = EVERYTHING, *, exact: bool = False
    ) -> list[Scored]:
        """The k entries of highest cosine similarity, best first, ties by id. May miss some in a
        large index unless `exact`; what was just added is found like everything else."""

    def lexical(self, terms: Sequence[str], k: int, where: Filter = EVERYTHING) -> list[Scored]:
        """The k entries of highest BM25 (k1 1.2, b 0.75) above zero, best first, ties by id.

        A term that the query repeats counts each time. Statistics are of all entries that have
        terms, whatever the filter; they are exact after `compact` and drift a little before."""

    def fetch(self, ids: Sequence[str]) -> list[Entry]:
        """The entries with these ids, in the order asked; ids that are not held are left out."""

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """The stored vector of each id that is held."""

    def documents(self) -> dict[str, int]:
        """How many passages are held of each document."""

    def stats(self) -> IndexStats: ...

    def compact(self, *, purge: bool = False) -> None:
        """Merge small commits and bring the search structures up to date. With `purge` no byte
        of deleted entries stays on disk; readers of older versions must then reopen."""
