"""Finds out why a result cannot stand and who should try again: rules where the failure says it,
else a model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations
from pydantic import BaseModel, ConfigDict, Field

from secondlook.answer import Remedy  # noqa: TC001  # pydantic reads it
from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes.analysing.outcomes import last_outcome
from secondlook.nodes.analysing.result_shown import result_shown
from secondlook.nodes.analysing.showing import shared_by
from secondlook.prompts import load
from secondlook.state import (
    Alignment,
    Coding,
    Judged,
    LookedAt,
    Question,
    Remedies,
    RemedyData,
    Required,
    Trace,
    step,
    trouble,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_GOES_TO: dict[Remedy, str] = {
    "rewrite_code": "code",
    "revise_requirements": "requirements",
    "reexamine_data": "profile",
    "cannot_proceed": "explain",
}
_ABOUT_DATA = re.compile(
    r"could not convert|time data|unconverted|does not match format|parse|dtype|cannot (?:convert|"
    r"compare)|not supported between|not a number|no value|empty",
    re.IGNORECASE,
)
_ABOUT_COLUMNS = re.compile(r"KeyError|no column|not in index|unknown column", re.IGNORECASE)


class ToRemedy(Question, Required, LookedAt, Alignment, Coding, Judged, Remedies):
    pass


class Planned(Remedies, Trace):
    route: str
    tries: int
    alignments: int
    query: dict[str, Any] | None


class Diagnosis(BaseModel):
    """The form of a model's reply."""

    model_config = ConfigDict(extra="ignore")
    cause: str = Field(default="", json_schema_extra={"maxLength": 300})
    action: Remedy
    guidance: str = Field(default="", json_schema_extra={"maxLength": 400})


async def remediate(state: ToRemedy, runtime: Runtime[Context]) -> Planned:
    remedy, by, warnings = await _planned(runtime.context, state)
    way = _GOES_TO[remedy["action"]]
    told = step("remediate", remedy["cause"], by=by, route=(way, remedy["guidance"]))
    return {
        "remedies": [*state["remedies"], remedy],
        # Whoever tries again has all tries before it, under the bound on all visits.
        "tries": 0,
        "alignments": 0,
        "query": None,
        "route": way,
        "steps": [told],
        "warnings": warnings,
    }


async def _planned(
    context: Context, state: ToRemedy
) -> tuple[RemedyData, str, list[dict[str, Any]]]:
    by_rules = _by_rules(state["issues"])
    if context.ledger.must_end("remediate"):
        guidance = "Nothing more may be tried: the budget or the time ran out."
        return {**by_rules, "action": "cannot_proceed", "guidance": guidance}, "rules", []
    if context.settings.analyst.remedies == "rules" or not context.models.serves("remedy"):
        return by_rules, "rules", []
    try:
        said = await _said(context, state)
    except (ModelError, BudgetExceeded) as error:
        return by_rules, "rules", [trouble("remediate", error, "rules told the cause")]
    remedy = RemedyData(
        cause=said.cause or by_rules["cause"],
        action=said.action,
        guidance=said.guidance or by_rules["guidance"],
    )
    return remedy, context.models.name("remedy"), []


def _by_rules(issues: Sequence[str]) -> RemedyData:
    cause = "; ".join(issues)
    if _ABOUT_COLUMNS.search(cause):
        return RemedyData(
            cause=cause,
            action="revise_requirements",
            guidance="Use only columns that the tables have, by their exact names.",
        )
    if _ABOUT_DATA.search(cause):
        return RemedyData(
            cause=cause,
            action="reexamine_data",
            guidance="Mind how the values are written, and what is missing.",
        )
    return RemedyData(
        cause=cause,
        action="rewrite_code",
        guidance="Compute it in another way, from the supplied tables, so that this cannot occur.",
    )


async def _said(context: Context, state: ToRemedy) -> Diagnosis:
    prompt = load("analyst_remedy")
    holes = await shared_by(context, state)
    outcome = last_outcome(context, state["attempts"])
    reply = await context.models.ask(
        prompt.role,
        prompt.render(
            **holes,
            code=state["attempts"][-1]["code"],
            result=result_shown(outcome) if outcome else "none",
            issues="\n".join(f"- {issue}" for issue in state["issues"]),
        ),
        Diagnosis,
        node="remediate",
        max_tokens=prompt.max_tokens,
    )
    return reply.value or Diagnosis(action="rewrite_code")
