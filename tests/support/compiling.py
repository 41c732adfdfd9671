"""How often a graph is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.graph import StateGraph

from secondlook.engine import execution as graphs

if TYPE_CHECKING:
    import pytest


def counting_compilations(patch: pytest.MonkeyPatch) -> list[Any]:
    """Every graph that is compiled from now on, as if nothing had been compiled before."""
    seen: list[Any] = []
    compiles = StateGraph.compile

    def counted(self: Any, *given: Any, **options: Any) -> Any:
        seen.append(self)
        return compiles(self, *given, **options)

    patch.setattr(StateGraph, "compile", counted)
    patch.setattr(graphs, "_COMPILED", {})
    return seen
