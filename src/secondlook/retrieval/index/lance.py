"""The embedded engine: one Lance table that holds text, terms and vectors together."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from secondlook.errors import LibraryFormat, LibraryMissing
from secondlook.retrieval.index import lance_rows as rows
from secondlook.retrieval.index import lance_upkeep as upkeep
from secondlook.retrieval.index.checking import checked_vectors, distinct_ids
from secondlook.retrieval.index.hits import best, ranked
from secondlook.retrieval.index.port import EVERYTHING, Entry, Filter, IndexStats, Scored

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import numpy as np
    import pyarrow as pa
    from lance import LanceDataset, LanceScanner

    from secondlook.retrieval.index.port import Vectors

T = TypeVar("T")

_RETRIES = 5
_MANY_HITS = 100
_INDEX_CACHE = 512 << 20
_METADATA_CACHE = 128 << 20

APPROXIMATE_FROM = 10_000
"""Passages from which `compact` builds an approximate vector index: below, Lance compares all
of them in about 10 ms."""


class LanceIndex:
    """Implements the `Index` port. Threads may share one; processes open their own."""

    def __init__(
        self,
        place: str,
        *,
        dimensions: int,
        session: Any,
        approximate_from: int,
        storage_options: dict[str, str] | None,
    ) -> None:
        self._place = place
        self._options = storage_options
        self._dimensions = dimensions
        self._session = session
        self._approximate_from = approximate_from
        self._reader = self._opened()
        # Readers and writers use separate handles: a long compaction blocks no search.
        self._reading = threading.Lock()
        self._writing = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        dimensions: int,
        create: bool = False,
        approximate_from: int = APPROXIMATE_FROM,
        storage_options: dict[str, str] | None = None,
    ) -> Self:
        """Open the index in the folder `path`, or with `create` make it there if need be. With
        `storage_options`, `path` is an address in object storage, and what lies there is read."""
        session = upkeep.engine().Session(
            index_cache_size_bytes=_INDEX_CACHE, metadata_cache_size_bytes=_METADATA_CACHE
        )
        _check(str(path), dimensions, storage_options, create=create)
        return cls(
            str(path),
            dimensions=dimensions,
            session=session,
            approximate_from=approximate_from,
            storage_options=storage_options,
        )

    def add(
        self, entries: Sequence[Entry], vectors: Vectors, *, replacing: Collection[str] = ()
    ) -> None:
        replaced = {entry.document for entry in entries} | set(replacing)
        if not entries:
            self.delete(replaced)
            return
        ids = distinct_ids(entries)
        batch = rows.table(entries, vectors, self._dimensions)
        with self._writing:
            dataset = self._opened()
            upkeep.ensure_text_index(dataset)
            gone = rows.any_of("document", replaced)
            if dataset.count_rows(f"{gone} OR {rows.any_of('id', ids)}"):
                _merge(dataset, batch, gone)
            else:  # five times as fast, for a merge looks at every row
                dataset.insert(batch)

    def delete(self, documents: Collection[str]) -> None:
        if not documents:
            return
        with self._writing:
            self._opened().delete(rows.any_of("document", documents))

    def dense(
        self, vector: Vectors, k: int, where: Filter = EVERYTHING, *, exact: bool = False
    ) -> list[Scored]:
        query = checked_vectors(vector.reshape(1, -1), 1, self._dimensions)[0]

        def search(limit: int) -> list[Scored]:
            nearest = {"column": "vector", "q": query, "k": limit, "metric": "cosine"}
            nearest |= {"use_index": False} if exact else _effort(limit)
            found = self._read(
                columns=["id", "_distance"],
                nearest=nearest,
                filter=rows.predicate(where),
                prefilter=True,
            )
            return ranked(((id_, 1 - far) for id_, far in _found(found, "_distance")), digits=6)

        return best(search, k, where)

    def lexical(self, terms: Sequence[str], k: int, where: Filter = EVERYTHING) -> list[Scored]:
        query = rows.join_terms(terms)
        if not query:
            return []

        def search(limit: int) -> list[Scored]:
            found = self._read(
                columns=["id", "_score"],
                full_text_query={"query": query, "columns": ["terms"]},
                limit=limit,
                filter=rows.predicate(where),
                prefilter=True,
            )
            return ranked(_found(found, "_score"), digits=5)

        return best(search, k, where)

    def fetch(self, ids: Sequence[str]) -> list[Entry]:
        if not ids:
            return []
        found = self._read(columns=list(rows.ENTRY_COLUMNS), filter=rows.any_of("id", set(ids)))
        held = {row["id"]: rows.entry(row) for row in found.to_pylist()}
        return [held[id_] for id_ in ids if id_ in held]

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        if not ids:
            return {}
        found = self._read(columns=["id", "vector"], filter=rows.any_of("id", set(ids)))
        matrix = _matrix(found, self._dimensions)
        return dict(zip(found["id"].to_pylist(), matrix, strict=True))

    def documents(self) -> dict[str, int]:
        import pyarrow.compute as pc

        found = self._read(columns=["document"])["document"]
        return {held["values"]: held["counts"] for held in pc.value_counts(found).to_pylist()}

    def stats(self) -> IndexStats:
        held = self.documents()
        due = _insisting(
            lambda: upkeep.why_compact(self._opened(), approximate_from=self._approximate_from)
        )
        return IndexStats(
            passages=sum(held.values()),
            documents=len(held),
            bytes=self._bytes(),
            compact_due=bool(due),
            why_compact=due,
        )

    def compact(self, *, purge: bool = False) -> None:
        with self._writing:
            upkeep.compact(self._opened(), purge=purge, approximate_from=self._approximate_from)

    def _opened(self) -> LanceDataset:
        """The newest commit, in a handle of its own."""
        dataset: LanceDataset = upkeep.engine().dataset(
            self._place, session=self._session, storage_options=self._options
        )
        return dataset

    def _bytes(self) -> int:
        if self._options is None:
            return upkeep.disk_bytes(Path(self._place))
        return upkeep.data_bytes(self._opened())

    def _scanner(self, **options: Any) -> LanceScanner:
        with self._reading:  # checkout_latest changes the handle in place
            self._reader.checkout_latest()
            return self._reader.scanner(**options)

    def _read(self, **options: Any) -> pa.Table:
        return _insisting(lambda: self._scanner(**options).to_table())


def _insisting(read: Callable[[], T]) -> T:
    """Read again when a purge deleted the files of the commit that was being read. Lance has no
    error class for that: a vanished manifest, data file or index file each raise another one."""
    for _ in range(_RETRIES):
        try:
            return read()
        except (OSError, ValueError, RuntimeError):
            continue
    return read()


def _check(
    path: str, dimensions: int, storage_options: dict[str, str] | None, *, create: bool
) -> None:
    """Make sure that there is an index for such vectors."""
    try:
        dataset = upkeep.engine().dataset(path, storage_options=storage_options)
    except ValueError as error:  # nothing was ever committed there
        if not create:
            raise LibraryMissing(f"There is no index at {path!r}") from error
        dataset = upkeep.create(Path(path), dimensions)
    held = dataset.schema.field("vector").type.list_size
    if held != dimensions:
        raise LibraryFormat(
            f"The index at {path!r} holds vectors of {held} dimensions, not {dimensions}",
            hint="Open it with the embedder that made it, or build the library anew.",
        )


def _merge(dataset: LanceDataset, batch: pa.Table, gone: str) -> None:
    (
        dataset.merge_insert("id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .when_not_matched_by_source_delete(gone)
        .execute(batch)
    )


def _effort(limit: int) -> dict[str, float]:
    """How hard the approximate search looks. `search_effort` sets how many partitions are
    probed (a growing number of them in a growing library), `refine_factor` how many times
    more candidates than asked are compared exactly. Figures: docs/search.md."""
    return {"search_effort": 0.85, "refine_factor": 4 if limit < _MANY_HITS else 2}


def _found(table: pa.Table, column: str) -> Iterator[tuple[str, float]]:
    return zip(table["id"].to_pylist(), table[column].to_pylist(), strict=True)


def _matrix(found: pa.Table, dimensions: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    import numpy as np

    flat = found["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, dtype=np.float32).reshape(-1, dimensions)
