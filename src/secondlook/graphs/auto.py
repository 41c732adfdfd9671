"""Looks at the question and at what the library holds, and puts it to the workflow that suits it;
a question that needs a document and a table goes to two of them, and gets one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from langgraph.graph import END, START, StateGraph

from secondlook.nodes.catalogue import catalogue
from secondlook.nodes.context import Context
from secondlook.nodes.finish_auto import finish_auto
from secondlook.nodes.route import (
    ANALYST,
    CATALOGUE,
    CHOOSING,
    MOST_CALLS,
    PLAIN,
    SUMMARY,
    SURVEY,
    ToCall,
    after_call,
    call,
    consider,
    look_again,
)
from secondlook.nodes.state import Calls, Outcome, next_call

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings


class State(ToCall, Outcome):
    pass


def build(settings: Settings) -> StateGraph[State, Context]:
    others = called(settings)
    graph = (
        StateGraph(State, Context)
        .add_node("consider", consider)
        .add_node(CATALOGUE, catalogue)
        .add_node("look_again", look_again)
        .add_node("finish", finish_auto)
        .add_edge(START, "consider")
        .add_conditional_edges("consider", following, [*others, CATALOGUE])
        .add_edge(CATALOGUE, END)
        .add_conditional_edges("look_again", following, [*others, "finish"])
        .add_edge("finish", END)
    )
    for name in others:
        graph.add_node(name, call)
        graph.add_conditional_edges(name, after_call, ["look_again", "finish"])
    return graph


def following(state: Calls) -> str:
    asked = next_call(state)
    return "finish" if asked is None else asked["workflow"]


# Which workflows `auto` may call, and how far a run of it can go at most. What a called
# workflow does counts against a limit of its own.

_OF_ITS_OWN: Final = 2  # `consider` and `finish`


def called(settings: Settings) -> tuple[str, ...]:
    chosen = settings.auto.routes
    from_documents = (chosen.one_fact, chosen.several_facts, chosen.account)
    return tuple(dict.fromkeys((*from_documents, PLAIN, CHOOSING, ANALYST, SUMMARY, SURVEY)))


def most_visits(settings: Settings) -> int:  # noqa: ARG001  # every workflow is asked by settings
    """No run visits more of its own nodes than this: each call is looked at once."""
    return _OF_ITS_OWN + 2 * MOST_CALLS
