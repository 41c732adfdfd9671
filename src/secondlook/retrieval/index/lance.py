"""The embedded engine: one Lance table that holds text, terms and vectors together."""

from __future__ import annotations

import os
import re
import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from secondlook.errors import LibraryError, LibraryFormat, LibraryMissing
from secondlook.retrieval.index.port import (
    EVERYTHING,
    Entry,
    Filter,
    IndexStats,
    Scored,
    best,
    checked_vectors,
    distinct_ids,
    ranked,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pyarrow as pa
    from lance import LanceDataset

    from secondlook.retrieval.index.port import Vectors

T = TypeVar("T")

_RETRIES = 6
_VANISHED = (OSError, ValueError, RuntimeError)  # a purge took what is read: read again
_MANY_HITS = 84

APPROXIMATE_FROM = 10_000  # below, Lance compares all passages in about 10 ms


class LanceIndex:
    def __init__(
        self,
        place: str,
        *,
        dimensions: int,
        approximate_from: int = APPROXIMATE_FROM,
        storage_options: dict[str, str] | None = None,
    ) -> None:
        self._place, self._options, self._dimensions = place, storage_options, dimensions
        self._approximate_from = approximate_from
        self._session = engine().Session(
            index_cache_size_bytes=(512 << 20), metadata_cache_size_bytes=(128 << 20)
        )
        self._reader = self._opened()
        # Readers and writers use separate handles: a long compaction blocks no search.
        self._reading = threading.Lock()
        self._writing = threading.Lock()

    @classmethod
    def open(
        cls, path: str | Path, *, dimensions: int, create: bool = False, **options: Any
    ) -> Self:
        """Open the index in the folder `path`, or with `create` make it there if need be. With
        `storage_options`, `path` is an address in object storage, and what lies there is read."""
        place = str(path)
        try:
            dataset = engine().dataset(place, storage_options=options.get("storage_options"))
        except ValueError as error:  # nothing was ever committed there
            if not create:
                raise LibraryMissing(f"There is no index at {place!r}") from error
            dataset = create_table(Path(path), dimensions)
        held = dataset.schema.field("vector").type.list_size
        if held != dimensions:
            raise LibraryFormat(
                f"The index at {place!r} holds vectors of {held} dimensions, not {dimensions}",
                hint="Open it with the embedder that made it, or build the library anew.",
            )
        return cls(place, dimensions=dimensions, **options)

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
                merge = dataset.merge_insert("id").when_matched_update_all()
                merge = merge.when_not_matched_insert_all().when_not_matched_by_source_delete(gone)
                merge.execute(batch)
            else:  # five times as fast, for a merge looks at every row
                dataset.insert(batch)

    def delete(self, documents: Collection[str]) -> None:
        if documents:
            with self._writing:
                self._opened().delete(any_of("document", documents))

    def dense(
        self, vector: Vectors, k: int, where: Filter = EVERYTHING, *, exact: bool = False
    ) -> list[Scored]:
        query = checked_vectors(vector.reshape(1, -1), 1, self._dimensions)[0]
        nearest = {"column": "vector", "q": query, "metric": "cosine"}
        if exact:
            nearest["use_index"] = False
        else:
            # How many partitions are probed (more in a larger library), and how many times more
            # candidates than asked are compared exactly. Figures: docs/search.md.
            refined = 4 if k + len(where.excluded) < _MANY_HITS else 2
            nearest |= {"search_effort": 0.85, "refine_factor": refined}
        return best(
            lambda limit: self._found("_distance", where, nearest={**nearest, "k": limit}), k, where
        )

    def lexical(self, terms: Sequence[str], k: int, where: Filter = EVERYTHING) -> list[Scored]:
        words = {"query": join_terms(terms), "columns": ["terms"]}
        if not words["query"]:
            return []
        return best(
            lambda limit: self._found("_score", where, full_text_query=words, limit=limit), k, where
        )

    def fetch(self, ids: Sequence[str]) -> list[Entry]:
        if not ids:
            return []
        found = self._read(columns=list(ENTRY_COLUMNS), filter=any_of("id", set(ids)))
        held = {
            row["id"]: Entry(
                **row
                | {"terms": split_terms(row["terms"])}
                | {name: tuple(row[name] or ()) for name in ("heading", "labels")}
            )
            for row in found.to_pylist()
        }
        return [held[id_] for id_ in ids if id_ in held]

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        import numpy as np

        if not ids:
            return {}
        found = self._read(columns=["id", "vector"], filter=any_of("id", set(ids)))
        flat = found["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        matrix = np.asarray(flat, dtype=np.float32).reshape(-1, self._dimensions)
        return dict(zip(found["id"].to_pylist(), matrix, strict=True))

    def documents(self) -> dict[str, int]:
        import pyarrow.compute as pc

        found = self._read(columns=["document"])["document"]
        return {held["values"]: held["counts"] for held in pc.value_counts(found).to_pylist()}

    def count(self) -> int:
        with self._reading:
            self._reader.checkout_latest()
            return int(self._reader.count_rows())

    def stats(self) -> IndexStats:
        held = self.documents()
        due = ""
        with suppress(*_VANISHED):
            due = why_compact(self._opened(), self._approximate_from)
        if self._options is None:
            size = disk_bytes(Path(self._place))
        else:  # what the rows take, without search structures: a place that cannot be walked
            parts = self._opened().get_fragments()
            size = sum(file.file_size_bytes or 0 for part in parts for file in part.data_files())
        return IndexStats(sum(held.values()), len(held), size, bool(due), due)

    def compact(self, *, purge: bool = False) -> None:
        with self._writing:
            compact(self._opened(), purge=purge, approximate_from=self._approximate_from)

    def _opened(self) -> LanceDataset:
        dataset: LanceDataset = engine().dataset(
            self._place, session=self._session, storage_options=self._options
        )
        return dataset

    def _read(self, **options: Any) -> pa.Table:
        for attempt in range(_RETRIES):
            try:
                with self._reading:  # checkout_latest changes the handle in place
                    self._reader.checkout_latest()
                    scanner = self._reader.scanner(**options)
                return scanner.to_table()
            except _VANISHED:
                if attempt == _RETRIES - 1:
                    raise
        raise AssertionError  # the last attempt returned or raised

    def _found(self, score: str, where: Filter, **options: Any) -> list[Scored]:
        found = self._read(
            columns=["id", score], filter=predicate(where), prefilter=True, **options
        )
        scores = found[score].to_pylist()
        if score == "_distance":
            scores = [1 - far for far in scores]
        digits = 6 if score == "_distance" else 5
        return ranked(zip(found["id"].to_pylist(), scores, strict=True), digits=digits)


# How entries become rows of a Lance table and come back, and how filters become predicates.

ENTRY_COLUMNS = ("id", "document", "text", "terms", "start", "end", "page", "heading", "labels")

_BREAKS_TOKENS = re.compile(r"[\s%]")
_ESCAPED = re.compile(r"%([0-9a-f]+);")


def schema(dimensions: int) -> pa.Schema:
    import pyarrow as pa

    text, texts, place = pa.string(), pa.list_(pa.string()), pa.int64()
    filled = {"id": text, "document": text, "text": text, "terms": text, "words": pa.int32()}
    filled |= {"start": place, "end": place}
    optional = {"page": pa.int32(), "heading": texts, "labels": texts}
    vector = {"vector": pa.list_(pa.float32(), dimensions)}
    columns = [*filled.items(), *optional.items(), *vector.items()]
    return pa.schema([pa.field(name, kind, name in optional) for name, kind in columns])


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


def join_terms(terms: Sequence[str]) -> str:
    """One string that splits at spaces into the same terms, whatever they contain."""
    joined = " ".join(terms)
    if "%" not in joined and joined.split() == list(terms):  # nearly always
        return joined
    escaped = (_BREAKS_TOKENS.sub(lambda found: f"%{ord(found[0]):x};", term) for term in terms)
    return " ".join(term for term in escaped if term)


def split_terms(joined: str) -> tuple[str, ...]:
    if "%" not in joined:
        return tuple(joined.split())
    return tuple(
        _ESCAPED.sub(lambda found: chr(int(found[1], 16)), term) for term in joined.split()
    )


def predicate(where: Filter) -> str | None:
    """The filter as SQL; exclusions are dealt with by asking for more."""
    documents = [] if where.documents is None else [any_of("document", where.documents)]
    labels = (label.replace("'", "''") for label in sorted(where.labels))
    return " AND ".join([*documents, *(f"array_has(labels, '{one}')" for one in labels)]) or None


def any_of(column: str, values: Collection[str]) -> str:
    quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in sorted(values))
    return f"{column} IN ({quoted})" if quoted else "false"


# What keeps a Lance table fast, exact and small: search structures, compaction, purging.

TEXT_INDEX = "terms"
VECTOR_INDEX = "vector"
_SCALAR_INDICES = {"id": "BTREE", "document": "BTREE", "labels": "LABEL_LIST"}

# The terms are final: Lance must split at spaces and change nothing.
_AS_GIVEN: dict[str, Any] = {
    "base_tokenizer": "whitespace", "max_token_length": None, "lower_case": False, "stem": False,
    "remove_stop_words": False, "ascii_folding": False, "with_position": False,
}  # fmt: skip

_MOST_TEXT_SEGMENTS = 8
_MANY_FRAGMENTS = 32
_FEW_ROWS = 200  # below so many rows that are not indexed, or deleted, nobody notices a difference
_NOTICEABLE = 0.15  # share of rows not indexed, or deleted yet counted by BM25
_ATTEMPTS = 3


def engine() -> Any:
    """The module `lance`, which writes its warnings to the terminal unless told not to."""
    os.environ.setdefault("LANCE_LOG", "error")
    import lance

    return lance


def create_table(path: Path, dimensions: int) -> LanceDataset:
    path.parent.mkdir(parents=True, exist_ok=True)
    empty = schema(dimensions).empty_table()
    dataset: LanceDataset
    try:
        dataset = engine().write_dataset(empty, str(path), mode="create")
    except OSError:  # another process made it in the meantime, or it cannot be made at all
        try:
            dataset = engine().dataset(str(path))
        except ValueError as error:
            raise LibraryError(
                f"No index can be made at {str(path)!r}",
                hint="Check that the folder may be written to and that the disk is not full.",
            ) from error
    ensure_text_index(dataset)
    return dataset


def ensure_text_index(dataset: LanceDataset) -> None:
    """It must exist before the first row: rows are analysed as it says."""
    if TEXT_INDEX not in index_names(dataset):
        _build_text_index(dataset)


def index_names(dataset: LanceDataset) -> set[str]:
    return {index.name for index in dataset.describe_indices()}


def why_compact(dataset: LanceDataset, approximate_from: int) -> str:
    fragments = len(dataset.get_fragments())
    rows, missing, stale, _ = _text_coverage(dataset)
    is_large = _can_approximate(dataset, rows, approximate_from)
    lacking = _vector_coverage(dataset)[0] if is_large else 0
    reasons = {
        f"{fragments} small commits are not merged yet": fragments > _MANY_FRAGMENTS,
        f"{missing} of {rows} passages are not in the text index yet": _is_many(missing, rows),
        f"{stale} deleted passages still count in the ranking by words": _is_many(stale, rows),
        f"{lacking} of {rows} passages are not in the vector index yet": _is_many(lacking, rows),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _is_many(changed: int, rows: int) -> bool:
    return changed > _FEW_ROWS and changed > _NOTICEABLE * rows


def compact(dataset: LanceDataset, *, purge: bool, approximate_from: int) -> None:
    # A purge leaves no index untouched: each may hold words, ids or labels of what is deleted.
    threshold = 0.0 if purge else 0.1
    for step in (
        lambda: dataset.optimize.compact_files(materialize_deletions_threshold=threshold),
        lambda: _refresh_text_index(dataset, anew=purge),
        lambda: _refresh_scalar_indices(dataset, anew=purge),
        lambda: _refresh_vector_index(dataset, approximate_from, anew=purge),
    ):
        for attempt in range(_ATTEMPTS):
            try:
                step()
                break
            except OSError:  # another commit came in between: once more on the newest one
                if attempt == _ATTEMPTS - 1:
                    raise
                dataset.checkout_latest()
    if purge:
        dataset.cleanup_old_versions(retain_versions=1, delete_unverified=True)
    else:
        # Readers go to the newest version at every call: nobody is still in one this old.
        dataset.cleanup_old_versions(older_than=timedelta(minutes=10))


def disk_bytes(path: Path) -> int:
    total = 0
    for file in path.rglob("*"):
        with suppress(FileNotFoundError):  # a writer cleans up meanwhile
            total += file.stat().st_size if file.is_file() else 0
    return total


def _build_text_index(dataset: LanceDataset) -> None:
    dataset.create_scalar_index("terms", "INVERTED", name=TEXT_INDEX, replace=True, **_AS_GIVEN)


def _refresh_text_index(dataset: LanceDataset, *, anew: bool) -> None:
    """Afterwards BM25 is exact: its statistics are of the rows that are held, and no others."""
    _, missing, stale, segments = _text_coverage(dataset)
    if anew or stale or not 0 < segments <= _MOST_TEXT_SEGMENTS:
        _build_text_index(dataset)
    elif missing:
        dataset.optimize.optimize_indices(index_names=[TEXT_INDEX])


def _text_coverage(dataset: LanceDataset) -> tuple[int, int, int, int]:
    """Rows with terms, how many the index lacks, how many it counts that are gone, segments."""
    rows = dataset.count_rows("words > 0")
    found = [held for held in dataset.describe_indices() if held.name == TEXT_INDEX]
    if not found:
        return rows, rows, 0, 0
    covered = {fragment for segment in found[0].segments for fragment in segment.fragment_ids}
    outside = [held for held in dataset.get_fragments() if held.fragment_id not in covered]
    missing = 0
    if outside:
        missing = dataset.scanner(filter="words > 0", fragments=outside).count_rows()
    segments = dataset.stats.index_stats(TEXT_INDEX)["segments"]
    counted = sum(segment.get("num_docs", 0) for segment in segments)
    return rows, missing, counted - (rows - missing), len(segments)


def _refresh_scalar_indices(dataset: LanceDataset, *, anew: bool) -> None:
    held = index_names(dataset)
    anew = anew or not dataset.count_rows()  # nothing to cover, but nothing deleted may stay
    for column, kind in _SCALAR_INDICES.items():
        if anew or column not in held:
            dataset.create_scalar_index(column, kind, name=column, replace=True)  # type: ignore[arg-type]
        elif dataset.stats.index_stats(column)["num_unindexed_rows"]:
            dataset.optimize.optimize_indices(index_names=[column])


def _can_approximate(dataset: LanceDataset, rows: int, approximate_from: int) -> bool:
    dimensions: int = dataset.schema.field("vector").type.list_size
    return rows >= approximate_from and dimensions % 8 == 0


def _vector_coverage(dataset: LanceDataset) -> tuple[int, int]:
    if VECTOR_INDEX not in index_names(dataset):
        return dataset.count_rows(), 0
    found = dataset.stats.index_stats(VECTOR_INDEX)
    return found["num_unindexed_rows"], sum(part["num_partitions"] for part in found["indices"])


def _refresh_vector_index(dataset: LanceDataset, approximate_from: int, *, anew: bool) -> None:
    rows = dataset.count_rows()
    if not _can_approximate(dataset, rows, approximate_from):
        if VECTOR_INDEX in index_names(dataset):
            dataset.drop_index(VECTOR_INDEX)
        return
    wanted = max(1, rows // 4096)
    missing, partitions = _vector_coverage(dataset)
    if anew or not wanted / 2 <= partitions <= wanted * 2:
        options: dict[str, Any] = {"metric": "cosine", "num_partitions": wanted, "num_bits": 2}
        dataset.create_index("vector", "IVF_RQ", name=VECTOR_INDEX, replace=True, **options)
    elif missing:
        dataset.optimize.optimize_indices(index_names=[VECTOR_INDEX])
