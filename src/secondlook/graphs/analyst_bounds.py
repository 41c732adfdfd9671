"""How far a run of `analyst` can go at most, by its settings: node visits, questions to models,
calls. Tests hold thousands of hostile runs to it, and langgraph is given it as its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.graphs.analyst_steps import Steps
from secondlook.graphs.bounds import asked_over, calls_for

if TYPE_CHECKING:
    from secondlook.settings import Settings


def most_visits(settings: Settings) -> int:
    """No run visits more nodes than this, whatever models, sandboxes and tables do."""
    return sum(most_by_node(settings).values())


def most_by_node(settings: Settings) -> dict[str, int]:
    """How often a run visits each node at most. Every remedy begins a new round."""
    on, chosen = Steps.of(settings), settings.analyst
    remedies = chosen.max_remediations * on.remediate
    rounds = 1 + remedies
    alignments = rounds * (chosen.max_alignments if on.align else 1)
    most = {
        "lay_out": 1,
        "understand": int(on.understand),
        "retrieve": int(on.understand),
        "rerank": int(on.understand),
        "answer": int(on.understand),
        "explain_concept": int(on.understand),
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


def most_asked(settings: Settings) -> int:
    """No run puts more questions to models than this."""
    return asked_over(most_by_node(settings), lambda node: _asked_at(node, settings))


def most_calls(settings: Settings) -> int:
    """No run makes more model calls than this."""
    return calls_for(most_asked(settings), settings)


def _asked_at(node: str, settings: Settings) -> int:
    """How many questions one visit of a node puts to models at most."""
    chosen = settings.analyst
    return {
        "understand": 1,
        "answer": 1,
        "explain_concept": 1,
        "requirements": 1,
        "code": 1,
        "evaluate": int(chosen.enable_judgement),
        "remediate": int(chosen.remedies == "model"),
        "explain": int(chosen.explain == "model"),
    }.get(node, 0)
