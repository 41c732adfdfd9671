"""Judges a result: by arithmetic, and by a model where that is switched on. Where it cannot stand,
finds the cause and who should try again. Also says how sure a result is."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002
from pydantic import BaseModel, ConfigDict, Field

from secondlook.answer import Remedy  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes.code.write import SAME, STOPPED
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import (
    RULES,
    ask,
    asked_tables,
    harmless_text,
    last_outcome,
    result_shown,
)
from secondlook.nodes.judge.arithmetic import checks as arithmetic
from secondlook.nodes.state import (
    Analysed,
    AnalysisCheckData,
    Judged,
    Remedies,
    RemedyData,
    Trace,
    step,
    trouble,
)
from secondlook.reading.logistic import Logistic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.sandbox.port import Outcome


class Evaluated(Judged, Trace):
    route: str


class Judgement(BaseModel):
    """The form of a model's reply."""

    model_config = ConfigDict(extra="ignore")
    valid: bool = Field(description="Whether the result answers the question by a sound method.")
    issues: list[str] = Field(default=[], json_schema_extra={"maxItems": 3})


async def evaluate_result(state: Analysed, runtime: Runtime[Context]) -> Evaluated:
    context = runtime.context
    outcome = last_outcome(context, state["attempts"])
    warnings: list[dict[str, Any]] = []
    checks: list[AnalysisCheckData] = []
    if outcome is None or outcome.status != "ok":
        issues = [state["attempts"][-1]["error"] or "the code did not run"]
    else:
        checks, warnings = await _checked(context, state, outcome)
        # A check names values as the code did, or a table: those may give the next model orders.
        issues = [harmless_text(one["said"]) for one in checks if not one["passed"]]
    chosen, last, tried = context.settings.analyst, state["attempts"][-1], len(state["remedies"])
    reasons = {
        "nothing speaks against the result": not issues,
        "nothing can be run": last["status"] == STOPPED,
        "remedies are switched off": not chosen.enable_remediation,
        "the same code again: no progress": last["error"] == SAME,
        f"{tried} remedies have been tried": tried >= chosen.max_remediations,
        "there is no model that could try otherwise": not context.models.serves("code"),
    }
    ended = next((why for why, holds in reasons.items() if holds), None)
    route = ("explain", ended) if ended else ("remediate", issues[0])
    said = f"{sum(one['passed'] for one in checks)} of {len(checks)} checks passed."
    told = step("evaluate", said, issues=len(issues), route=route)
    found: Judged = {"checks": checks, "issues": issues}
    return {**found, "route": route[0], "steps": [told], "warnings": warnings}


async def _checked(
    context: Context, state: Analysed, outcome: Outcome
) -> tuple[list[AnalysisCheckData], list[dict[str, Any]]]:
    question = state["question"]
    checks: list[AnalysisCheckData] = []
    if context.settings.analyst.enable_arithmetic:
        tables = await asked_tables(context, question)
        profiles = {one.table.id: one.profile for one in tables}
        about = (state["requirements"], outcome, profiles, state["resolved"])
        code = state["attempts"][-1]["code"] if state["query"] is None else ""
        checks = arithmetic(question, *about, code=code)
    generated, sound = state["query"] is None, all(one["passed"] for one in checks)
    by_model = context.settings.models.servers.judge == "model" and context.models.serves("judge")
    if not (generated and sound and by_model):
        return checks, []
    holes: dict[str, Any] = {"code": state["attempts"][-1]["code"], "result": result_shown(outcome)}
    try:
        reply = await ask(context, "judge", "evaluate", state, Judgement, final=True, **holes)
    except (ModelError, BudgetExceeded) as error:
        return checks, [trouble("evaluate", error, "no model judged the method")]
    if (said := reply.value) is not None:
        issues = [" ".join(issue.split()) for issue in said.issues if issue.strip()]
        passed = said.valid or not issues
        told = "a model holds the method for sound" if passed else "; ".join(issues)
        checks = [*checks, AnalysisCheckData(name="judgement", passed=passed, said=told)]
    return checks, []


# Finds out why a result cannot stand and who should try again: rules where the failure says it,
# else a model.

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


