"""Answers a question over tables: says what it needs, checks that the data has it, computes it by
our own code or has code written and run in a sandbox, looks twice at the result, and puts it into
words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from langgraph.graph import END, START, StateGraph

from secondlook.graphs.registry import decided
from secondlook.nodes.answer import answer
from secondlook.nodes.code.write import write_code
from secondlook.nodes.compute import compute
from secondlook.nodes.context import Context
from secondlook.nodes.desk import lay_out, look
from secondlook.nodes.explain import explain_concept, explain_result
from secondlook.nodes.finish_analysis import Analysing, finish_analysis
from secondlook.nodes.judge.result import evaluate_result, remediate
from secondlook.nodes.requirements import MOST_ALIGNMENTS, align, limit, require
from secondlook.nodes.retrieve import rerank, retrieve
from secondlook.nodes.state import Draft, Outcome, Quality, Required
from secondlook.nodes.understand import understand

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings


class State(Analysing, Quality, Outcome):
    pass


def build(settings: Settings) -> StateGraph[State, Context]:
    on = steps_of(settings)
    computing = [*(["compute"] if on.compute else []), "code"]
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
        .add_edge("lay_out", "understand" if on.understand else "requirements")
        .add_edge("requirements", "profile")
        .add_conditional_edges("code", decided, ["evaluate", *(["code"] if on.retry else [])])
        .add_conditional_edges(
            "evaluate", decided, ["explain", *(["remediate"] if on.remediate else [])]
        )
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
        graph.add_conditional_edges(
            "align", decided, [*computing, "requirements", "profile", "limitation"]
        )
        graph.add_node("limitation", limit).add_edge("limitation", "finish")
    else:
        graph.add_conditional_edges("profile", computable, computing)
    if on.remediate:
        graph.add_node("remediate", remediate)
        graph.add_conditional_edges(
            "remediate", decided, ["code", "requirements", "profile", "explain"]
        )
    return graph


def is_found(state: Draft) -> str:
    return "found" if state["draft"]["sentences"] else "not found"


def computable(state: Required) -> str:
    return "compute" if state["query"] is not None else "code"


class Steps(NamedTuple):
    """Which steps the settings leave in."""

    understand: bool
    compute: bool
    align: bool
    retry: bool
    remediate: bool


def steps_of(settings: Settings) -> Steps:
    chosen = settings.analyst
    return Steps(
        understand=chosen.enable_understanding,
        compute=settings.models.servers.query == "grammar",
        align=chosen.enable_alignment,
        retry=chosen.max_code_attempts > 1,
        remediate=chosen.enable_remediation and chosen.max_remediations > 0,
    )


# How far a run of `analyst` can go at most, by its settings. langgraph is given it as its limit.


def most_visits(settings: Settings) -> int:
    """No run visits more nodes than this, whatever models, sandboxes and tables do."""
    return sum(most_by_node(settings).values())


def most_by_node(settings: Settings) -> dict[str, int]:
    """How often a run visits each node at most. Every remedy begins a new round."""
    on, chosen = steps_of(settings), settings.analyst
    remedies = chosen.max_remediations * on.remediate
    rounds = 1 + remedies
    alignments = rounds * (MOST_ALIGNMENTS if on.align else 1)
    concept = ("understand", "retrieve", "rerank", "answer", "explain_concept")
    most = {
        "lay_out": 1,
        **dict.fromkeys(concept, int(on.understand)),
        "requirements": alignments,
        "profile": alignments,
        "align": alignments * on.align,
        "limitation": int(on.align),
        "compute": int(on.compute),
        "code": rounds * chosen.max_code_attempts,
        "evaluate": rounds,
        "remediate": remedies,
        "explain": 1,
        "finish": 1,
    }
    return {node: visits for node, visits in most.items() if visits}
