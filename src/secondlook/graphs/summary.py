"""Sums up documents: part by part in a model's words, or without one by headings and lead
sentences. Chosen by itself where somebody asks for a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.nodes.context import Context
from secondlook.nodes.outline import Chosen, Layout, choose, finish, outline
from secondlook.nodes.state import Finishing, Outcome
from secondlook.nodes.summarise import outcome, summarise

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings


class State(Finishing, Chosen, Layout, Outcome):
    pass


def build(_settings: Settings) -> StateGraph[State, Context]:
    return (
        StateGraph(State, Context)
        .add_node("choose", choose)
        .add_node("summarise", summarise)
        .add_node("outline", outline)
        .add_node("finish", finish)
        .add_edge(START, "choose")
        .add_conditional_edges("choose", written, ["summarise", "outline"])
        .add_conditional_edges("summarise", outcome, ["finish", "outline"])
        .add_edge("outline", "finish")
        .add_edge("finish", END)
    )


def written(state: Chosen, runtime: Runtime[Context]) -> Literal["summarise", "outline"]:
    """A model sums up texts; a list of documents needs none."""
    whole = state["extent"] in {"documents", "places"}
    return "summarise" if whole and runtime.context.models.serves("summarise") else "outline"
