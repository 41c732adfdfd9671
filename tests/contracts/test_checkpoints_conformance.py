"""Wherever checkpoints are kept, a graph that stops goes on where it was, and leaves nothing."""

from __future__ import annotations

import asyncio
import itertools
import operator
import os
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph

from secondlook.engine.checkpoints import (
    checkpoints_file,
    forget_checkpoints,
    run_checkpoints,
    sqlite_checkpoints,
)
from secondlook.engine.record import RunStore
from tests.support.run_stores import ENGINES, settings_on

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secondlook.settings.sections import RunSettings


NODES = tuple(f"node{number}" for number in range(6))


class State(TypedDict, total=False):
    question: str
    steps: Annotated[list[dict[str, Any]], operator.add]


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> RunSettings:
    return settings_on(request.param, tmp_path, request)


def graph_of(node: Callable[[str], Any], saver: Any) -> Any:
    graph = StateGraph(State)
    for name in NODES:
        graph.add_node(name, node(name))
    graph.add_edge(START, NODES[0])
    for before, after in itertools.pairwise(NODES):
        graph.add_edge(before, after)
    graph.add_edge(NODES[-1], END)
    return graph.compile(checkpointer=saver)


def config(run: str) -> Any:
    return {"configurable": {"thread_id": run}}


def step(name: str) -> Any:
    async def run(state: State) -> State:
        return {"steps": [{"node": name, "said": "caf\N{LATIN SMALL LETTER E WITH ACUTE} \0"}]}

    return run


async def gone_through(place: RunSettings, run: str, node: Callable[[str], Any], begin: Any) -> Any:
    async with run_checkpoints(place, run) as saver:
        if begin is None:
            await saver.begin_step_again(run)
        return await graph_of(node, saver).ainvoke(begin, config(run), durability="sync")


async def known(place: RunSettings, run: str) -> dict[str, Any]:
    async with run_checkpoints(place, run) as saver:
        return dict((await graph_of(step, saver).aget_state(config(run))).values)


def test_a_graph_that_broke_off_goes_on_where_it_was(place: RunSettings) -> None:
    visited: list[str] = []
    broken = [True]

    def node(name: str) -> Any:
        async def run(state: State) -> State:
            if name == "node3" and broken:
                raise ConnectionError("gone")
            visited.append(name)
            return {"steps": [{"node": name}]}

        return run

    with pytest.raises(ConnectionError):
        asyncio.run(gone_through(place, "r", node, {"question": "q", "steps": []}))
    broken.clear()
    state = asyncio.run(gone_through(place, "r", node, None))
    assert visited == list(NODES)
    assert [item["node"] for item in state["steps"]] == list(NODES)


def test_what_is_forgotten_is_gone_and_others_stay(place: RunSettings) -> None:
    forget_checkpoints(place, "never was")
    for run in ("r", "other"):
        asyncio.run(gone_through(place, run, step, {"question": run, "steps": []}))
    forget_checkpoints(place, "r", "never was")
    assert asyncio.run(known(place, "r")) == {}
    assert asyncio.run(known(place, "other"))["question"] == "other"


def test_a_run_that_is_cancelled_at_any_moment_goes_on(place: RunSettings) -> None:
    """What it had begun to write is written, and nothing stays locked."""

    async def cut(after: int) -> Any:
        begin: Any = {"question": "q", "steps": []}
        work = asyncio.create_task(gone_through(place, f"r{after}", step, begin))
        for _ in range(after):
            await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait([work])
        begun = bool(await known(place, f"r{after}"))
        return await gone_through(place, f"r{after}", step, None if begun else begin)

    for after in range(0, 200, 20):
        state = asyncio.run(cut(after))
        assert [item["node"] for item in state["steps"]] == list(NODES), after


def test_two_that_begin_at_once_begin_well(place: RunSettings) -> None:
    import threading

    states: list[Any] = []
    together = threading.Barrier(4)

    def begin(number: int) -> None:
        together.wait()
        work = gone_through(place, f"r{number}", step, {"question": "q", "steps": []})
        states.append(asyncio.run(work))

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(state["steps"]) for state in states] == [len(NODES)] * 4


def test_a_graph_goes_on_where_nothing_can_be_written_any_more(place: RunSettings) -> None:
    """An answer matters more than its record, and what was written before is whole."""
    savers: list[Any] = []

    async def refuse(work: Any) -> Any:
        raise savers[0].failures[0]("gone")

    def node(name: str) -> Any:
        async def run(state: State) -> State:
            if name == "node2":
                savers[0].insisted = refuse
            return {"steps": [{"node": name}]}

        return run

    async def cut_off() -> Any:
        async with run_checkpoints(place, "r") as saver:
            savers.append(saver)
            begin = {"question": "q", "steps": []}
            return await graph_of(node, saver).ainvoke(begin, config("r"), durability="sync")

    state = asyncio.run(cut_off())
    assert [item["node"] for item in state["steps"]] == list(NODES)
    again = asyncio.run(gone_through(place, "r", step, None))
    assert [item["node"] for item in again["steps"]] == list(NODES)


# Files


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
            async with sqlite_checkpoints(checkpoints_file(runs, "r")) as saver:
                await graph_of(step, saver).ainvoke({"question": "q", "steps": []}, config("r"))
                return open_to_others()

    assert asyncio.run(write()) == set()


class Surprise:
    """Stands for any class that someone who can write the file might name."""

    made = 0

    def __init__(self, value: int) -> None:
        type(self).made += 1
        self.value = value


def test_only_plain_data_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    import tests.support.run_stores as victim

    monkeypatch.setattr(victim, "Surprise", Surprise, raising=False)
    monkeypatch.setattr(Surprise, "__module__", victim.__name__)
    monkeypatch.setattr(Surprise, "_asdict", lambda self: {"value": self.value}, raising=False)
    kind, data = JsonPlusSerializer(allowed_msgpack_modules=True).dumps_typed({"a": Surprise(3)})
    before = Surprise.made

    async def read() -> Any:
        async with sqlite_checkpoints(tmp_path / "c.db") as saver:
            return saver.serde.loads_typed((kind, data))

    assert not isinstance(asyncio.run(read())["a"], Surprise)
    assert Surprise.made == before
    loose = JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed((kind, data))
    assert isinstance(loose["a"], Surprise)
