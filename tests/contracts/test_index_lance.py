"""What is particular to the Lance engine."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from secondlook.errors import LibraryError, LibraryFormat, LibraryMissing
from secondlook.retrieval.index import lance as lance_rows
from secondlook.retrieval.index import lance as lance_upkeep
from secondlook.retrieval.index.lance import LanceIndex
from secondlook.retrieval.index.port import Entry, Filter

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


def test_opening_nothing_says_so_and_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(LibraryMissing, match="no index"):
        LanceIndex.open(tmp_path / "none", dimensions=8)
    assert not (tmp_path / "none").exists()


def test_other_dimensions_are_refused(tmp_path: Path) -> None:
    LanceIndex.open(tmp_path / "i", dimensions=8, create=True)
    with pytest.raises(LibraryFormat, match="8 dimensions, not 16"):
        LanceIndex.open(tmp_path / "i", dimensions=16)


def test_a_folder_left_over_from_a_killed_creation_opens(tmp_path: Path) -> None:
    path = tmp_path / "i"
    LanceIndex.open(path, dimensions=8, create=True)
    shutil.rmtree(path / "_versions")  # data files were written, nothing was committed
    index = LanceIndex.open(path, dimensions=8, create=True)
    index.add(entries(3), vectors(3))
    assert len(index.lexical(["t"], 5)) == 3


def test_an_index_without_its_text_index_gets_one_with_the_first_add(tmp_path: Path) -> None:
    import lance

    lance.write_dataset(lance_rows.schema(8).empty_table(), str(tmp_path / "i"))
    index = LanceIndex.open(tmp_path / "i", dimensions=8)
    assert index.lexical(["T"], 5) == []
    assert not index.stats().compact_due
    index.add([Entry("1", "d", "t", ("T", "running", "the"), 0, 1)], vectors(1))
    assert index.lexical(["t"], 5) == index.lexical(["run"], 5) == []
    assert len(index.lexical(["the"], 5)) == 1


def test_compaction_alone_makes_a_missing_text_index(tmp_path: Path) -> None:
    import lance

    batch = lance_rows.table(entries(3), vectors(3), 8)
    lance.write_dataset(batch, str(tmp_path / "i"))
    index = LanceIndex.open(tmp_path / "i", dimensions=8)
    index.compact()
    assert len(index.lexical(["w1"], 5)) == 1


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


def test_vectors_not_yet_indexed_are_a_reason_to_compact(tmp_path: Path) -> None:
    index = LanceIndex.open(tmp_path / "i", dimensions=16, create=True, approximate_from=9999)
    index.add(entries(600), vectors(600, 16))
    index.compact()
    index = LanceIndex.open(tmp_path / "i", dimensions=16, approximate_from=600)
    assert "600 of 600 passages are not in the vector index" in index.stats().why_compact


def test_odd_dimensions_are_searched_exactly(tmp_path: Path) -> None:
    index = LanceIndex.open(tmp_path / "i", dimensions=9, create=True, approximate_from=100)
    index.add(entries(300), vectors(300, 9))
    index.compact()
    assert index.dense(vectors(8, 9)[7], 1)[0].id == "d7"
    assert not index.stats().compact_due


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


def test_many_ids_and_many_exclusions_at_once(tmp_path: Path) -> None:
    index = LanceIndex.open(tmp_path / "i", dimensions=8, create=True)
    held = entries(3000)
    index.add(held, vectors(3000))
    assert index.fetch([entry.id for entry in reversed(held)]) == held[::-1]
    but_one = Filter(excluded=frozenset(entry.id for entry in held[1:]))
    assert [hit.id for hit in index.lexical(["t"], 5, but_one)] == ["d0"]
    assert [hit.id for hit in index.dense(vectors(1)[0], 5, but_one)] == ["d0"]


@pytest.mark.parametrize(
    "term", ["a b", "%", "%20;", "\u3000", "\x1f", "a\n", "%zz;", "x%25;y", "\x00"]
)
def test_any_term_survives_being_joined(term: str) -> None:
    joined = lance_rows.join_terms([term, "next"])
    assert len(joined.split()) == 2
    assert lance_rows.split_terms(joined) == (term, "next")


def test_a_step_that_keeps_failing_fails(tmp_path: Path) -> None:
    index = LanceIndex.open(tmp_path / "i", dimensions=8, create=True)
    shutil.rmtree(tmp_path / "i" / "_indices")
    shutil.rmtree(tmp_path / "i" / "_versions")
    with pytest.raises((OSError, ValueError)):
        index.dense(vectors(1)[0], 3)


def test_two_processes_that_create_at_once_share_one_index(tmp_path: Path) -> None:
    LanceIndex.open(tmp_path / "i", dimensions=8, create=True).add(entries(2), vectors(2))
    again = lance_upkeep.create_table(tmp_path / "i", 8)  # as one that saw no index a moment ago
    assert again.count_rows() == 2


def test_a_place_that_cannot_hold_an_index_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(LibraryError, match="file"):
        LanceIndex.open(tmp_path / "file", dimensions=8, create=True)
