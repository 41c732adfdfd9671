"""Checkpoints: a graph that stops goes on where it was, and what it leaves stays small."""

from __future__ import annotations

import asyncio
import itertools
import operator
import os
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph

from secondlook.engine.checkpoints import checkpoints_file
from secondlook.engine.checkpoints import sqlite_checkpoints as checkpoints
from secondlook.engine.record import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph.state import CompiledStateGraph

NODES = tuple(f"node{number}" for number in range(10))
PASSAGES = 40


class State(TypedDict, total=False):
    question: str
    found: list[dict[str, Any]]
    steps: Annotated[list[dict[str, Any]], operator.add]


def found(number: int) -> dict[str, Any]:
    """What state holds of a passage: where it is, never what it says."""
    return {
        "id": f"3f2a9c0d1e5b7a64-{number:05}",
        "document": "3f2a9c0d1e5b7a64",
        "title": "Pilotage in the outer harbour",
        "page": number,
        "start": number * 900,
        "end": number * 900 + 880,
        "heading": ["Approach", "Night"],
        "score": 0.123456789 * number,
        "fusion_score": 0.01,
        "dense_rank": number,
        "dense_score": 0.4,
        "lexical_rank": None,
        "lexical_score": None,
        "relevance": -3.25,
        "answerable": 0.3,
        "span_start": 10,
        "span_end": 20,
        "span_score": 4.5,
        "null_score": 1.0,
        "origin": "library",
        "url": None,
        "fetched": None,
        "kept": number < 5,
        "why": "among the best five",
    }


def graph_of(node: Callable[[str], Any], saver: AsyncSqliteSaver) -> CompiledStateGraph[State]:
    graph = StateGraph(State)
    for name in NODES:
        graph.add_node(name, node(name))
    graph.add_edge(START, NODES[0])
    for before, after in itertools.pairwise(NODES):
        graph.add_edge(before, after)
    graph.add_edge(NODES[-1], END)
    return graph.compile(checkpointer=saver)


def step(name: str) -> Any:
    async def run(state: State) -> State:
        made = {"node": name, "said": f"{name} looked at 40 passages", "numbers": {"found": 40}}
        return {"found": state["found"], "steps": [made]}

    return run


def config(run: str) -> Any:
    return {"configurable": {"thread_id": run}}


def start_state() -> State:
    return {"question": "q", "found": [found(number) for number in range(PASSAGES)], "steps": []}


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_what_is_written_is_the_owners_alone(tmp_path: Path) -> None:
    runs = tmp_path / "runs.db"

    def open_to_others() -> set[str]:
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert checkpoints_file(runs, "r") in files
        return {file.name for file in files if file.stat().st_mode & 0o077}

    async def write() -> set[str]:
        with RunStore.open(runs) as store:
            store.start("r", question="q", workflow="linear", created="2026")
            async with checkpoints(checkpoints_file(runs, "r")) as saver:
                await graph_of(step, saver).ainvoke(start_state(), config("r"))
                return open_to_others()

    assert asyncio.run(write()) == set()


class Surprise:
    """Stands for any class that someone who can write the file might name."""

    made = 0

    def __init__(self, value: int) -> None:
        type(self).made += 1
        self.value = value


def test_only_plain_data_is_read_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    import tests.support.memory_runs as victim

    monkeypatch.setattr(victim, "Surprise", Surprise, raising=False)
    monkeypatch.setattr(Surprise, "__module__", victim.__name__)
    monkeypatch.setattr(Surprise, "_asdict", lambda self: {"value": self.value}, raising=False)
    kind, data = JsonPlusSerializer(allowed_msgpack_modules=True).dumps_typed({"a": Surprise(3)})
    before = Surprise.made

    async def read() -> Any:
        async with checkpoints(tmp_path / "c.db") as saver:
            return saver.serde.loads_typed((kind, data))

    assert not isinstance(asyncio.run(read())["a"], Surprise)
    assert Surprise.made == before
    loose = JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed((kind, data))
    assert isinstance(loose["a"], Surprise)
