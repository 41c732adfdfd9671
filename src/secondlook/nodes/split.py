"""Splits a question that needs several facts: by its form, or by a model where only a model can
tell. A plain question costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes.parts.forms import split_by_form
from secondlook.nodes.parts.hints import needs_more
from secondlook.state import PartData, Parts, Question, Trace, step, trouble

if TYPE_CHECKING:
    from secondlook.nodes.parts.splitting import Split

_By = Literal["form", "a model", "nobody"]


class Divided(Parts, Trace):
    route: str


async def split(state: Question, runtime: Runtime[Context]) -> Divided:
    context, question = runtime.context, state["question"]
    warnings: list[dict[str, Any]] = []
    by: _By = "form"
    made = _allowed(split_by_form(question), context)
    if made is None:
        made, warnings = await _by_model(context, question)
        by = "a model" if made else "nobody"
    if made is None:
        told = step("split", "Asked as a whole.", route=("retrieve", "one fact"), parts=0, by=by)
        return _divided(None, "retrieve", told, warnings)
    said = f"Split in {len(made.parts)}: {' '.join(made.parts)}"
    why = f"it needs {len(made.parts)} facts"
    numbers = {"parts": len(made.parts), "combining": made.combining, "by": by}
    told = step("split", said, numbers, route=("ask_part", why))
    return _divided(made, "ask_part", told, warnings)


def _allowed(made: Split | None, context: Context) -> Split | None:
    """Every part needs a passage of its own among those an answer may rest on."""
    settings = context.settings
    most = min(settings.corrective.max_parts, settings.answer.k)
    return made if made and len(made.parts) <= most else None


async def _by_model(context: Context, question: str) -> tuple[Split | None, list[dict[str, Any]]]:
    if context.settings.answer.k < 2 or not needs_more(question):  # noqa: PLR2004
        return None, []
    if not context.models.serves("plan"):
        return None, []
    from secondlook.nodes.parts.planning import planned  # prompts and all: not without a model

    try:
        return await planned(context, question), []
    except (ModelError, BudgetExceeded) as error:
        return None, [trouble("split", error, "the question was asked as a whole")]


def _divided(
    made: Split | None, route: str, told: dict[str, Any], warnings: list[dict[str, Any]]
) -> Divided:
    parts = [PartData(question=part, asked=None, draft=None) for part in made.parts] if made else []
    return {
        "parts": parts,
        "combining": made.combining if made else "",
        "route": route,
        "steps": [told],
        "warnings": warnings,
    }
