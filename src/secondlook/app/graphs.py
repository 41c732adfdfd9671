"""Workflows made ready to run, each once for as long as the settings are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secondlook.graphs.registry import workflow as workflow_named

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import StateGraph

    from secondlook.context import Context
    from secondlook.settings import Settings


class Graphs:
    """Building and compiling reads every node's source and annotations: ten milliseconds that a
    program which asks thousands of questions pays once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._built: dict[str, StateGraph[Any, Context]] = {}
        self._ready: dict[str, Any] = {}

    def ready(self, workflow: str, saver: AsyncSqliteSaver | None) -> Any:
        """The compiled graph. One with a checkpointer belongs to that checkpointer alone."""
        if saver is not None:
            return self._graph(workflow).compile(checkpointer=saver)
        if workflow not in self._ready:
            self._ready[workflow] = self._graph(workflow).compile()
        return self._ready[workflow]

    def _graph(self, workflow: str) -> StateGraph[Any, Context]:
        if workflow not in self._built:
            self._built[workflow] = workflow_named(workflow).build(self._settings)
        return self._built[workflow]
