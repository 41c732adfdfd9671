"""The benchmark of growth: what it makes, and what it computes."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from benchmarks import scale
from benchmarks.common import RESULTS
from benchmarks.scale import Assumed, Real, batches, planned
from secondlook.retrieval.index.port import Entry


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
    monkeypatch.setattr(scale, "BATCH", 20)
    real = some_real(10, 3)
    made = list(batches(real, size))
    entries = [entry for batch, _ in made for entry in batch]
    assert len(entries) == len({entry.id for entry in entries}) == size
    assert len(made) > 1
    documents = [{entry.document for entry in batch} for batch, _ in made]
    assert sum(len(each) for each in documents) == len(set().union(*documents)) == 10
    assert all(set(entry.terms) <= {entry.document, "word"} for entry in entries)
    vectors = np.concatenate([part for _, part in made])
    assert np.array_equal(vectors[:7], real.vectors)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert 0.85 < float(np.median(np.max(vectors[7:] @ real.vectors.T, axis=1))) < 0.999


def measured(passages: int, cpu_ms: float, *, real: bool) -> dict[str, Any]:
    build = {
        "passages": passages,
        "real_texts": passages if real else passages // 2,
        "disk_bytes": 2500 * passages,
        "add_processor_seconds": passages / 2000,
        "compact_processor_seconds": passages / 2000,
    }
    return {"build": build, "alone": {"search": {"hybrid": {"cpu_p50_ms": cpu_ms}}}}


SIZES = {"1": measured(1_000_000, 12.0, real=True), "2": measured(2_000_000, 14.0, real=False)}


def test_a_plan_is_arithmetic_over_its_assumptions() -> None:
    assumed = replace(
        Assumed(), node_gb=100, usable=0.5, replicas=3, embed_core_ms=90.0, words_bytes=464.0
    )
    plan = planned(SIZES, assumed)
    assert plan["memory_gb"] == pytest.approx(200)
    assert (plan["shards"], plan["nodes"]) == (4, 12)
    assert plan["disk_gb"] == pytest.approx(750)
    assert plan["embed_core_hours"] == pytest.approx(2500)
    assert plan["search_core_ms"] == pytest.approx(4 * 10 + 100 * 2)
    assert plan["index_core_hours"] == pytest.approx(100e6 / 3.6e6)


def test_more_passages_never_cost_less() -> None:
    measured_here = json.loads((RESULTS / "scale.json").read_text("utf-8"))["sizes"]
    assumed = [replace(Assumed(), passages=10**power) for power in range(5, 10)]
    for smaller, larger in pairwise(planned(measured_here, one) for one in assumed):
        assert larger["memory_gb"] > smaller["memory_gb"]
        assert larger["nodes"] >= smaller["nodes"]
        assert larger["search_core_ms"] > smaller["search_core_ms"]
