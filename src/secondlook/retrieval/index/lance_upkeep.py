"""What keeps a Lance table fast, exact and small: search structures, compaction, purging.

Every step is a commit of its own and leaves the library as searchable as it was, so it may be
killed at any point and simply be run again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from secondlook.errors import LibraryError
from secondlook.retrieval.index.lance_rows import schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lance import LanceDataset

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


def create(path: Path, dimensions: int) -> LanceDataset:
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
    _insisting(
        dataset,
        lambda: dataset.optimize.compact_files(materialize_deletions_threshold=threshold),
    )
    _insisting(dataset, lambda: _refresh_text_index(dataset, anew=purge))
    _insisting(dataset, lambda: _refresh_scalar_indices(dataset, anew=purge))
    _insisting(dataset, lambda: _refresh_vector_index(dataset, approximate_from, anew=purge))
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


def _insisting(dataset: LanceDataset, step: Callable[[], object]) -> None:
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
