"""Looks twice at a result: arithmetic first, then the same code on other rows, then our own
computation of the same; a model judges only method and completeness, and only where it is asked
to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations
from pydantic import BaseModel, ConfigDict, Field

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError, SandboxError, TableError
from secondlook.nodes.analysing.at_hand import asked_tables, desk_of, embedding
from secondlook.nodes.analysing.outcomes import last_outcome
from secondlook.nodes.analysing.result_shown import result_shown
from secondlook.nodes.analysing.showing import shared_by
from secondlook.nodes.coding.telling import harmless
from secondlook.nodes.coding.varying import follows, variations
from secondlook.nodes.judging.agreement import agrees
from secondlook.nodes.judging.arithmetic import checks as arithmetic
from secondlook.nodes.write_code import SAME, STOPPED, run_code
from secondlook.prompts import load
from secondlook.state import (
    AnalysisCheckData,
    Coding,
    Judged,
    LookedAt,
    Question,
    Remedies,
    Required,
    Trace,
    step,
    trouble,
)
from secondlook.tables.asking import queries, understand

if TYPE_CHECKING:
    from secondlook.sandbox import Outcome

_TOO_SLOW = 10.0
"""Seconds of a run that is not made again on other rows."""


class ToEvaluate(Question, Required, LookedAt, Coding, Remedies):
    pass


class Evaluated(Judged, Trace):
    route: str


class Judgement(BaseModel):
    """The form of a model's reply."""

    model_config = ConfigDict(extra="ignore")
    valid: bool = Field(description="Whether the result answers the question by a sound method.")
    issues: list[str] = Field(default=[], json_schema_extra={"maxItems": 3})


async def evaluate_result(state: ToEvaluate, runtime: Runtime[Context]) -> Evaluated:
    context = runtime.context
    outcome = last_outcome(context, state["attempts"])
    warnings: list[dict[str, Any]] = []
    checks: list[AnalysisCheckData] = []
    if outcome is None or outcome.status != "ok":
        issues = [state["attempts"][-1]["error"] or "the code did not run"]
    else:
        checks, warnings = await _checked(context, state, outcome)
        # A check names values as the code did, or a table: those may give the next model orders.
        issues = [harmless(one["said"]) for one in checks if not one["passed"]]
    way, why = _way(context, state, issues)
    said = f"{sum(one['passed'] for one in checks)} of {len(checks)} checks passed."
    told = step("evaluate", said, issues=len(issues), route=(way, why))
    return {
        "checks": checks,
        "issues": issues,
        "route": way,
        "steps": [told],
        "warnings": warnings,
    }


def _way(  # noqa: PLR0911 - one line a reason
    context: Context, state: ToEvaluate, issues: list[str]
) -> tuple[str, str]:
    chosen, last = context.settings.analyst, state["attempts"][-1]
    if not issues:
        return "explain", "nothing speaks against the result"
    if last["status"] == STOPPED:
        return "explain", "nothing can be run"
    if not chosen.enable_remediation:
        return "explain", "remedies are switched off"
    if last["error"] == SAME:
        return "explain", "the same code again: no progress"
    if len(state["remedies"]) >= chosen.max_remediations:
        return "explain", f"{len(state['remedies'])} remedies have been tried"
    if not context.models.serves("code"):
        return "explain", "there is no model that could try otherwise"
    return "remediate", issues[0]


async def _checked(
    context: Context, state: ToEvaluate, outcome: Outcome
) -> tuple[list[AnalysisCheckData], list[dict[str, Any]]]:
    chosen = context.settings.analyst
    checks: list[AnalysisCheckData] = []
    warnings: list[dict[str, Any]] = []
    generated = state["query"] is None
    if chosen.enable_arithmetic:
        checks += await _by_arithmetic(context, state, outcome)
    sound = all(one["passed"] for one in checks)
    if generated and sound and chosen.enable_variation:
        checks += await _by_variation(context, state, outcome)
    if generated and sound and chosen.enable_recomputation:
        found, warnings = await _by_recomputation(context, state["question"], outcome)
        checks += found
    if all(one["passed"] for one in checks) and _is_judged(context, generated=generated):
        found, more = await _by_model(context, state, outcome)
        checks += found
        warnings = [*warnings, *more]
    return checks, warnings


async def _by_arithmetic(
    context: Context, state: ToEvaluate, outcome: Outcome
) -> list[AnalysisCheckData]:
    tables = await asked_tables(context, state["question"])
    profiles = {one.table.id: one.profile for one in tables}
    return arithmetic(
        state["question"], state["requirements"], outcome, profiles, state["resolved"]
    )


async def _by_variation(
    context: Context, state: ToEvaluate, outcome: Outcome
) -> list[AnalysisCheckData]:
    question, code = state["question"], state["attempts"][-1]["code"]
    if outcome.seconds > _TOO_SLOW:
        return []
    varied: list[Outcome] = []
    try:
        for at, vary in enumerate(wanted := variations(question, code)):
            varied.append(
                await asyncio.to_thread(run_code, context, question, code, vary=vary, seed=at + 1)
            )
    except SandboxError:  # it broke after it had worked: what it said stands
        return []
    return follows(question, code, outcome, list(zip(wanted, varied, strict=True)))


async def _by_recomputation(
    context: Context, question: str, outcome: Outcome
) -> tuple[list[AnalysisCheckData], list[dict[str, Any]]]:
    """Where our own code understands the question too."""
    try:
        tables = await asked_tables(context, question)
        read = await asyncio.to_thread(
            lambda: understand(question, tables, embed=embedding(context))
        )
        if read.best is None or read.best.operation is not None:
            return [], []
        query = queries(read.best)[0]
        computed = await asyncio.to_thread(desk_of(context).compute, query)
    except TableError as error:
        return [], [trouble("evaluate", error, "the result was not computed a second time")]
    found = agrees(query, computed, outcome)
    return ([found], []) if found is not None else ([], [])


def _is_judged(context: Context, *, generated: bool) -> bool:
    return (
        generated and context.settings.analyst.enable_judgement and context.models.serves("judge")
    )


async def _by_model(
    context: Context, state: ToEvaluate, outcome: Outcome
) -> tuple[list[AnalysisCheckData], list[dict[str, Any]]]:
    prompt = load("analyst_judge")
    holes = await shared_by(context, state)
    try:
        reply = await context.models.ask(
            prompt.role,
            prompt.render(
                **holes, code=state["attempts"][-1]["code"], result=result_shown(outcome)
            ),
            Judgement,
            node="evaluate",
            max_tokens=prompt.max_tokens,
            final=True,
        )
    except (ModelError, BudgetExceeded) as error:
        return [], [trouble("evaluate", error, "no model judged the method")]
    said = reply.value
    if said is None:
        return [], []
    issues = [" ".join(issue.split()) for issue in said.issues if issue.strip()]
    passed = said.valid or not issues
    told = "a model holds the method for sound" if passed else "; ".join(issues)
    return [AnalysisCheckData(name="judgement", passed=passed, said=told)], []
