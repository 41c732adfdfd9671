"""The embedded engine: one Lance table that holds text, terms and vectors together."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from secondlook.errors import LibraryError, LibraryFormat, LibraryMissing
from secondlook.retrieval.index.hits import best, checked_vectors, distinct_ids, ranked
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
        session = engine().Session(
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
        batch = table(entries, vectors, self._dimensions)
        with self._writing:
            dataset = self._opened()
            ensure_text_index(dataset)
            gone = any_of("document", replaced)
            if dataset.count_rows(f"{gone} OR {any_of('id', ids)}"):
                _merge(dataset, batch, gone)
            else:  # five times as fast, for a merge looks at every row
                dataset.insert(batch)

    def delete(self, documents: Collection[str]) -> None:
        if not documents:
            return
        with self._writing:
            self._opened().delete(any_of("document", documents))

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
                filter=predicate(where),
                prefilter=True,
            )
            return ranked(((id_, 1 - far) for id_, far in _found(found, "_distance")), digits=6)

        return best(search, k, where)

    def lexical(self, terms: Sequence[str], k: int, where: Filter = EVERYTHING) -> list[Scored]:
        query = join_terms(terms)
        if not query:
            return []

        def search(limit: int) -> list[Scored]:
            found = self._read(
                columns=["id", "_score"],
                full_text_query={"query": query, "columns": ["terms"]},
                limit=limit,
                filter=predicate(where),
                prefilter=True,
            )
            return ranked(_found(found, "_score"), digits=5)

        return best(search, k, where)

    def fetch(self, ids: Sequence[str]) -> list[Entry]:
        if not ids:
            return []
        found = self._read(columns=list(ENTRY_COLUMNS), filter=any_of("id", set(ids)))
        held = {row["id"]: entry(row) for row in found.to_pylist()}
        return [held[id_] for id_ in ids if id_ in held]

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        if not ids:
            return {}
        found = self._read(columns=["id", "vector"], filter=any_of("id", set(ids)))
        matrix = _matrix(found, self._dimensions)
        return dict(zip(found["id"].to_pylist(), matrix, strict=True))

    def documents(self) -> dict[str, int]:
        import pyarrow.compute as pc

        found = self._read(columns=["document"])["document"]
        return {held["values"]: held["counts"] for held in pc.value_counts(found).to_pylist()}

    def stats(self) -> IndexStats:
        held = self.documents()
        due = _insisting(
            lambda: why_compact(self._opened(), approximate_from=self._approximate_from)
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
            compact(self._opened(), purge=purge, approximate_from=self._approximate_from)

    def _opened(self) -> LanceDataset:
        """The newest commit, in a handle of its own."""
        dataset: LanceDataset = engine().dataset(
            self._place, session=self._session, storage_options=self._options
        )
        return dataset

    def _bytes(self) -> int:
        if self._options is None:
            return disk_bytes(Path(self._place))
        return data_bytes(self._opened())

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
        dataset = engine().dataset(path, storage_options=storage_options)
    except ValueError as error:  # nothing was ever committed there
        if not create:
            raise LibraryMissing(f"There is no index at {path!r}") from error
        dataset = create_table(Path(path), dimensions)
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


# How entries become rows of a Lance table and come back, and how filters become predicates.

ENTRY_COLUMNS = ("id", "document", "text", "terms", "start", "end", "page", "heading", "labels")

_BREAKS_TOKENS = re.compile(r"[\s%]")
_ESCAPED = re.compile(r"%([0-9a-f]+);")


def schema(dimensions: int) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("document", pa.string(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("terms", pa.string(), nullable=False),
            pa.field("words", pa.int32(), nullable=False),
            pa.field("start", pa.int64(), nullable=False),
            pa.field("end", pa.int64(), nullable=False),
            pa.field("page", pa.int32()),
            pa.field("heading", pa.list_(pa.string())),
            pa.field("labels", pa.list_(pa.string())),
            pa.field("vector", pa.list_(pa.float32(), dimensions), nullable=False),
        ]
    )


def table(entries: Sequence[Entry], vectors: Vectors, dimensions: int) -> pa.Table:
    import pyarrow as pa

    rows = checked_vectors(vectors, len(entries), dimensions)
    columns: dict[str, Any] = {
        name: [getattr(entry, name) for entry in entries] for name in ENTRY_COLUMNS
    }
    columns["terms"] = [join_terms(entry.terms) for entry in entries]
    # BM25 counts passages that have terms: how many are held must be cheap to ask
    columns["words"] = [len(entry.terms) for entry in entries]
    columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), dimensions)
    return pa.table(columns, schema=schema(dimensions))


def entry(row: dict[str, Any]) -> Entry:
    return Entry(
        id=row["id"],
        document=row["document"],
        text=row["text"],
        terms=split_terms(row["terms"]),
        start=row["start"],
        end=row["end"],
        page=row["page"],
        heading=tuple(row["heading"] or ()),
        labels=tuple(row["labels"] or ()),
    )


def join_terms(terms: Sequence[str]) -> str:
    """One string that splits at spaces into the same terms, whatever they contain."""
    joined = " ".join(terms)
    if "%" not in joined and joined.split() == list(terms):  # nearly always
        return joined
    return " ".join(_BREAKS_TOKENS.sub(_escape, term) for term in terms if term)


def split_terms(joined: str) -> tuple[str, ...]:
    if "%" not in joined:
        return tuple(joined.split())
    return tuple(_ESCAPED.sub(_unescape, term) for term in joined.split())


def _escape(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):x};"


def _unescape(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))


def predicate(where: Filter) -> str | None:
    """The filter as SQL; exclusions are dealt with by asking for more."""
    conditions = []
    if where.documents is not None:
        conditions.append(any_of("document", where.documents))
    conditions += [f"array_has(labels, {quote(label)})" for label in sorted(where.labels)]
    return " AND ".join(conditions) or None


def any_of(column: str, values: Collection[str]) -> str:
    if not values:
        return "false"
    return f"{column} IN ({', '.join(quote(value) for value in sorted(values))})"


def quote(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


# What keeps a Lance table fast, exact and small: search structures, compaction, purging.

TEXT_INDEX = "terms"
VECTOR_INDEX = "vector"
_SCALAR_INDICES = {"id": "BTREE", "document": "BTREE", "labels": "LABEL_LIST"}

# The terms are final: Lance must split at spaces and change nothing.
_AS_GIVEN: dict[str, Any] = {
    "base_tokenizer": "whitespace",
    "max_token_length": None,
    "lower_case": False,
    "stem": False,
    "remove_stop_words": False,
    "ascii_folding": False,
    "with_position": False,
}

_ROWS_PER_PARTITION = 4096
_MOST_TEXT_SEGMENTS = 8
_MANY_FRAGMENTS = 32
_FEW_ROWS = 200
"""Below so many rows that are not indexed, or deleted, nobody notices a difference."""
_NOTICEABLE = 0.15
"""Share of rows not indexed, or deleted but still counted by BM25, that makes it worthwhile."""
_ATTEMPTS = 3
_LONG_AGO = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far an index covers the rows that are held."""

    rows: int
    """Rows held."""
    indexed: int
    """Rows held that the index knows."""
    stale: int
    """Rows that are gone but still in the index's statistics."""
    parts: int
    """Segments of the text index, partitions of the vector index."""

    @property
    def missing(self) -> int:
        return self.rows - self.indexed


