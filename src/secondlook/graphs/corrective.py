"""Grades what it finds, asks again in other words where too little fits, answers, checks the answer
against its evidence and its question, and has it written anew or searches on where it fails. Every
loop is bounded, and goes round only where something changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from langgraph.graph import END, START, StateGraph

from secondlook.graphs.registry import decided, ways
from secondlook.nodes.answer import answer_anew, settle
from secondlook.nodes.check import MOST_REGENERATIONS, check_grounded, check_useful, grade_answer
from secondlook.nodes.clarify import readings
from secondlook.nodes.combine import combine
from secondlook.nodes.context import Context
from secondlook.nodes.finish import Corrected, finish_corrected
from secondlook.nodes.grade import grade
from secondlook.nodes.limits import AnswerGrades
from secondlook.nodes.retrieve import follow, rerank, retrieve, search_again, search_web_once
from secondlook.nodes.rewrite import rewrite
from secondlook.nodes.split import ask_part, split
from secondlook.nodes.state import Drafts, Outcome, Quality, Searches
from secondlook.roles.wants import MOST_PARTS

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings


class Rewriting(Quality, Drafts):
    pass


class State(Corrected, Searches, Quality, AnswerGrades, Outcome):
    pass


def build(settings: Settings) -> StateGraph[State, Context]:
    on = Steps.of(settings)
    checked = "check_useful" if on.check_useful else "settle"
    graph = (
        StateGraph(State, Context)
        .add_node("retrieve", retrieve)
        .add_node("rerank", rerank)
        .add_node("grade", grade)
        .add_node("answer", answer_anew)
        .add_node("settle", settle)
        .add_node("finish", finish_corrected)
        .add_edge(START, "split" if on.split else "retrieve")
        .add_edge("retrieve", "rerank")
        .add_edge("rerank", "follow" if on.follow else "grade")
        .add_conditional_edges(
            "grade",
            decided,
            ways(
                answer=True,
                settle=on.grading or on.rewrite,
                rewrite=on.grading and on.rewrite,
                search_web=on.web,
                readings=on.readings,
            ),
        )
        .add_edge("answer", "check_grounded" if on.check_grounded else checked)
        .add_edge("settle", "grade_answer" if on.grade_answer else "finish")
        .add_edge("finish", END)
    )
    if on.split:
        graph.add_node("split", split)
        graph.add_conditional_edges("split", decided, ["ask_part", "retrieve"])
        graph.add_node("ask_part", ask_part)
        graph.add_conditional_edges("ask_part", decided, ["ask_part", "combine", "retrieve"])
        graph.add_node("combine", combine)
        graph.add_conditional_edges("combine", decided, ["settle", "retrieve"])
    if on.follow:
        graph.add_node("follow", follow).add_edge("follow", "grade")
    if on.readings:
        graph.add_node("readings", readings)
        graph.add_conditional_edges(
            "readings",
            decided,
            {"grade_on": "grade", "settle": "settle", **({"split": "split"} if on.split else {})},
        )
    if on.rewrite:
        graph.add_node("rewrite", rewrite)
        onward = ways(search_again=True, grade=on.grading, settle=on.check_useful)
        graph.add_conditional_edges("rewrite", after_rewrite, onward)
        graph.add_node("search_again", search_again).add_edge("search_again", "grade")
    if on.web:
        graph.add_node("search_web", search_web_once).add_edge("search_web", "grade")
    if on.check_grounded:
        graph.add_node("check_grounded", check_grounded)
        onward = [checked, *ways(answer=on.regenerate)]
        graph.add_conditional_edges("check_grounded", decided, onward)
    if on.check_useful:
        graph.add_node("check_useful", check_useful)
        graph.add_conditional_edges("check_useful", decided, ways(settle=True, rewrite=on.rewrite))
    if on.grade_answer:
        graph.add_node("grade_answer", grade_answer)
        graph.add_conditional_edges("grade_answer", decided, ["answer", "finish"])
    return graph


def after_rewrite(state: Rewriting) -> str:
    """To the search; where there is no other way to ask, on with what is there."""
    if state["route"] == "search_again":
        return "search_again"
    return "settle" if state.get("drafts") else "grade"


@dataclass(frozen=True, slots=True)
class Steps:
    """Which steps the settings leave in."""

    split: bool
    follow: bool
    grading: bool
    readings: bool
    rewrite: bool
    web: bool
    check_grounded: bool
    check_useful: bool
    regenerate: bool
    grade_answer: bool

    @classmethod
    def of(cls, settings: Settings) -> Steps:
        chosen, grounded = settings.corrective, settings.answer.enable_grounded_check
        rewrites = chosen.enable_rewriting and chosen.max_rewrites > 0
        return cls(
            split=chosen.enable_decomposition,
            follow=chosen.enable_following and settings.search.rerank,
            grading=chosen.enable_grading,
            readings=chosen.enable_readings,
            rewrite=rewrites and (chosen.enable_grading or chosen.enable_useful_check),
            web=settings.web.enable_web_search and chosen.enable_grading,
            check_grounded=grounded,
            check_useful=chosen.enable_useful_check,
            regenerate=grounded and chosen.enable_regeneration,
            grade_answer=settings.answer.enable_answer_grading,
        )


# How far a run can go at most, by its settings. Langgraph is given it as its limit.


def most_visits(settings: Settings) -> int:
    return sum(most_by_node(settings).values())


def most_by_node(settings: Settings) -> dict[str, int]:
    """How often a run visits each node at most, whatever models, readers and the web do."""
    on, chosen = Steps.of(settings), settings.corrective
    rewrites = chosen.max_rewrites if on.rewrite else 0
    regenerations = MOST_REGENERATIONS if on.regenerate else 0
    # The first draft, one after each search for a better one, and one that a model asked for.
    # Where a word was unclear, it is split once more when it is known what is meant.
    begun = 1 + (on.split and on.readings)
    weighed = 1 + (rewrites if on.check_useful else 0) + on.grade_answer
    most = {
        "split": begun * on.split,
        "ask_part": MOST_PARTS if on.split else 0,
        "combine": int(on.split),
        "retrieve": begun,
        "rerank": begun,
        "follow": begun * on.follow,
        # A rewrite that is refused leads back here without a search, and is the last one.
        "grade": begun + on.readings + on.web + rewrites,
        "readings": int(on.readings),
        "rewrite": rewrites,
        "search_again": rewrites,
        "search_web": int(on.web),
        "answer": weighed + regenerations,
        "check_grounded": (weighed + regenerations) * on.check_grounded,
        "check_useful": weighed * on.check_useful,
        "settle": 1 + on.grade_answer,
        "grade_answer": 2 * on.grade_answer,
        "finish": 1,
    }
    return {node: visits for node, visits in most.items() if visits}
