"""What must be there for a switch to make a difference: a model, the web, or a step that is on."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from secondlook.models.roles import Cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.models.port import Role
    from secondlook.settings import Settings

    Value = bool | str
    SetTo = Callable[[str], Value]

SENTENCE_CHECK = "answer.enable_sentence_check"
WEB = "web.enable_web_search"
ANSWER_GRADING = "answer.enable_answer_grading"
REGENERATION = "corrective.enable_regeneration"
SYNTHESIS = "research.synthesis"
EXPLAIN = "analyst.explain"
NUMBER_CHECK = "analyst.enable_number_check"
NOT_FOR_QUESTIONS = frozenset({"summary"})
OVER_TABLES = frozenset({"analyst"})
"""What answers from tables is not compared with what answers from texts."""
VARIANTS: dict[str, tuple[str, ...]] = {
    "corrective": (
        "corrective.grader",
        "corrective.grounded_judge",
        "corrective.useful_judge",
    ),
    "research": (
        "research.classifier",
        "research.calls",
        "research.rerank_against",
        SYNTHESIS,
        "research.evaluator",
    ),
    "analyst": ("analyst.requirements", "analyst.remedies", EXPLAIN),
}
"""By workflow, settings that say who judges or how: each of their values is tried."""
_NEEDS_WRITER = frozenset(
    {
        SENTENCE_CHECK,
        ANSWER_GRADING,
        REGENERATION,
        SYNTHESIS,
        "research.enable_synthesis_of_failed",
    }
)
"""What does nothing to words that the reader took from a passage."""
_ASKS: dict[str, Role] = {
    ANSWER_GRADING: "grade",
    "corrective.grader": "grade",
    "corrective.grounded_judge": "grade",
    "corrective.useful_judge": "grade",
    "research.enable_screen_model": "screen",
    "research.enable_issues": "plan",
    "research.classifier": "plan",
    "research.calls": "plan",
    "research.enable_shuffled_choice": "choose",
    "analyst.enable_code_check": "code",
    "analyst.enable_variation": "code",
    "analyst.enable_recomputation": "code",
    "analyst.enable_remediation": "code",
    "analyst.enable_judgement": "judge",
    "analyst.requirements": "require",
    "analyst.remedies": "remedy",
    EXPLAIN: "explain",
    NUMBER_CHECK: "explain",
}
"""Who is asked for it."""
_BY_OTHERS = frozenset({"reader", "similarity", "rules", "template"})
"""Values for which no model is asked."""
_PART_OF = {
    "corrective.grounded_judge": "corrective.enable_grounded_check",
    "corrective.useful_judge": "corrective.enable_useful_check",
    "corrective.grader": "corrective.enable_grading",
    "research.enable_screen_model": "research.enable_screen",
    "research.enable_recall": "research.enable_memory",
    "research.classifier": "research.enable_classification",
    "research.enable_escalation": "research.enable_classification",
    "research.rerank_against": "search.rerank",
    "research.enable_shuffled_choice": "research.enable_choosing",
    "analyst.remedies": "analyst.enable_remediation",
}
"""The step that a setting is a part of: where it is off, the setting does nothing."""
_WROTE_NOTHING = (
    "without a model nothing is written that could be checked: an answer is a span of a passage "
    "(give one with --model)"
)
_CALLED: dict[Role, str] = {
    "grade": "judge",
    "screen": "screen",
    "plan": "plan",
    "choose": "choose",
    "code": "write code",
    "judge": "judge",
    "require": "say what a question needs",
    "remedy": "find a cause",
    "explain": "put a result into words",
}


def why_not(settings: Settings, workflow: str, key: str, to: Value, *, set_to: SetTo) -> str | None:
    """Why a setting cannot be tried with that value; None if it can."""
    if key == WEB and to:
        return no_web(settings)
    if key == NUMBER_CHECK and set_to(EXPLAIN) == "template":
        return f"{EXPLAIN} is 'template', which says no number that the result does not hold"
    step = _PART_OF.get(key)
    if step is not None and not set_to(step):
        return f"{step} is off, so that it does nothing"
    if key in _NEEDS_WRITER and not _writes(settings, workflow):
        return _WROTE_NOTHING
    role = _ASKS.get(key)
    if role is not None and to not in _BY_OTHERS and not _serves(settings, role, workflow):
        return f"there is no model that could {_CALLED[role]} (give one with --model)"
    return None


def no_web(settings: Settings) -> str | None:
    """Why the web cannot be looked at, or must not be without being asked; None if it can."""
    web = settings.web
    if web.backend == "searxng":
        missing = "web.backend is 'searxng', but web.url does not say where the server is"
        return None if web.url else missing
    if find_spec("ddgs") is None:
        return "needs the package ddgs (pip install 'secondlook[web]') or a SearXNG server"
    if not web.enable_web_search:
        return (
            "would send the questions to DuckDuckGo: allow it with --web, or set web.backend "
            "and web.url to a SearXNG server of your own"
        )
    return None


def _writes(settings: Settings, workflow: str) -> bool:
    """Whether a model writes what the workflow answers."""
    return _serves(settings, "summarise" if workflow in NOT_FOR_QUESTIONS else "answer", workflow)


def _serves(settings: Settings, role: Role, workflow: str) -> bool:
    return Cast(settings.models).part(role, workflow).spec.named
