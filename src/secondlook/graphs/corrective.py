"""Grades what it finds, asks again in other words where too little fits, answers, checks the answer
against its evidence and its question, and has it written anew or searches on where it fails. Every
loop is bounded, and goes round only where something changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.graph import END, START, StateGraph

from secondlook.context import Context
from secondlook.graphs.corrective_steps import Steps
from secondlook.nodes.answer import answer_anew
from secondlook.nodes.ask_part import ask_part
from secondlook.nodes.check_grounded import check_grounded
from secondlook.nodes.check_useful import check_useful
from secondlook.nodes.checking.refusal import AnswerGrades
from secondlook.nodes.combine import combine
from secondlook.nodes.finish_corrected import Corrected, finish_corrected
from secondlook.nodes.follow import follow
from secondlook.nodes.grade import grade
from secondlook.nodes.grade_answer import grade_answer
from secondlook.nodes.readings import readings
from secondlook.nodes.rerank import rerank
from secondlook.nodes.retrieve import retrieve
from secondlook.nodes.rewrite import rewrite
from secondlook.nodes.search_again import search_again
from secondlook.nodes.search_web import search_web_once
from secondlook.nodes.settle import settle
from secondlook.nodes.split import split
from secondlook.state import Drafts, Outcome, Quality, Searches

if TYPE_CHECKING:
    from secondlook.settings import Settings


class Rewriting(Quality, Drafts):
    pass


class State(Corrected, Searches, Quality, AnswerGrades, Outcome):
    pass


def build(settings: Settings) -> StateGraph[State, Context]:
    on = Steps.of(settings)
    graph = (
        StateGraph(State, Context)
        .add_node("retrieve", retrieve)
        .add_node("rerank", rerank)
        .add_node("grade", grade)
        .add_node("answer", answer_anew)
        .add_node("settle", settle)
        .add_node("finish", finish_corrected)
        .add_edge("retrieve", "rerank")
        .add_edge("rerank", "follow" if on.follow else "grade")
        .add_conditional_edges("grade", decided, on.after_grade())
        .add_edge("answer", on.after_answer())
        .add_edge("settle", "grade_answer" if on.grade_answer else "finish")
        .add_edge("finish", END)
    )
    if on.split:
        graph.add_node("split", split).add_edge(START, "split")
        graph.add_conditional_edges("split", decided, ["ask_part", "retrieve"])
        graph.add_node("ask_part", ask_part)
        graph.add_conditional_edges("ask_part", decided, ["ask_part", "combine", "retrieve"])
        graph.add_node("combine", combine)
        graph.add_conditional_edges("combine", decided, ["settle", "retrieve"])
    else:
        graph.add_edge(START, "retrieve")
    if on.follow:
        graph.add_node("follow", follow).add_edge("follow", "grade")
    if on.readings:
        graph.add_node("readings", readings)
        graph.add_conditional_edges("readings", decided, {"grade_on": "grade", "settle": "settle"})
    if on.rewrite:
        graph.add_node("rewrite", rewrite)
        graph.add_conditional_edges("rewrite", after_rewrite, on.after_rewrite())
        graph.add_node("search_again", search_again).add_edge("search_again", "grade")
    if on.web:
        graph.add_node("search_web", search_web_once).add_edge("search_web", "grade")
    if on.check_grounded:
        graph.add_node("check_grounded", check_grounded)
        graph.add_conditional_edges("check_grounded", decided, on.after_grounded())
    if on.check_useful:
        graph.add_node("check_useful", check_useful)
        graph.add_conditional_edges("check_useful", decided, on.after_useful())
    if on.grade_answer:
        graph.add_node("grade_answer", grade_answer)
        graph.add_conditional_edges("grade_answer", decided, ["answer", "finish"])
    return graph


def decided(state: Quality) -> str:
    return state["route"]


def after_rewrite(state: Rewriting) -> str:
    """To the search; where there is no other way to ask, on with what is there."""
    if state["route"] == "search_again":
        return "search_again"
    return "settle" if state.get("drafts") else "grade"
