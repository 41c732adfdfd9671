"""Puts one question to every document of a set, and computes over what they say: counts, lists,
totals, first and last. Each value is cited; what is missing or doubtful is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from langgraph.graph import END, START, StateGraph

from secondlook.nodes.context import Context
from secondlook.nodes.state import Finishing, Outcome
from secondlook.nodes.survey import ask_each, finish, tally
from secondlook.nodes.survey_set import MOST_ASKED, MOST_BATCHES, Surveyed, choose_set

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings


class State(Finishing, Surveyed, Outcome):
    pass


def build(_settings: Settings) -> StateGraph[State, Context]:
    return (
        StateGraph(State, Context)
        .add_node("choose_set", choose_set)
        .add_node("ask_each", ask_each)
        .add_node("tally", tally)
        .add_node("finish", finish)
        .add_edge(START, "choose_set")
        .add_conditional_edges("choose_set", following, ["ask_each", "tally"])
        .add_conditional_edges("ask_each", following, ["ask_each", "tally"])
        .add_edge("tally", "finish")
        .add_edge("finish", END)
    )


def following(state: Surveyed) -> Literal["ask_each", "tally"]:
    """Some documents at a time: what they said is kept before the next ones are asked."""
    left = state["asked"] < min(len(state["documents"]), MOST_ASKED) and not state["ended"]
    return "ask_each" if left else "tally"


def most_visits(_settings: Settings) -> int:
    return MOST_BATCHES + 3
