"""What is particular to each engine."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from secondlook.errors import LibraryFormat, LibraryUnreachable, UsageError
from secondlook.retrieval.index import lance
from secondlook.retrieval.index import milvus_server as milvus_rows
from secondlook.retrieval.index.lance import LanceIndex
from secondlook.retrieval.index.milvus import MilvusIndex
from secondlook.retrieval.index.port import Entry
from tests.support import milvus

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.retrieval.index.port import Vectors

NOBODY = "http://127.0.0.1:9"
"""The port of a service that throws everything away, and that no machine offers any more."""


def opened(path: Path, *, dimensions: int = 8, create: bool = True) -> MilvusIndex:
    return MilvusIndex.open(
        milvus.address(), milvus.name_for(path), dimensions=dimensions, create=create
    )


def vectors(count: int, dimensions: int = 8) -> Vectors:
    rows = np.random.default_rng(0).standard_normal((count, dimensions))
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def test_a_server_that_is_away_is_named_and_may_be_tried_again() -> None:
    with pytest.raises(LibraryUnreachable, match=r"127\.0\.0\.1:9 does not answer") as caught:
        MilvusIndex.open(NOBODY, "x", dimensions=8, token="root:s3cret")  # noqa: S106
    assert caught.value.retryable
    assert "s3cret" not in f"{caught.value!r}{caught.value.hint}"


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    index = opened(tmp_path)
    head = index._newest()
    row = {"key": 10**9, "turn": head.turn + 1, "part": 0, "parts": 1, "unused": [1.0, 0.0]}
    said = json.dumps({"format": 2, "news": True})
    index._server.insert(index._name + "_head", [row | {"said": said}])
    with pytest.raises(LibraryFormat, match="format 2"):
        opened(tmp_path)


def test_what_a_killed_writer_left_is_not_seen_and_goes_with_the_next_commit(
    tmp_path: Path,
) -> None:
    index = opened(tmp_path)
    head = index._newest()
    half = milvus_rows.rows([Entry("a", "d", "t", ("t",), 0, 1)], vectors(1), commit=1)
    index._server.insert(head.collection, half)
    assert index.documents() == {}
    assert index.lexical(["t"], 5) == index.dense(vectors(1)[0], 5) == []
    assert index.fetch(["a"]) == []
    index.add([Entry("b", "e", "t", ("t",), 0, 1)], vectors(1))
    assert index.documents() == {"e": 1}
    assert [hit.id for hit in index.lexical(["t"], 5)] == ["b"]


def test_a_passage_that_does_not_fit_is_refused_before_anything_changes(tmp_path: Path) -> None:
    index = opened(tmp_path)
    long = Entry("b", "e", "é" * 40_000, ("t",), 0, 1)
    with pytest.raises(UsageError, match="65,535 bytes"):
        index.add([long], vectors(1))
    assert index.documents() == {}


@pytest.mark.parametrize(
    "term", ["a b", "zz", "zzz", "Running", "naïve", "検索", "\n", "'", "x" * 300, "\uff11", "a1"]
)
def test_any_term_is_one_token_and_comes_back(term: str) -> None:
    joined = milvus_rows.tokens([term, "next"])
    assert joined.isascii()
    assert joined == joined.lower()
    assert len(joined.split()) == 2
    assert milvus_rows.terms_of(joined) == (term, "next")


def entries(count: int, document: str = "d") -> list[Entry]:
    return [Entry(f"{document}{n}", document, "t", ("t", f"w{n}"), 0, 1) for n in range(count)]


def test_the_vector_index_comes_grows_and_goes_with_the_passages(tmp_path: Path) -> None:
    index = LanceIndex.open(tmp_path / "i", dimensions=16, create=True, approximate_from=600)
    index.add(entries(500, "a"), vectors(500, 16))
    index.compact()
    assert "vector" not in lance.index_names(index._opened())
    index.add(entries(500, "b"), vectors(500, 16))
    index.compact()
    assert "vector" in lance.index_names(index._opened())
    index.add(entries(500, "c"), vectors(500, 16))
    assert "vector index" not in index.stats().why_compact  # the text index is named first
    index.compact()
    assert index._opened().stats.index_stats("vector")["num_unindexed_rows"] == 0
    assert index.dense(vectors(3, 16)[2], 1)[0].id in {"a2", "b2", "c2"}
    index.delete(["a", "b"])
    index.compact()
    assert "vector" not in lance.index_names(index._opened())


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
    joined = lance.join_terms([term, "next"])
    assert len(joined.split()) == 2
    assert lance.split_terms(joined) == (term, "next")
