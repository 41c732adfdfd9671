"""The benchmark of growth: what it makes, what it computes, and that docs/scale.md shows it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchmarks import search_data
from benchmarks.scale_data import Real, batches
from benchmarks.scale_sizing import ASSUMED, PerPassage, line, planned
from secondlook.retrieval.index.port import Entry

ONE = PerPassage(
    vector_bytes=1536,
    words_bytes=464,
    row_bytes=2000,
    disk_bytes=2500,
    index_core_ms=1.0,
    embed_core_ms=90.0,
    parse_core_ms=10.0,
    search_core_ms=(10.0, 2.0),
)


def some_real(documents: int, of_each: int) -> Real:
    entries = [
        Entry(f"d{number}.{at}", f"d{number}", "text", (f"d{number}", "word"), 0, 4)
        for number in range(documents)
        for at in range(of_each)
    ]
    vectors = np.random.default_rng(3).standard_normal((7, 16)).astype(np.float32)
    return Real(entries, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), 0.4)


@pytest.mark.parametrize("size", [30, 31, 400])
def test_a_collection_has_its_size_and_no_document_in_two_batches(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_data, "BATCH", 20)
    made = list(batches(some_real(10, 3), size))
    entries = [entry for batch, _ in made for entry in batch]
    assert len(entries) == len({entry.id for entry in entries}) == size
    assert len(made) > 1
    documents = [{entry.document for entry in batch} for batch, _ in made]
    assert sum(len(each) for each in documents) == len(set().union(*documents)) == 10
    assert all(set(entry.terms) <= {entry.document, "word"} for entry in entries)


def test_every_real_vector_is_there_once_and_copies_lie_around_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search_data, "BATCH", 20)
    real = some_real(10, 3)
    vectors = np.concatenate([part for _, part in batches(real, 200)])
    assert np.array_equal(vectors[:7], real.vectors)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    nearest = np.max(vectors[7:] @ real.vectors.T, axis=1)
    assert 0.85 < float(np.median(nearest)) < 0.999


def test_the_line_goes_through_both_sizes() -> None:
    fixed, rise = line((200_000, 20.0), (700_000, 30.0))
    assert fixed + 0.2 * rise == pytest.approx(20)
    assert fixed + 0.7 * rise == pytest.approx(30)


def test_a_plan_is_arithmetic_over_its_assumptions() -> None:
    plan = planned(ONE, replace(ASSUMED, node_gb=100, usable=0.5, replicas=3, days_to_embed=1))
    assert plan.memory_gb == pytest.approx(200)
    assert (plan.shards, plan.nodes) == (4, 12)
    assert plan.disk_gb == pytest.approx(750)
    assert plan.embed_core_hours == pytest.approx(2500)
    assert plan.embed_machines == 8
    assert plan.search_core_ms == pytest.approx(4 * 10 + 100 * 2)


def test_more_passages_never_cost_less() -> None:
    plans = [planned(ONE, replace(ASSUMED, passages=10**power)) for power in range(5, 10)]
    for smaller, larger in pairwise(plans):
        assert larger.memory_gb > smaller.memory_gb
        assert larger.nodes >= smaller.nodes
        assert larger.search_core_ms > smaller.search_core_ms
        assert larger.embed_dollars > smaller.embed_dollars
