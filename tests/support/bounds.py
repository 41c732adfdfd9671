"""How many questions a run puts to models at most, and how many calls it makes, by its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.graphs import analyst, corrective, research
from secondlook.models.specs import ROLES, Cast

if TYPE_CHECKING:
    from types import ModuleType

    from secondlook.settings.sections import Settings


def most_asked(graph: ModuleType, settings: Settings) -> int:
    """Half of a prompt that a model cannot see as a whole is asked in its place: not counted."""
    once = _asked_at_once(settings)[graph]
    return sum(count * once.get(node, 0) for node, count in graph.most_by_node(settings).items())


def most_calls(graph: ModuleType, settings: Settings) -> int:
    """A question is put once more where its reply cannot be used, in each of the three ways to
    demand a form (a schema, a tool, words), and again where the model is away."""
    cast = Cast(settings.models)
    retries = max(cast.part(role).options.retries for role in ROLES)
    return most_asked(graph, settings) * 2 * 3 * (1 + retries)


def _asked_at_once(settings: Settings) -> dict[ModuleType, dict[str, int]]:
    """What one visit of a node asks."""
    chosen, servers = settings.corrective, settings.models.servers
    # What a reply about several passages leaves out is asked for once more.
    graded = {"reader": 0, "llm-each": chosen.graded}.get(servers.grade, 2 * chosen.graded - 1)
    judged = int(servers.grounded == "llm")
    judging = judged * settings.answer.enable_grounded_check
    return {
        corrective: {
            **dict.fromkeys(("split", "ask_part", "rewrite", "answer", "grade_answer"), 1),
            "grade": graded * chosen.enable_grading,
            "check_grounded": judged,
            "check_useful": int(servers.useful == "llm"),
        },
        research: {
            **dict.fromkeys(("plan", "search_step", "replan"), 1),
            "screen": int(servers.screen == "model"),
            "classify": int(servers.classify == "llm"),
            "synthesise": int(servers.synthesise == "model") + judging,
            "aggregate": judging,
            "choose": 2,  # a contradiction is asked about once more
        },
        analyst: {
            **dict.fromkeys(("understand", "answer", "explain_concept", "requirements", "code"), 1),
            "evaluate": int(servers.judge == "model"),
            "remediate": int(servers.remedy == "model"),
            "explain": int(servers.explain == "model"),
        },
    }
