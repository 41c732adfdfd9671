"""How far a run of `corrective` can go at most, by its settings: node visits, questions to models,
calls. Tests hold thousands of hostile runs to it, and langgraph is given it as its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.graphs.bounds import asked_over, calls_for
from secondlook.graphs.corrective_steps import Steps

if TYPE_CHECKING:
    from secondlook.settings import Settings


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
        "ask_part": chosen.max_parts if on.split else 0,
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
    chosen = settings.corrective
    # What a reply about several passages leaves out is asked for once more.
    again = {"reader": 0, "llm-each": chosen.graded}.get(chosen.grader, 2 * chosen.graded - 1)
    return {
        "grade": again if chosen.enable_grading else 0,
        "check_grounded": int(chosen.grounded_judge == "llm"),
        "check_useful": int(chosen.useful_judge == "llm"),
        **dict.fromkeys(("split", "ask_part", "rewrite", "answer", "grade_answer"), 1),
    }.get(node, 0)
