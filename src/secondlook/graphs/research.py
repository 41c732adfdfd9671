"""Researches a hard question in steps: each searches for evidence that no step was shown before,
writes down what it says with citations, and is judged; a choice is made from what stands. What was
found out well is remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.graph import END, START, StateGraph

from secondlook.graphs.registry import decided
from secondlook.nodes.choices import separate
from secondlook.nodes.choose import choose
from secondlook.nodes.context import Context
from secondlook.nodes.finish_research import Reported, finish_research
from secondlook.nodes.memory import recall, remember
from secondlook.nodes.plan import classify, plan, replan
from secondlook.nodes.research import aggregate, evaluate, search_step, synthesise
from secondlook.nodes.screen import quarantine, screen
from secondlook.nodes.state import Choices, Outcome, Quality

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings


class State(Reported, Quality, Outcome):
    pass


def build(settings: Settings) -> StateGraph[State, Context]:
    on = switched(settings)
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
        .add_edge("separate", _after("separate", on))
        .add_edge("plan", "search_step")
        .add_edge("search_step", _after("search_step", on))
        .add_edge("synthesise", "evaluate")
        .add_conditional_edges(
            "evaluate", decided, ["aggregate", *(["replan"] if on["replan"] else [])]
        )
        .add_edge("finish", END)
    )
    if on["screen"]:
        graph.add_node("screen", screen)
        onward = _after("screen", on)
        graph.add_conditional_edges("screen", decided, {"pass": onward, "refuse": "finish"})
    if on["recall"]:
        graph.add_node("recall", recall)
        onward = _after("recall", on)
        graph.add_conditional_edges("recall", decided, {"miss": onward, "hit": "aggregate"})
    if on["classify"]:
        graph.add_node("classify", classify).add_edge("classify", _after("classify", on))
    if on["quarantine"]:
        graph.add_node("quarantine", quarantine).add_edge("quarantine", "synthesise")
    if on["replan"]:
        graph.add_node("replan", replan)
        graph.add_conditional_edges("replan", decided, ["search_step", "aggregate"])
    if on["choose"]:
        onward = _after("choose", on)
        graph.add_node("choose", choose).add_edge("choose", onward)
        graph.add_conditional_edges("aggregate", has_choices, {"choose": "choose", "on": onward})
    else:
        graph.add_edge("aggregate", _after("choose", on))
    if on["remember"]:
        graph.add_node("remember", remember).add_edge("remember", "finish")
    return graph


def has_choices(state: Choices) -> str:
    return "choose" if state["choices"] else "on"


# Which steps of `research` the settings leave in, and what comes after each.

_LINES = (
    ("separate", "screen", "recall", "classify", "plan"),
    ("search_step", "quarantine", "synthesise"),
    ("choose", "remember", "finish"),
)


def switched(settings: Settings) -> dict[str, bool]:
    """The steps that can be switched off, and whether they are on."""
    chosen = settings.research
    return {
        "screen": chosen.enable_screen,
        "recall": chosen.enable_memory and chosen.enable_recall,
        "classify": chosen.enable_classification,
        "quarantine": settings.answer.enable_quarantine,
        "replan": chosen.enable_replanning and chosen.max_cycles > 1,
        "choose": chosen.enable_choosing,
        "remember": chosen.enable_memory,
    }


def _after(node: str, on: dict[str, bool]) -> str:
    """The next one of its line that is not switched off."""
    line = next(line for line in _LINES if node in line)
    return next(later for later in line[line.index(node) + 1 :] if on.get(later, True))


# How far a run of `research` can go at most, by its settings. Langgraph is given it as its limit.


def most_visits(settings: Settings) -> int:
    """No run visits more nodes than this, whatever models, readers and the library do."""
    return sum(most_by_node(settings).values())


def most_by_node(settings: Settings) -> dict[str, int]:
    """How often a run visits each node at most."""
    on = switched(settings)
    cycles = settings.research.max_cycles if on["replan"] else 1
    once = ("separate", "screen", "recall", "classify", "plan", "aggregate", "choose", "remember")
    loop = ("search_step", "quarantine", "synthesise", "evaluate")
    most = dict.fromkeys((*once, "finish"), 1) | dict.fromkeys(loop, cycles)
    most["replan"] = cycles - 1
    return {node: visits for node, visits in most.items() if visits and on.get(node, True)}