def engine() -> Any:
    """The module `lance`, which writes its warnings to the terminal unless told not to."""
    os.environ.setdefault("LANCE_LOG", "error")
    import lance

    return lance


def create_table(path: Path, dimensions: int) -> LanceDataset:
    path.parent.mkdir(parents=True, exist_ok=True)
    empty = schema(dimensions).empty_table()
    try:
        dataset: LanceDataset = engine().write_dataset(empty, str(path), mode="create")
    except OSError:  # another process made it in the meantime, or it cannot be made at all
        dataset = _insist_on_opening(path)
    ensure_text_index(dataset)
    return dataset


def _insist_on_opening(path: Path) -> LanceDataset:
    try:
        dataset: LanceDataset = engine().dataset(str(path))
    except ValueError as error:
        raise LibraryError(
            f"No index can be made at {str(path)!r}",
            hint="Check that the folder may be written to and that the disk is not full.",
        ) from error
    return dataset


def ensure_text_index(dataset: LanceDataset) -> None:
    """Rows that are not indexed yet are searched too, analysed as the index says: so it must
    exist before the first row does."""
    if TEXT_INDEX not in index_names(dataset):
        _build_text_index(dataset)


def index_names(dataset: LanceDataset) -> set[str]:
    return {index.name for index in dataset.describe_indices()}


def why_compact(dataset: LanceDataset, *, approximate_from: int) -> str:
    """A plain reason to compact, or an empty string."""
    fragments = len(dataset.get_fragments())
    if fragments > _MANY_FRAGMENTS:
        return f"{fragments} small commits are not merged yet"
    text = _text_coverage(dataset)
    if text.missing > _FEW_ROWS and text.missing > _NOTICEABLE * text.rows:
        return f"{text.missing} of {text.rows} passages are not in the text index yet"
    if text.stale > _FEW_ROWS and text.stale > _NOTICEABLE * text.rows:
        return f"{text.stale} deleted passages still count in the ranking by words"
    if _can_approximate(dataset, text.rows, approximate_from):
        missing = _vector_coverage(dataset).missing
        if missing > _NOTICEABLE * text.rows:
            return f"{missing} of {text.rows} passages are not in the vector index yet"
    return ""


def compact(dataset: LanceDataset, *, purge: bool, approximate_from: int) -> None:
    # A purge leaves no index untouched: each may hold words, ids or labels of what is deleted.
    threshold = 0.0 if purge else 0.1
    _lance_upkeep_insisting(
        dataset, lambda: dataset.optimize.compact_files(materialize_deletions_threshold=threshold)
    )
    _lance_upkeep_insisting(dataset, lambda: _refresh_text_index(dataset, anew=purge))
    _lance_upkeep_insisting(dataset, lambda: _refresh_scalar_indices(dataset, anew=purge))
    _lance_upkeep_insisting(
        dataset, lambda: _refresh_vector_index(dataset, approximate_from, anew=purge)
    )
    if purge:
        dataset.cleanup_old_versions(retain_versions=1, delete_unverified=True)
    else:
        # Readers go to the newest version at every call: nobody is still in one this old.
        dataset.cleanup_old_versions(older_than=_LONG_AGO)


