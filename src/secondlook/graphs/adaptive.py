"""Looks at how well the search went, by the reader's own scores, and searches again where it went
badly: by words, then on the web if that is allowed. No model is asked which way to go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.graph import END, START, StateGraph

from secondlook.graphs.registry import decided, ways
from secondlook.nodes.answer import answer
from secondlook.nodes.context import Context
from secondlook.nodes.finish import finish
from secondlook.nodes.ranking import assess, assess_again
from secondlook.nodes.retrieve import fall_back, rerank, retrieve, search_web
from secondlook.nodes.state import Finishing, Outcome, Quality

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings


class State(Finishing, Quality, Outcome):
    pass


def build(settings: Settings) -> StateGraph[State, Context]:
    again = settings.adaptive.enable_adaptive_retrieval
    web = settings.web.enable_web_search
    onward = ways(answer=True, fall_back=again, search_web=web)
    graph = (
        StateGraph(State, Context)
        .add_node("retrieve", retrieve)
        .add_node("rerank", rerank)
        .add_node("assess", assess)
        .add_node("answer", answer)
        .add_node("finish", finish)
        .add_edge(START, "retrieve")
        .add_edge("retrieve", "rerank")
        .add_edge("rerank", "assess")
        .add_conditional_edges("assess", decided, onward)
        .add_edge("answer", "finish")
        .add_edge("finish", END)
    )
    if web:
        graph.add_node("search_web", search_web).add_edge("search_web", "answer")
    if again:
        graph.add_node("fall_back", fall_back)
        graph.add_edge("fall_back", "assess_again" if web else "answer")
    if again and web:
        graph.add_node("assess_again", assess_again)
        graph.add_conditional_edges("assess_again", decided, ["answer", "search_web"])
    return graph
