"""Answers a question over tables: says what it needs, checks that the data has it, computes it by
our own code or has code written and run in a sandbox, looks twice at the result, and puts it into
words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.graph import END, START, StateGraph

from secondlook.context import Context
from secondlook.graphs.analyst_steps import Steps
from secondlook.nodes.align import align
from secondlook.nodes.answer import answer
from secondlook.nodes.compute import compute
from secondlook.nodes.evaluate_result import evaluate_result
from secondlook.nodes.explain_concept import explain_concept
from secondlook.nodes.explain_result import explain_result
from secondlook.nodes.finish_analysis import Analysing, finish_analysis
from secondlook.nodes.lay_out import lay_out
from secondlook.nodes.limit import limit
from secondlook.nodes.look import look
from secondlook.nodes.remediate import remediate
from secondlook.nodes.require import require
from secondlook.nodes.rerank import rerank
from secondlook.nodes.retrieve import retrieve
from secondlook.nodes.understand import understand
from secondlook.nodes.write_code import write_code
from secondlook.state import Draft, Outcome, Quality, Required

if TYPE_CHECKING:
    from secondlook.settings import Settings


class State(Analysing, Quality, Outcome):
    pass


def build(settings: Settings) -> StateGraph[State, Context]:
    on = Steps.of(settings)
    graph = (
        StateGraph(State, Context)
        .add_node("lay_out", lay_out)
        .add_node("requirements", require)
        .add_node("profile", look)
        .add_node("code", write_code)
        .add_node("evaluate", evaluate_result)
        .add_node("explain", explain_result)
        .add_node("finish", finish_analysis)
        .add_edge(START, "lay_out")
        .add_edge("lay_out", on.first())
        .add_edge("requirements", "profile")
        .add_conditional_edges("code", decided, on.after_code())
        .add_conditional_edges("evaluate", decided, on.after_evaluate())
        .add_edge("explain", "finish")
        .add_edge("finish", END)
    )
    if on.understand:
        graph.add_node("understand", understand)
        graph.add_node("retrieve", retrieve)
        graph.add_node("rerank", rerank)
        graph.add_node("answer", answer)
        graph.add_node("explain_concept", explain_concept)
        graph.add_conditional_edges(
            "understand", decided, {"data": "requirements", "concept": "retrieve"}
        )
        graph.add_edge("retrieve", "rerank")
        graph.add_edge("rerank", "answer")
        graph.add_conditional_edges(
            "answer", is_found, {"found": "finish", "not found": "explain_concept"}
        )
        graph.add_edge("explain_concept", "finish")
    if on.compute:
        graph.add_node("compute", compute).add_edge("compute", "evaluate")
    if on.align:
        graph.add_node("align", align).add_edge("profile", "align")
        graph.add_conditional_edges("align", decided, on.after_align())
        graph.add_node("limitation", limit).add_edge("limitation", "finish")
    else:
        graph.add_conditional_edges("profile", computable, on.computing())
    if on.remediate:
        graph.add_node("remediate", remediate)
        graph.add_conditional_edges("remediate", decided, on.after_remediate())
    return graph


def decided(state: Quality) -> str:
    return state["route"]


def is_found(state: Draft) -> str:
    return "found" if state["draft"]["sentences"] else "not found"


def computable(state: Required) -> str:
    return "compute" if state["query"] is not None else "code"
