"""How many questions a run puts to models at most, and how many calls it makes, by its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.graphs import analyst, corrective, research
from secondlook.models.specs import Cast

if TYPE_CHECKING:
    from types import ModuleType

    from secondlook.settings.sections import Settings


def most_asked(graph: ModuleType, settings: Settings) -> int:
    """A prompt that a model cannot see as a whole is not counted: half of it is asked in its
    place."""
    once = {
        corrective: _asked_of_corrective,
        research: _asked_of_research,
        analyst: _asked_of_analyst,
    }[graph](settings)
    return sum(count * once.get(node, 0) for node, count in graph.most_by_node(settings).items())


def most_calls(graph: ModuleType, settings: Settings) -> int:
    """A question is put once more where its reply cannot be used, in each of the three ways to
    demand a form (a schema, a tool, words), and again where the model is away."""
    return most_asked(graph, settings) * 2 * 3 * (1 + Cast(settings.models).most_retries)


def _asked_of_corrective(settings: Settings) -> dict[str, int]:
    chosen, servers = settings.corrective, settings.models.servers
    # What a reply about several passages leaves out is asked for once more.
    graded = {"reader": 0, "llm-each": chosen.graded}.get(servers.grade, 2 * chosen.graded - 1)
    return {
        "grade": graded if chosen.enable_grading else 0,
        "check_grounded": int(servers.grounded == "llm"),
        "check_useful": int(servers.useful == "llm"),
        **dict.fromkeys(("split", "ask_part", "rewrite", "answer", "grade_answer"), 1),
    }


def _asked_of_research(settings: Settings) -> dict[str, int]:
    servers = settings.models.servers
    judged = int(settings.answer.enable_grounded_check and servers.grounded == "llm")
    return {
        "screen": int(servers.screen == "model"),
        "classify": int(servers.classify == "llm"),
        **dict.fromkeys(("plan", "search_step", "replan"), 1),
        "synthesise": int(servers.synthesise == "model") + judged,
        "aggregate": judged,
        # A contradiction is asked about once more.
        "choose": 2,
    }


def _asked_of_analyst(settings: Settings) -> dict[str, int]:
    servers = settings.models.servers
    return {
        **dict.fromkeys(("understand", "answer", "explain_concept", "requirements", "code"), 1),
        "evaluate": int(servers.judge == "model"),
        "remediate": int(servers.remedy == "model"),
        "explain": int(servers.explain == "model"),
    }
