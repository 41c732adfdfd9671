"""Grades what it finds, asks again in other words where too little fits, answers, checks the answer
against its evidence and its question, and has it written anew or searches on where it fails. Every
loop is bounded, and goes round only where something changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from langgraph.graph import END, START, StateGraph

from secondlook.graphs.registry import asked_over, calls_for
from secondlook.nodes.answer import answer_anew, settle
from secondlook.nodes.check import check_grounded, check_useful, grade_answer
from secondlook.nodes.clarify import readings
from secondlook.nodes.combine import combine
from secondlook.nodes.context import Context
from secondlook.nodes.finish import Corrected, finish_corrected
from secondlook.nodes.grade import grade
from secondlook.nodes.limits import AnswerGrades
from secondlook.nodes.retrieve import follow, rerank, retrieve, search_again, search_web_once
from secondlook.nodes.rewrite import rewrite
from secondlook.nodes.split import MAX_PARTS, ask_part, split
from secondlook.nodes.state import Drafts, Outcome, Quality, Searches

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings


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


# Which steps of `corrective` the settings leave in, and where each of them may lead.


@dataclass(frozen=True, slots=True)
class Steps:
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
        chosen = settings.corrective
        rewrites = chosen.enable_rewriting and chosen.max_rewrites > 0
        return cls(
            split=chosen.enable_decomposition,
            follow=chosen.enable_following and settings.search.rerank,
            grading=chosen.enable_grading,
            readings=chosen.enable_readings,
            rewrite=rewrites and (chosen.enable_grading or chosen.enable_useful_check),
            web=settings.web.enable_web_search and chosen.enable_grading,
            check_grounded=settings.answer.enable_grounded_check,
            check_useful=chosen.enable_useful_check,
            regenerate=settings.answer.enable_grounded_check
            and chosen.enable_regeneration
            and chosen.max_regenerations > 0,
            grade_answer=settings.answer.enable_answer_grading,
        )

    def after_grade(self) -> list[str]:
        return [
            "answer",
            *(["settle"] if self.grading or self.rewrite else []),
            *(["rewrite"] if self.grading and self.rewrite else []),
            *(["search_web"] if self.web else []),
            *(["readings"] if self.readings else []),
        ]

    def after_rewrite(self) -> list[str]:
        return [
            "search_again",
            *(["grade"] if self.grading else []),
            *(["settle"] if self.check_useful else []),
        ]

    def after_answer(self) -> str:
        if self.check_grounded:
            return "check_grounded"
        return "check_useful" if self.check_useful else "settle"

    def after_grounded(self) -> list[str]:
        onward = "check_useful" if self.check_useful else "settle"
        return [onward, *(["answer"] if self.regenerate else [])]

    def after_useful(self) -> list[str]:
        return ["settle", *(["rewrite"] if self.rewrite else [])]


# How far a run of `corrective` can go at most, by its settings: node visits, questions to
# models, calls. Tests hold thousands of hostile runs to it, and langgraph is given it as its
# limit.


def most_visits(settings: Settings) -> int:
    """No run visits more nodes than this, whatever models, readers and the web do."""
    return sum(most_by_node(settings).values())


def most_by_node(settings: Settings) -> dict[str, int]:
    """How often a run visits each node at most."""
    on, chosen = Steps.of(settings), settings.corrective
    rewrites = chosen.max_rewrites if on.rewrite else 0
    regenerations = chosen.max_regenerations if on.regenerate else 0
    # The first draft, one after each search for a better one, and one that a model asked for.
    weighed = 1 + (rewrites if on.check_useful else 0) + on.grade_answer
    most = {
        "split": int(on.split),
        "ask_part": MAX_PARTS if on.split else 0,
        "combine": int(on.split),
        "retrieve": 1,
        "rerank": 1,
        "follow": int(on.follow),
        # A rewrite that is refused leads back here without a search, and is the last one.
        "grade": 1 + on.readings + on.web + rewrites,
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


def most_asked(settings: Settings) -> int:
    """No run puts more questions to models than this."""
    return asked_over(most_by_node(settings), lambda node: _asked_at(node, settings))


def most_calls(settings: Settings) -> int:
    """No run makes more model calls than this."""
    return calls_for(most_asked(settings), settings)


def _asked_at(node: str, settings: Settings) -> int:
    """How many questions one visit of a node puts to models at most."""
    chosen, servers = settings.corrective, settings.models.servers
    # What a reply about several passages leaves out is asked for once more.
    again = {"reader": 0, "llm-each": chosen.graded}.get(servers.grade, 2 * chosen.graded - 1)
    return {
        "grade": again if chosen.enable_grading else 0,
        "check_grounded": int(servers.grounded == "llm"),
        "check_useful": int(servers.useful == "llm"),
        **dict.fromkeys(("split", "ask_part", "rewrite", "answer", "grade_answer"), 1),
    }.get(node, 0)
