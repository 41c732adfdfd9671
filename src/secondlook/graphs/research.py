"""Researches a hard question in steps: each searches for evidence that no step was shown before,
writes down what it says with citations, and is judged; a choice is made from what stands. What was
found out well is remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.graph import END, START, StateGraph

from secondlook.context import Context
from secondlook.graphs.research_steps import Steps
from secondlook.nodes.aggregate import aggregate
from secondlook.nodes.choose import choose
from secondlook.nodes.classify import classify
from secondlook.nodes.evaluate import evaluate
from secondlook.nodes.finish_research import Reported, finish_research
from secondlook.nodes.issues import Issues, issues
from secondlook.nodes.plan import plan
from secondlook.nodes.quarantine import quarantine
from secondlook.nodes.recall import recall
from secondlook.nodes.remember import remember
from secondlook.nodes.replan import replan
from secondlook.nodes.screen import screen
from secondlook.nodes.search_step import search_step
from secondlook.nodes.separate import separate
from secondlook.nodes.synthesise import synthesise
from secondlook.state import Choices, Outcome, Quality

if TYPE_CHECKING:
    from secondlook.settings import Settings


class State(Reported, Issues, Quality, Outcome):
    pass


def build(settings: Settings) -> StateGraph[State, Context]:
    on = Steps.of(settings)
    graph = (
        StateGraph(State, Context)
        .add_node("separate", separate)
        .add_node("plan", plan)
        .add_node("search_step", search_step)
        .add_node("synthesise", synthesise)
        .add_node("evaluate", evaluate)
        .add_node("aggregate", aggregate)
        .add_node("finish", finish_research)
        .add_edge(START, "separate")
        .add_edge("separate", on.after("separate"))
        .add_edge("plan", "search_step")
        .add_edge("search_step", on.after("search_step"))
        .add_edge("synthesise", "evaluate")
        .add_conditional_edges("evaluate", decided, on.after_evaluate())
        .add_edge("finish", END)
    )
    if on.screen:
        graph.add_node("screen", screen)
        onward = on.after("screen")
        graph.add_conditional_edges("screen", decided, {"pass": onward, "refuse": "finish"})
    if on.recall:
        graph.add_node("recall", recall)
        onward = on.after("recall")
        graph.add_conditional_edges("recall", decided, {"miss": onward, "hit": "aggregate"})
    if on.classify:
        graph.add_node("classify", classify).add_edge("classify", on.after("classify"))
    if on.issues:
        graph.add_node("issues", issues).add_edge("issues", "plan")
    if on.quarantine:
        graph.add_node("quarantine", quarantine).add_edge("quarantine", "synthesise")
    if on.replan:
        graph.add_node("replan", replan)
        graph.add_conditional_edges("replan", decided, ["search_step", "aggregate"])
    if on.choose:
        onward = on.after("choose")
        graph.add_node("choose", choose).add_edge("choose", onward)
        graph.add_conditional_edges("aggregate", has_choices, {"choose": "choose", "on": onward})
    else:
        graph.add_edge("aggregate", on.after("choose"))
    if on.remember:
        graph.add_node("remember", remember).add_edge("remember", "finish")
    return graph


def decided(state: Quality) -> str:
    return state["route"]


def has_choices(state: Choices) -> str:
    return "choose" if state["choices"] else "on"
