"""Tells a question that one step answers from one that needs several. In doubt it needs several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes.classifying import Verdict, classified
from secondlook.state import Choices, Kind, Question, Trace, step, trouble

if TYPE_CHECKING:
    from secondlook.answer import QueryType

RULES = "rules"
"""In `classified_by`, beside names of models."""
_SAID: dict[QueryType, str] = {
    "simple": "One concept: one step should do.",
    "multi_hop": "Several facts are needed: one step at a time.",
}


class Offered(Question, Choices):
    """What is asked. Of the choices only their number goes on from here."""


class Classified(Kind, Trace):
    pass


async def classify(state: Offered, runtime: Runtime[Context]) -> Classified:
    context, choices = runtime.context, len(state.get("choices", {}))
    found, by, warnings = await _classified(context, state["question"], choices=choices)
    told = step(
        "classify", _SAID[found.kind], query_type=found.kind, by=by, why=found.why, choices=choices
    )
    return {
        "query_type": found.kind,
        "classified_by": by,
        "escalated": False,
        "steps": [told],
        "warnings": warnings,
    }


async def _classified(
    context: Context, question: str, *, choices: int
) -> tuple[Verdict, str, list[dict[str, Any]]]:
    by_rules = classified(question, choices=choices)
    if context.settings.research.classifier == "rules" or not context.models.serves("plan"):
        return by_rules, RULES, []
    from secondlook.nodes.classifying.by_model import asked_model  # not without a model

    try:
        kind = await asked_model(context.models, question, choices=choices)
    except (ModelError, BudgetExceeded) as error:
        return by_rules, RULES, [trouble("classify", error, "rules told the kind of the question")]
    return Verdict(kind, "a model says so"), context.models.name("plan"), []
