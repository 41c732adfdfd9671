"""Researches a hard question in steps: each searches for evidence that no step was shown before,
writes down what it says with citations, and is judged; a choice is made from what stands. What was
found out well is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from langgraph.graph import END, START, StateGraph

from secondlook.graphs.registry import asked_over, calls_for, decided
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


def has_choices(state: Choices) -> str:
    return "choose" if state["choices"] else "on"


# Which steps of `research` the settings leave in, and what comes after each.

_ORDER = (
    ("separate", "screen", "recall", "classify", "plan"),
    ("search_step", "quarantine", "synthesise"),
    ("choose", "remember", "finish"),
)


@dataclass(frozen=True, slots=True)
class Steps:
    screen: bool
    recall: bool
    classify: bool
    quarantine: bool
    replan: bool
    choose: bool
    remember: bool

    @classmethod
    def of(cls, settings: Settings) -> Steps:
        chosen = settings.research
        return cls(
            screen=chosen.enable_screen,
            recall=chosen.enable_memory and chosen.enable_recall,
            classify=chosen.enable_classification,
            quarantine=settings.answer.enable_quarantine,
            replan=chosen.enable_replanning and chosen.max_cycles > 1,
            choose=chosen.enable_choosing,
            remember=chosen.enable_memory,
        )

    def after(self, node: str) -> str:
        """The next one of its line that is not switched off."""
        line = next(line for line in _ORDER if node in line)
        return next(later for later in line[line.index(node) + 1 :] if getattr(self, later, True))

    def after_evaluate(self) -> list[str]:
        return ["aggregate", *(["replan"] if self.replan else [])]


# How far a run of `research` can go at most, by its settings: node visits, questions to models,
# calls. Tests hold thousands of hostile runs to it, and langgraph is given it as its limit.


def most_visits(settings: Settings) -> int:
    """No run visits more nodes than this, whatever models, readers and the library do."""
    return sum(most_by_node(settings).values())


def most_by_node(settings: Settings) -> dict[str, int]:
    """How often a run visits each node at most."""
    on = Steps.of(settings)
    cycles = settings.research.max_cycles if on.replan else 1
    most = {
        "separate": 1,
        "screen": int(on.screen),
        "recall": int(on.recall),
        "classify": int(on.classify),
        "plan": 1,
        "search_step": cycles,
        "quarantine": cycles * on.quarantine,
        "synthesise": cycles,
        "evaluate": cycles,
        "replan": (cycles - 1) * on.replan,
        "aggregate": 1,
        "choose": int(on.choose),
        "remember": int(on.remember),
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
    servers = settings.models.servers
    judged = int(settings.answer.enable_grounded_check and servers.grounded == "llm")
    return {
        "screen": int(servers.screen == "model"),
        "classify": int(servers.classify == "llm"),
        "plan": 1,
        "search_step": 1,
        "synthesise": int(servers.synthesise == "model") + judged,
        "replan": 1,
        "aggregate": judged,
        # A contradiction is asked about once more.
        "choose": 2,
    }.get(node, 0)
