"""The baseline: retrieve, rerank, answer. Every other workflow must beat it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.graph import END, START, StateGraph

from secondlook.context import Context
from secondlook.nodes.answer import answer
from secondlook.nodes.finish import finish
from secondlook.nodes.rerank import rerank
from secondlook.nodes.retrieve import retrieve
from secondlook.state import Finishing, Outcome

if TYPE_CHECKING:
    from secondlook.settings import Settings


class State(Finishing, Outcome):
    pass


def build(_settings: Settings) -> StateGraph[State, Context]:
    return (
        StateGraph(State, Context)
        .add_node("retrieve", retrieve)
        .add_node("rerank", rerank)
        .add_node("answer", answer)
        .add_node("finish", finish)
        .add_edge(START, "retrieve")
        .add_edge("retrieve", "rerank")
        .add_edge("rerank", "answer")
        .add_edge("answer", "finish")
        .add_edge("finish", END)
    )
