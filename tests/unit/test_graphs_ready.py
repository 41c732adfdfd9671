"""Workflows are built and compiled once in a process for equal settings, whoever asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from secondlook.engine.execution import Graphs
from secondlook.settings.sections import Settings
from tests.support.compiling import counting_compilations
from tests.support.engine import settings_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    return counting_compilations(monkeypatch)


def test_engines_with_equal_settings_share_what_is_compiled(
    compiled: list[Any], tmp_path: Path
) -> None:
    elsewhere = settings_of(library={"path": tmp_path}, runs={"path": tmp_path / "runs.db"})
    first = Graphs(Settings()).ready("linear", None)
    assert Graphs(elsewhere).ready("linear", None) is first
    assert len(compiled) == 1
    assert Graphs(Settings()).ready("adaptive", None) is not first
    graded = settings_of(answer={"enable_answer_grading": True})
    assert Graphs(graded).ready("linear", None) is not first
    assert len(compiled) == 3


def test_a_checkpointer_is_lent_and_nothing_compiled_for_it(compiled: list[Any]) -> None:
    graphs, savers = Graphs(Settings()), (InMemorySaver(), InMemorySaver())
    lent = [graphs.ready("linear", saver) for saver in savers]  # type: ignore[arg-type]
    assert [graph.checkpointer for graph in lent] == list(savers)
    assert graphs.ready("linear", None).checkpointer is None
    assert len(compiled) == 1


def test_engines_in_several_threads_do_not_each_compile(compiled: list[Any]) -> None:
    with ThreadPoolExecutor(8) as threads:
        ready = list(threads.map(lambda _: Graphs(Settings()).ready("corrective", None), range(16)))
    assert len(compiled) == 1
    assert all(graph is ready[0] for graph in ready)
