"""The baseline: retrieve, rerank, answer. Every other workflow must beat it. A model may be set to
judge what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph

from secondlook.graphs.registry import decided
from secondlook.nodes.answer import answer, answer_strictly
from secondlook.nodes.context import Context
from secondlook.nodes.finish import finish
from secondlook.nodes.limits import AnswerGrades
from secondlook.nodes.retrieve import rerank, retrieve
from secondlook.nodes.state import Finishing, Outcome, Quality

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings


class State(Finishing, Outcome):
    pass


class GradedState(State, Quality, AnswerGrades):
    pass


def build(settings: Settings) -> StateGraph[Any, Context]:
    graded = settings.answer.enable_answer_grading
    graph: StateGraph[Any, Context] = StateGraph(GradedState if graded else State, Context)
    graph.add_node("retrieve", retrieve).add_edge(START, "retrieve")
    graph.add_node("rerank", rerank).add_edge("retrieve", "rerank")
    if graded:
        from secondlook.nodes.check import grade_answer

        graph.add_node("answer", answer_strictly).add_edge("answer", "grade_answer")
        graph.add_node("grade_answer", grade_answer)
        graph.add_conditional_edges("grade_answer", decided, ["answer", "finish"])
    else:
        graph.add_node("answer", answer).add_edge("answer", "finish")
    return graph.add_edge("rerank", "answer").add_node("finish", finish).add_edge("finish", END)
