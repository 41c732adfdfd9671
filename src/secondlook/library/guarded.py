"""The index with its engine's errors told as the library's own, with what to do about them."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.errors import LibraryDamaged, LibraryError
from secondlook.library.texts import MAKE_ROOM
from secondlook.retrieval.index.port import EVERYTHING, Entry, Filter, Index, IndexStats, Scored

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from secondlook.retrieval.index.port import Vectors

REBUILD = "secondlook rebuild makes it anew from the stored texts"
_FROM_THE_SYSTEM = re.compile(r"\(os error \d+\)")
_WHERE_IN_THE_ENGINE = re.compile(r",? ?/[^\s,]*\.rs:\d+.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class GuardedIndex:
    """Implements the `Index` port on top of another one that lies in `folder`."""

    inner: Index
    folder: Path

    def add(
        self, entries: Sequence[Entry], vectors: Vectors, *, replacing: Collection[str] = ()
    ) -> None:
        with explained(self.folder):
            self.inner.add(entries, vectors, replacing=replacing)

    def delete(self, documents: Collection[str]) -> None:
        with explained(self.folder):
            self.inner.delete(documents)

    def dense(
        self, vector: Vectors, k: int, where: Filter = EVERYTHING, *, exact: bool = False
    ) -> list[Scored]:
        with explained(self.folder):
            return self.inner.dense(vector, k, where, exact=exact)

    def lexical(self, terms: Sequence[str], k: int, where: Filter = EVERYTHING) -> list[Scored]:
        with explained(self.folder):
            return self.inner.lexical(terms, k, where)

    def fetch(self, ids: Sequence[str]) -> list[Entry]:
        with explained(self.folder):
            return self.inner.fetch(ids)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        with explained(self.folder):
            return self.inner.vectors(ids)

    def documents(self) -> dict[str, int]:
        with explained(self.folder):
            return self.inner.documents()

    def stats(self) -> IndexStats:
        with explained(self.folder):
            return self.inner.stats()

    def compact(self, *, purge: bool = False) -> None:
        with explained(self.folder):
            self.inner.compact(purge=purge)


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """What the system refused (room, rights) is no damage; what cannot be made sense of is."""
    import pyarrow as pa

    try:
        yield
    except (OSError, RuntimeError, ValueError, pa.ArrowException) as error:
        said = _WHERE_IN_THE_ENGINE.sub("", " ".join(str(error).split()))
        if _FROM_THE_SYSTEM.search(said):
            raise LibraryError(
                f"the index {str(folder)!r} cannot be used: {said}", hint=MAKE_ROOM
            ) from error
        raise LibraryDamaged(
            f"the index {str(folder)!r} cannot be read: {said}", hint=REBUILD
        ) from error
