"""How far a run of `research` can go at most, by its settings: node visits, questions to models,
calls. Tests hold thousands of hostile runs to it, and langgraph is given it as its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.graphs.bounds import asked_over, calls_for
from secondlook.graphs.research_steps import Steps

if TYPE_CHECKING:
    from secondlook.settings import Settings


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
        "issues": int(on.issues),
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
    chosen = settings.research
    judged = int(chosen.enable_grounded_check and settings.corrective.grounded_judge == "llm")
    return {
        "screen": int(chosen.enable_screen_model),
        "classify": int(chosen.classifier == "llm"),
        "issues": 1,
        "plan": 1,
        "search_step": 1,
        "synthesise": int(chosen.synthesis == "model") + judged,
        "replan": 1,
        "aggregate": judged,
        # A contradiction is asked about once more.
        "choose": 2 + int(chosen.enable_shuffled_choice),
    }.get(node, 0)