async def remediate(state: Analysed, runtime: Runtime[Context]) -> Planned:
    context = runtime.context
    remedy, by = _by_rules("; ".join(state["issues"])), RULES
    warnings: list[dict[str, Any]] = []
    if context.ledger.must_end("remediate"):
        remedy["action"] = "cannot_proceed"
        remedy["guidance"] = "Nothing more may be tried: the budget or the time ran out."
    elif context.settings.models.servers.remedy == "model" and context.models.serves("remedy"):
        outcome = last_outcome(context, state["attempts"])
        holes: dict[str, Any] = {
            "code": state["attempts"][-1]["code"],
            "result": result_shown(outcome) if outcome else "none",
            "issues": "\n".join(f"- {issue}" for issue in state["issues"]),
        }
        try:
            reply = await ask(context, "remedy", "remediate", state, Diagnosis, **holes)
        except (ModelError, BudgetExceeded) as error:
            warnings = [trouble("remediate", error, "rules told the cause")]
        else:
            by, said = context.models.name("remedy"), reply.value
            remedy["action"] = said.action if said else "rewrite_code"
            remedy["cause"] = (said and said.cause) or remedy["cause"]
            remedy["guidance"] = (said and said.guidance) or remedy["guidance"]
    way = _GOES_TO[remedy["action"]]
    told = step("remediate", remedy["cause"], by=by, route=(way, remedy["guidance"]))
    return {
        "remedies": [*state["remedies"], remedy],
        # The next round has all tries before it, under the bound on all visits.
        "tries": 0,
        "alignments": 0,
        "query": None,
        "route": way,
        "steps": [told],
        "warnings": warnings,
    }


def _by_rules(cause: str) -> RemedyData:
    action: Remedy = "rewrite_code"
    guidance = "Compute it in another way, from the supplied tables, so that this cannot occur."
    if _ABOUT_COLUMNS.search(cause):
        action = "revise_requirements"
        guidance = "Use only columns that the tables have, by their exact names."
    elif _ABOUT_DATA.search(cause):
        action = "reexamine_data"
        guidance = "Mind how the values are written, and what is missing."
    return RemedyData(cause=cause, action=action, guidance=guidance)


# How sure a result is: a probability that was fitted on questions over tables whose answers are
# known, from what the run itself saw.

FILE = "confidence.json"  # `python -m benchmarks.analyst calibrate` makes it
_DIGITS = 4


def confidence(state: Analysed) -> tuple[float | None, list[str]]:
    """That it is right, fitted for what our own code computes; and what speaks for and against."""
    checks, query = [one["passed"] for one in state["checks"]], state["query"]
    reasons = []
    if state["resolved"]:
        worst = min(state["resolved"], key=lambda one: one["score"])
        if worst["asked"] != worst["column"]:
            reasons.append(
                f"{worst['asked']!r} was taken for {worst['column']!r} ({worst['score']:.2f})"
            )
    if query is not None:
        reasons.append(f"{state['doubt']:.0%} of the question is in doubt")
    if checks:
        reasons.append(f"{sum(checks)} of {len(checks)} checks passed")
    if len(state["attempts"]) > 1:
        reasons.append(f"code was written {len(state['attempts'])} times")
    scores = [one["score"] for one in state["resolved"]]
    sure = None if query is None else shipped().probability(signals(query, scores, checks))
    return None if sure is None else round(sure, _DIGITS), reasons


def signals(
    query: Mapping[str, Any], scores: Sequence[float], checks: Sequence[bool] = ()
) -> dict[str, float]:
    """What the run saw. `scores` are of the columns, `checks` say which passed."""
    return {
        "column_score": min(scores, default=1.0),
        "checks_failed": sum(not one for one in checks) / len(checks) if checks else 0.0,
        "doubt": query["doubt"],
        "several": float(query["answer"] == "list"),
        "taken": float(bool(query.get("taken"))),
    }


@cache
def shipped() -> Logistic:
    fitted = json.loads(files(__package__).joinpath(FILE).read_text("utf-8"))["fitted"]
    return Logistic(fitted["bias"], fitted["weights"])
