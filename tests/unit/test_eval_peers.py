"""The figures that `benchmarks/peers.py` computes from what its workers measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.peers_contract import first_of_each, lasting
from benchmarks.peers_install import as_here, environment
from benchmarks.peers_report import (
    BASE,
    MEASURES,
    compared,
    counterpart,
    difference,
    ratios,
    scored,
    summary,
    table,
)
from benchmarks.peers_run import Measured, Plan, drawn, mixed, read_rows, way_name
from benchmarks.peers_vectors import digest_of, key_of, read, write
from benchmarks.peers_worker import refuse_network, refused
from benchmarks.sweep_sets import Query

if TYPE_CHECKING:
    from pathlib import Path

PLAN = Plan("tiny", ("secondlook", "peer"), questions=2, seed=0, builds=1, live=False)
PEER = way_name("peer", "dense")


def test_a_ranking_names_each_document_once_and_keeps_the_order() -> None:
    assert first_of_each(["b", "a", "b", "c"], 2) == ["b", "a"]


def test_a_retriever_is_set_up_once() -> None:
    made: list[str] = []

    def retriever() -> int:
        made.append("set up")
        return len(made)

    search = lasting(retriever, lambda number, question: [f"{number} {question}"])
    assert search("one") == ["1 one"]
    assert search("two") == ["1 two"]


def test_scores_are_those_of_the_definition() -> None:
    gold = {"q": frozenset({"a", "b"}), "none": frozenset({"a"})}
    scores = scored(gold, {"q": ["x", "a", "y", "z", "w", "b"], "none": []})
    best = 1 + 1 / math.log2(3)
    assert scores["recall_at_5"] == {"q": 0.5, "none": 0.0}
    assert scores["ndcg_at_10"]["q"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(7)) / best)
    assert scores["ndcg_at_10"]["none"] == 0.0


def test_a_difference_has_bounds_on_both_sides_and_none_where_nothing_differs() -> None:
    base = {str(number): 0.5 for number in range(40)}
    other = base | {"0": 1.0, "1": 1.0, "2": 1.0, "3": 0.0}
    found = difference(base, other)
    assert found["mean"] == 0.025
    assert found["low"] < 0 < found["mean"] < found["high"]
    assert difference(base, base) == {"mean": 0.0, "low": 0.0, "high": 0.0}


def test_a_ratio_is_the_peer_to_secondlook_and_is_left_out_where_secondlook_has_nothing() -> None:
    base = dict.fromkeys(
        ("recall_at_5", "ndcg_at_10", "index_seconds", "own_seconds", "query_p50_ms"), 2.0
    )
    assert ratios(base | {"query_p50_ms": 1.0}, base)["query_p50_ms"] == 0.5
    assert "own_seconds" not in ratios(base, base | {"own_seconds": 0.0})


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("dense, FAISS", "dense"),
        ("hybrid, pools of 100", "hybrid"),
        ("hybrid + rerank", "hybrid + rerank"),
    ],
)
def test_a_search_is_compared_with_its_own_kind(mode: str, kind: str) -> None:
    assert counterpart(way_name("peer", mode)) == way_name("secondlook, whole texts", kind)


def test_the_product_is_not_compared_with_itself() -> None:
    assert "to_secondlook" not in compared(BASE, {BASE: {}}, {BASE: {}})


def test_the_same_questions_are_drawn_and_more_only_add_to_them() -> None:
    queries = [Query(str(number), "?", frozenset({"a"})) for number in range(50)]
    assert drawn(queries, 10, 7) == drawn(queries, 10, 7) != drawn(queries, 10, 8)
    assert drawn(queries, 20, 7)[:10] == drawn(queries, 10, 7)
    assert len(drawn(queries, 99, 7)) == 50


def test_every_round_asks_all_and_not_always_in_one_order() -> None:
    ways: list[Any] = [(number, str(number)) for number in range(6)]
    orders = [mixed(ways, number) for number in range(5)]
    assert all(sorted(order) == sorted(ways) for order in orders)
    assert len({tuple(order) for order in orders}) > 1


def test_a_line_cut_off_in_the_middle_is_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    assert read_rows(file) == []
    file.write_text('{"id": "1"}\n{"id": "2', encoding="utf-8")
    assert read_rows(file) == [{"id": "1"}]
    assert file.read_text("utf-8") == '{"id": "1"}\n'


def test_vectors_are_kept_per_model_and_texts_known_by_content(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "vectors.sqlite"
    vector = np.array([0.25, -1.0], dtype=np.float32)
    write(file, "model", {key_of("text"): vector})
    assert np.array_equal(read(file, "model")[key_of("text")], vector)
    assert read(file, "another") == {}
    assert digest_of(["a", "b"]) == digest_of(["b", "a"]) != digest_of(["a"])


def test_nothing_but_loopback_is_reached() -> None:
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


def test_a_worker_runs_with_telemetry_off_on_the_same_engine() -> None:
    assert environment()["HAYSTACK_TELEMETRY_ENABLED"] == "False"
    assert as_here(("numpy",)) == [f"numpy=={np.__version__}"]


def part(**given: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {"seconds": 3.0, "embedding_seconds": 1.0, "embedded": 10, "made": 0}
    return defaults | {"digest": "d", "save_seconds": None} | given


def answer(ids: list[str], ms: float) -> dict[str, Any]:
    return {"ids": ids, "ms": ms, "cpu_ms": ms}


def measured(peer_part: dict[str, Any]) -> Measured:
    about: dict[str, Any] = {
        "versions": {},
        "start_seconds": 1.0,
        "peak_mb": 9,
        "refused": [],
        "durable": False,
    }
    modes = {"hybrid + rerank": ["all"]}
    rows = [
        {"id": "1", "found": {BASE: answer(["a"], 10.0), PEER: answer(["b", "a"], 5.0)}},
        {"id": "2", "found": {BASE: answer(["b"], 30.0), PEER: answer(["b"], 5.0)}},
    ]
    return Measured(
        plan=PLAN,
        passages=3,
        questions_held=2,
        gold={"1": frozenset({"a"}), "2": frozenset({"b"})},
        about={
            "secondlook": about | {"modes": modes, "durable": True},
            "peer": about | {"modes": {"dense": ["all"]}},
        },
        builds={
            "secondlook": [{"parts": {"all": part()}, "passages": 4, "seconds_per_passage": 0.4}],
            "peer": [{"parts": {"all": peer_part}, "passages": 3, "seconds_per_passage": 0.6}],
        },
        rows=rows,
    )


def test_a_summary_adds_the_cost_of_embedding_to_each_systems_own_work() -> None:
    found = summary(measured(part(seconds=2.0, save_seconds=0.5)))
    ours, peer = found["ways"][BASE], found["ways"][PEER]
    # Own: what was not spent in the embedder. Embedding: ten passages at the median cost of both.
    assert (ours["own_seconds"], ours["index_seconds"]) == (2.0, 7.0)
    assert (peer["own_seconds"], peer["index_seconds"]) == (1.0, 6.0)
    assert (ours["saved_own_seconds"], peer["saved_own_seconds"]) == (2.0, 1.5)
    assert peer["to_secondlook"]["query_p50_ms"] == 0.25
    assert peer["to_secondlook"]["recall_at_5"] == 1.0
    assert set(MEASURES) <= set(peer)
    assert "(0.25)" in table("tiny", found)


def test_what_cannot_be_saved_has_no_time_for_saving() -> None:
    assert summary(measured(part()))["ways"][PEER]["saved_own_seconds"] is None
