"""The figures that `benchmarks/peers.py` computes from what its workers measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.peers import BASE, SILENT, compared, counterpart
from benchmarks.peers_systems import SharedEmbedding, refuse_network, refused

if TYPE_CHECKING:
    from pathlib import Path


def answer(ids: list[str], ms: float) -> dict[str, Any]:
    return {"ids": ids, "ms": ms, "cpu_ms": ms}


def test_ways_are_compared_on_the_same_questions() -> None:
    peer, alike = "peer: dense, FAISS", counterpart("peer: dense, FAISS")
    found = {
        BASE: [answer(["a", "b"], 10.0), answer(["b"], 30.0)],
        alike: [answer(["a"], 4.0), answer(["b"], 4.0)],
        peer: [answer(["x", "a"], 5.0), answer(["b"], 5.0)],
    }
    told = compared([{"a"}, {"b"}], found)
    assert told[BASE]["ndcg@10"] == 1.0
    assert "to_secondlook" not in told[BASE]
    assert told[peer]["recall@5"] == 1.0
    assert told[peer]["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1) / 2, abs=1e-4)
    assert told[peer]["to_secondlook"]["ndcg_difference"] < 0
    assert told[peer]["to_alike"]["times_p50"] == 1.25


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("hybrid, pools of 100", "hybrid"), ("hybrid + rerank", "hybrid + rerank")],
)
def test_a_search_is_compared_with_its_own_kind(mode: str, kind: str) -> None:
    assert counterpart(f"peer: {mode}") == f"secondlook, whole texts: {kind}"


def test_vectors_of_passages_are_made_once(tmp_path: Path) -> None:
    first = SharedEmbedding(tmp_path / "vectors.sqlite")
    made = first.passages(["a pier", "a quay"])
    assert first.count == 2
    again = SharedEmbedding(tmp_path / "vectors.sqlite")
    again._model = type("Named", (), {"name": first._model.name})()
    assert np.array_equal(again.passages(["a quay", "a pier"]), made[::-1])


def test_nothing_but_loopback_is_reached() -> None:
    assert SILENT["HAYSTACK_TELEMETRY_ENABLED"] == "False"
    refuse_network("socket.connect", (None, ("127.0.0.1", 80)))
    refuse_network("socket.connect", (None, "/run/local.socket"))
    refuse_network("open", ("file",))
    attempts: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("socket.connect", (None, ("192.0.2.1", 443))),
        ("socket.getaddrinfo", ("telemetry.invalid", 443)),
    )
    for event, details in attempts:
        with pytest.raises(PermissionError, match="no connection leaves"):
            refuse_network(event, details)
    assert refused == ["192.0.2.1", "telemetry.invalid"]