def disk_bytes(path: Path) -> int:
    total = 0
    for file in path.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:  # a writer cleans up meanwhile
            continue
    return total


def data_bytes(dataset: LanceDataset) -> int:
    """What the rows take, without search structures: of a place that cannot be walked."""
    files = (file for fragment in dataset.get_fragments() for file in fragment.data_files())
    return sum(file.file_size_bytes or 0 for file in files)


def _lance_upkeep_insisting(dataset: LanceDataset, step: Callable[[], object]) -> None:
    """Do the step again on the newest commit when another one came in between."""
    for attempt in range(_ATTEMPTS):
        try:
            step()
        except OSError:
            if attempt == _ATTEMPTS - 1:
                raise
            dataset.checkout_latest()
        else:
            return


def _build_text_index(dataset: LanceDataset) -> None:
    dataset.create_scalar_index("terms", "INVERTED", name=TEXT_INDEX, replace=True, **_AS_GIVEN)


def _refresh_text_index(dataset: LanceDataset, *, anew: bool) -> None:
    """Afterwards BM25 is exact: its statistics are of the rows that are held, and no others."""
    if TEXT_INDEX not in index_names(dataset):
        _build_text_index(dataset)
        return
    found = _text_coverage(dataset)
    if anew or found.stale or found.parts > _MOST_TEXT_SEGMENTS:
        _build_text_index(dataset)
    elif found.missing:
        dataset.optimize.optimize_indices(index_names=[TEXT_INDEX])


def _text_coverage(dataset: LanceDataset) -> Coverage:
    """Rows here are those with terms: Lance leaves the others out of its statistics."""
    rows = dataset.count_rows("words > 0")
    if TEXT_INDEX not in index_names(dataset):
        return Coverage(rows, 0, 0, 0)
    segments = dataset.stats.index_stats(TEXT_INDEX)["segments"]
    counted = sum(segment.get("num_docs", 0) for segment in segments)
    indexed = rows - _rows_outside(dataset, TEXT_INDEX)
    return Coverage(rows, indexed, counted - indexed, len(segments))


def _rows_outside(dataset: LanceDataset, index: str) -> int:
    """Rows with terms in fragments that the index does not cover."""
    segments = next(held for held in dataset.describe_indices() if held.name == index).segments
    covered = {fragment for segment in segments for fragment in segment.fragment_ids}
    outside = [held for held in dataset.get_fragments() if held.fragment_id not in covered]
    if not outside:
        return 0
    counted: int = dataset.scanner(filter="words > 0", fragments=outside).count_rows()
    return counted


def _refresh_scalar_indices(dataset: LanceDataset, *, anew: bool) -> None:
    if not dataset.count_rows():
        anew = True  # nothing to cover, but nothing deleted may stay
    held = index_names(dataset)
    for column, kind in _SCALAR_INDICES.items():
        if anew or column not in held:
            dataset.create_scalar_index(column, kind, name=column, replace=True)  # type: ignore[arg-type]
        elif dataset.stats.index_stats(column)["num_unindexed_rows"]:
            dataset.optimize.optimize_indices(index_names=[column])


def _can_approximate(dataset: LanceDataset, rows: int, approximate_from: int) -> bool:
    dimensions: int = dataset.schema.field("vector").type.list_size
    return rows >= approximate_from and dimensions % 8 == 0


def _vector_coverage(dataset: LanceDataset) -> Coverage:
    rows = dataset.count_rows()
    if VECTOR_INDEX not in index_names(dataset):
        return Coverage(rows, 0, 0, 0)
    found = dataset.stats.index_stats(VECTOR_INDEX)
    indexed = rows - found["num_unindexed_rows"]
    parts = sum(part["num_partitions"] for part in found["indices"])
    return Coverage(rows, indexed, 0, parts)


def _refresh_vector_index(dataset: LanceDataset, approximate_from: int, *, anew: bool) -> None:
    rows = dataset.count_rows()
    if not _can_approximate(dataset, rows, approximate_from):
        if VECTOR_INDEX in index_names(dataset):
            dataset.drop_index(VECTOR_INDEX)
        return
    found, wanted = _vector_coverage(dataset), max(1, rows // _ROWS_PER_PARTITION)
    if anew or not wanted / 2 <= found.parts <= wanted * 2:
        _build_vector_index(dataset, wanted)
    elif found.missing:
        dataset.optimize.optimize_indices(index_names=[VECTOR_INDEX])


def _build_vector_index(dataset: LanceDataset, partitions: int) -> None:
    dataset.create_index(
        "vector",
        "IVF_RQ",
        name=VECTOR_INDEX,
        metric="cosine",
        num_partitions=partitions,
        num_bits=2,
        replace=True,
    )
