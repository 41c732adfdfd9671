"""Looks at the question and at what the library holds, and puts it to the workflow that suits it;
a question that needs a document and a table goes to two of them, and gets one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.graph import END, START, StateGraph

from secondlook.context import Context
from secondlook.graphs.auto_bounds import called
from secondlook.nodes.call import ToCall, call
from secondlook.nodes.consider import consider
from secondlook.nodes.finish_auto import finish_auto
from secondlook.nodes.look_again import look_again
from secondlook.state import Calls, Outcome, next_call

if TYPE_CHECKING:
    from secondlook.settings import Settings


class State(ToCall, Outcome):
    pass


def build(settings: Settings) -> StateGraph[State, Context]:
    others = called(settings)
    graph = (
        StateGraph(State, Context)
        .add_node("consider", consider)
        .add_node("look_again", look_again)
        .add_node("finish", finish_auto)
        .add_edge(START, "consider")
        .add_conditional_edges("consider", following, list(others))
        .add_conditional_edges("look_again", following, [*others, "finish"])
        .add_edge("finish", END)
    )
    for name in others:
        graph.add_node(name, call).add_edge(name, "look_again")
    return graph


def following(state: Calls) -> str:
    asked = next_call(state)
    return "finish" if asked is None else asked["workflow"]
