"""Every workflow by name. A new one is a file, a line here, its prompts and a scripted test."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.errors import UsageError
from secondlook.nodes.state import Quality  # noqa: TC001

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

    from secondlook.models.chat import Role
    from secondlook.nodes.context import Context
    from secondlook.settings.sections import Settings


@dataclass(frozen=True, slots=True)
class Workflow:
    name: str
    about: str
    flags: tuple[str, ...] = ()
    """Settings that switch a step of it on or off: what an ablation tries one by one."""
    visits: int | None = None
    """How many nodes a run visits at most; None where that depends on the settings."""
    last: tuple[tuple[Role, str], ...] = (("answer", "answer"),)
    """Role and prompt of the calls that a budget keeps room for: those that give the answer."""

    def build(self, settings: Settings) -> StateGraph[Any, Context]:
        # Imported when used: `secondlook graph` must not pay for what it only lists.
        module = importlib.import_module(f"secondlook.graphs.{self.name}")
        graph: StateGraph[Any, Context] = module.build(settings)
        return graph

    def most_visits(self, settings: Settings) -> int:
        """No run visits more nodes than this: the limit that langgraph is given."""
        if self.visits is not None:
            return self.visits
        module = importlib.import_module(f"secondlook.graphs.{self.name}")
        most: int = module.most_visits(settings)
        return most


def decided(state: Quality) -> str:
    """Where the last node leads."""
    return state["route"]


def ways(**open_ones: bool) -> list[str]:
    """The names of the ways that are open."""
    return [name for name, is_open in open_ones.items() if is_open]


_ANSWERING = ("search.rerank", "answer.enable_sentence_check", "answer.enable_abstention")
_GUARDING = ("answer.enable_quarantine", "answer.enable_revalidation")
"""They change no graph, and the same in every workflow: one tells what they cost."""
_CORRECTING = (
    "corrective.enable_grading",
    "corrective.enable_rewriting",
    "corrective.enable_following",
    "corrective.enable_decomposition",
    "corrective.enable_readings",
    "answer.enable_grounded_check",
    "corrective.enable_useful_check",
    "corrective.enable_regeneration",
    "answer.enable_answer_grading",
    "web.enable_web_search",
)
_RESEARCHING = (
    "research.enable_screen",
    "answer.enable_quarantine",
    "research.enable_memory",
    "research.enable_recall",
    "research.enable_classification",
    "research.enable_multi_query",
    "research.enable_fresh_evidence",
    "research.enable_escalation",
    "research.enable_replanning",
    "research.enable_stagnation",
    "answer.enable_grounded_check",
    "research.enable_choosing",
)
_ANALYSING = (
    "analyst.enable_understanding",
    "analyst.enable_alignment",
    "analyst.enable_code_check",
    "analyst.enable_arithmetic",
    "analyst.enable_remediation",
)
_SEARCHING_ON = ("adaptive.enable_adaptive_retrieval", "web.enable_web_search")

WORKFLOWS = {
    workflow.name: workflow
    for workflow in (
        Workflow(
            "linear",
            "retrieve, rerank, answer: the baseline",
            (*_ANSWERING, *_GUARDING, "answer.enable_answer_grading"),
            visits=7,
        ),
        Workflow(
            "adaptive",
            "search again, by words, then on the web, where a search looks poor",
            (*_ANSWERING, *_SEARCHING_ON),
            visits=8,
        ),
        Workflow(
            "corrective",
            "grade, ask again in other words, answer, check, write anew: each only where it must",
            (*_ANSWERING, *_CORRECTING),
        ),
        Workflow(
            "research",
            "plan, search in steps, write with citations, plan on; multiple choice; remembers",
            (*_ANSWERING, *_RESEARCHING),
            last=(("answer", "synthesise"), ("choose", "choose")),
        ),
        Workflow(
            "analyst",
            "questions over tables: computed, or by code that runs in a sandbox and is checked",
            _ANALYSING,
            last=(("code", "analyst_code"),),
        ),
        Workflow(
            "summary",
            "sum up documents: part by part, or by headings and lead sentences",
            ("answer.enable_sentence_check",),
            visits=4,
            last=(("summarise", "summarise_whole"),),
        ),
        Workflow(
            "survey",
            "put one question to every document of a set, and count, add up or list what they say",
            last=(),
        ),
        Workflow(
            "auto",
            "looks at the question and at what there is, and picks one of the others, saying why",
            last=(),
        ),
    )
}


def workflow(name: str) -> Workflow:
    try:
        return WORKFLOWS[name]
    except KeyError:
        raise UsageError(
            f"there is no workflow {name!r}", hint=f"there are {', '.join(WORKFLOWS)}"
        ) from None
