"""Turns the choices into neutral matters to look into, where the question alone names no facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations
from typing_extensions import TypedDict

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.state import Choices, Question, Trace, step, trouble

if TYPE_CHECKING:
    from collections.abc import Mapping


class Issues(TypedDict):
    issues: list[str]
    """Neutral matters in alphabetical order; empty where the question says enough."""


class Offered(Question, Choices):
    """What is asked, and what there is to choose from."""


class Raised(Issues, Trace):
    pass


async def issues(state: Offered, runtime: Runtime[Context]) -> Raised:
    context = runtime.context
    found, why, warnings = await _found(context, state["question"], state.get("choices", {}))
    said = f"{len(found)} matters to look into: {'; '.join(found)}." if found else f"None: {why}."
    told = step("issues", said, issues=len(found))
    return {"issues": found, "steps": [told], "warnings": warnings}


async def _found(
    context: Context, stem: str, choices: Mapping[str, str]
) -> tuple[list[str], str, list[dict[str, Any]]]:
    """The matters, or why there are none."""
    if not choices:
        return [], "there are no choices", []
    if not context.models.serves("plan"):
        return [], "there is no model to name them", []
    from secondlook.nodes.multiple_choice.neutral import issues_of, names_no_facts

    if not names_no_facts(stem):
        return [], "the question itself says what to look for", []
    try:
        return await issues_of(context, stem, choices.values()), "", []
    except (ModelError, BudgetExceeded) as error:
        consequence = "the plan was made from the question alone"
        return [], "no usable ones were named", [trouble("issues", error, consequence)]
