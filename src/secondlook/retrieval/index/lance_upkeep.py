"""What keeps a Lance table fast, exact and small: search structures, compaction, purging."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from secondlook.retrieval.index.lance_rows import schema

if TYPE_CHECKING:
    from pathlib import Path

    from lance import LanceDataset

TEXT_INDEX = "terms"

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


def create(path: Path, dimensions: int) -> LanceDataset:
    import lance

    path.parent.mkdir(parents=True, exist_ok=True)
    empty = schema(dimensions).empty_table()
    dataset = lance.write_dataset(empty, str(path), mode="create")
    ensure_text_index(dataset)
    return dataset


def ensure_text_index(dataset: LanceDataset) -> None:
    """Rows that are not indexed yet are searched too, analysed as the index says: so it must
    exist before the first row does."""
    if not any(index.name == TEXT_INDEX for index in dataset.describe_indices()):
        build_text_index(dataset)


def build_text_index(dataset: LanceDataset) -> None:
    dataset.create_scalar_index("terms", "INVERTED", name=TEXT_INDEX, replace=True, **_AS_GIVEN)


def why_compact(dataset: LanceDataset) -> str:
    fragments = len(dataset.get_fragments())
    if fragments > 20:
        return f"{fragments} small commits are not merged yet"
    return ""


def compact(dataset: LanceDataset, *, purge: bool) -> None:
    dataset.optimize.compact_files(materialize_deletions_threshold=0.0)
    build_text_index(dataset)
    if purge:
        dataset.cleanup_old_versions(timedelta(0), delete_unverified=True)


def disk_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
