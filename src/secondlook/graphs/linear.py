"""The baseline: retrieve, rerank, answer. Every other workflow must beat it. A model may be set to
judge what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from langgraph.graph import END, START, StateGraph

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


def build(settings: Settings) -> StateGraph[State, Context] | StateGraph[GradedState, Context]:
    return _graded() if settings.answer.enable_answer_grading else _plain()


def _plain() -> StateGraph[State, Context]:
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


def _graded() -> StateGraph[GradedState, Context]:
    from secondlook.nodes.check import grade_answer

    return (
        StateGraph(GradedState, Context)
        .add_node("retrieve", retrieve)
        .add_node("rerank", rerank)
        .add_node("answer", answer_strictly)
        .add_node("grade_answer", grade_answer)
        .add_node("finish", finish)
        .add_edge(START, "retrieve")
        .add_edge("retrieve", "rerank")
        .add_edge("rerank", "answer")
        .add_edge("answer", "grade_answer")
        .add_conditional_edges("grade_answer", graded, ["answer", "finish"])
        .add_edge("finish", END)
    )


def graded(state: Quality) -> Literal["answer", "finish"]:
    return cast("Literal['answer', 'finish']", state["route"])
