"""What is particular to the Lance engine."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from secondlook.retrieval.index import lance as lance_rows
from secondlook.retrieval.index import lance as lance_upkeep
from secondlook.retrieval.index.lance import LanceIndex
from secondlook.retrieval.index.port import Entry

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


def entries(count: int, document: str = "d") -> list[Entry]:
    return [Entry(f"{document}{n}", document, "t", ("t", f"w{n}"), 0, 1) for n in range(count)]


def vectors(count: int, dimensions: int = 8) -> Vectors:
    rows = np.random.default_rng(0).standard_normal((count, dimensions))
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def test_the_vector_index_comes_grows_and_goes_with_the_passages(tmp_path: Path) -> None:
    index = LanceIndex.open(tmp_path / "i", dimensions=16, create=True, approximate_from=600)
    index.add(entries(500, "a"), vectors(500, 16))
    index.compact()
    assert "vector" not in lance_upkeep.index_names(index._opened())
    index.add(entries(500, "b"), vectors(500, 16))
    index.compact()
    assert "vector" in lance_upkeep.index_names(index._opened())
    index.add(entries(500, "c"), vectors(500, 16))
    assert "vector index" not in index.stats().why_compact  # the text index is named first
    index.compact()
    assert index._opened().stats.index_stats("vector")["num_unindexed_rows"] == 0
    assert index.dense(vectors(3, 16)[2], 1)[0].id in {"a2", "b2", "c2"}
    index.delete(["a", "b"])
    index.compact()
    assert "vector" not in lance_upkeep.index_names(index._opened())


def test_threads_share_an_index_while_it_is_compacted(tmp_path: Path) -> None:
    index = LanceIndex.open(tmp_path / "i", dimensions=8, create=True)
    index.add(entries(400), vectors(400))
    problems: list[str] = []

    def search() -> None:
        for _ in range(15):
            found = index.dense(vectors(5)[4], 3), index.lexical(["w4"], 1), index.fetch(["d4"])
            if [part[0].id for part in found] != ["d4"] * 3:
                problems.append(repr(found))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        index.add(entries(400), vectors(400))
        index.compact(purge=True)
    for thread in threads:
        thread.join()
    assert not problems


@pytest.mark.parametrize(
    "term", ["a b", "%", "%20;", "\u3000", "\x1f", "a\n", "%zz;", "x%25;y", "\x00"]
)
def test_any_term_survives_being_joined(term: str) -> None:
    joined = lance_rows.join_terms([term, "next"])
    assert len(joined.split()) == 2
    assert lance_rows.split_terms(joined) == (term, "next")
