"""Workflows are built and compiled once for the questions of one engine."""

from __future__ import annotations

from secondlook.app.graphs import Graphs
from secondlook.settings import Settings


def test_a_workflow_is_compiled_once_and_with_a_checkpointer_each_time() -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    graphs = Graphs(Settings())
    linear = graphs.ready("linear", None)
    assert graphs.ready("linear", None) is linear
    assert graphs.ready("adaptive", None) is not linear
    saver = InMemorySaver()
    kept = graphs.ready("linear", saver)  # type: ignore[arg-type]
    assert kept.checkpointer is saver
    assert linear.checkpointer is None
    assert graphs.ready("linear", saver) is not kept
