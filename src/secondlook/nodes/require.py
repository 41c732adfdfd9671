"""Says what a question needs: our own reading of it where there is one, else its variables, which
code resolves to columns that are there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations
from pydantic import BaseModel, ConfigDict, Field

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes.analysing import requiring
from secondlook.nodes.analysing.again import after_remedy
from secondlook.nodes.analysing.at_hand import asked_tables, embedding, resolver
from secondlook.nodes.analysing.showing import shared
from secondlook.prompts import load
from secondlook.state import (
    Alignment,
    Coding,
    Judged,
    Question,
    Remedies,
    Required,
    RequirementsData,
    Trace,
    step,
    trouble,
)
from secondlook.tables.asking import reading_data, wanted_of
from secondlook.tables.asking import understand as read_question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.asking import Understanding
    from secondlook.tables.asking.port import Wanted
    from secondlook.tables.resolving import AskedTable, Resolver


class ToRequire(Question, Required, Alignment, Coding, Judged, Remedies):
    pass


class Formulated(Required, Trace):
    pass


_Listed = Annotated[list[str], Field(json_schema_extra={"maxItems": 8})]


class Formulation(BaseModel):
    """The form of a model's reply."""

    model_config = ConfigDict(extra="ignore")
    variables: _Listed = []
    constraints: _Listed = []
    analysis: str = ""
    success: str = ""


@dataclass(frozen=True, slots=True)
class _Asked:
    question: str
    wanted: Wanted
    tables: Sequence[AskedTable]
    resolver: Resolver


async def require(state: ToRequire, runtime: Runtime[Context]) -> Formulated:
    context, question = runtime.context, state["question"]
    tables = await asked_tables(context, question)
    asked = _Asked(question, wanted_of(question), tables, resolver(context, tables))
    if not _revising(state) and context.settings.analyst.enable_grammar and tables:
        read = await asyncio.to_thread(_read, context, asked)
        if read.best is not None:
            return _understood(asked, read)
    requirements, warnings = await _formulated(context, asked, state)
    # What was not sure enough the first time may be the best there is.
    least = requiring.LIKELY if _revising(state) else requiring.SURE
    found = await asyncio.to_thread(
        lambda: requiring.matched(asked.resolver, requirements["variables"], least=least)
    )
    said = f"Needs {', '.join(requirements['variables']) or 'no column by name'}."
    told = step(
        "requirements",
        said,
        analysis=requirements["analysis"],
        by=requirements["by"],
        resolved=len(found.resolved),
        unresolved=", ".join(found.unresolved),
    )
    return {
        "requirements": requirements,
        "resolved": found.resolved,
        "unresolved": found.unresolved,
        "query": None,
        "reading": "",
        "doubt": 1.0,
        "steps": [told],
        "warnings": warnings,
    }


def _revising(state: ToRequire) -> bool:
    return state["requirements"] is not None


def _read(context: Context, asked: _Asked) -> Understanding:
    return read_question(
        asked.question, asked.tables, embed=embedding(context), wanted=asked.wanted
    )


def _understood(asked: _Asked, read: Understanding) -> Formulated:
    best = read.best
    assert best is not None  # noqa: S101 - the caller has looked
    resolved = [requiring.as_data(one) for one in best.resolved]
    variables = list(dict.fromkeys(one["column"] for one in resolved))
    told = step(
        "requirements",
        f"Read as: {best.said}.",
        doubt=best.doubt,
        by=requiring.RULES,
        family=best.family,
    )
    return {
        "requirements": requiring.required(asked.question, asked.wanted, variables),
        "resolved": resolved,
        "unresolved": [],
        "query": reading_data(best),
        "reading": best.said,
        "doubt": best.doubt,
        "steps": [told],
        "warnings": [],
    }


async def _formulated(
    context: Context, asked: _Asked, state: ToRequire
) -> tuple[RequirementsData, list[dict[str, Any]]]:
    by_rules = await asyncio.to_thread(_by_rules, asked)
    by_model = context.settings.analyst.requirements == "model" or state["remedies"]
    if not (by_model and context.models.serves("require") and asked.tables):
        return by_rules, []
    try:
        said = await _said(context, asked, state)
    except (ModelError, BudgetExceeded) as error:
        return by_rules, [trouble("requirements", error, "rules told what the question needs")]
    return {
        **by_rules,
        "variables": [name.strip() for name in said.variables if name.strip()],
        "constraints": said.constraints,
        "analysis": said.analysis or by_rules["analysis"],
        "success": said.success or by_rules["success"],
        "by": context.models.name("require"),
    }, []


def _by_rules(asked: _Asked) -> RequirementsData:
    mentioned = [one.resolved.asked for one in asked.resolver.mentions(asked.question)]
    named = requiring.variables_named(asked.question)
    variables = list(dict.fromkeys([*named, *mentioned]))
    return requiring.required(asked.question, asked.wanted, variables)


async def _said(context: Context, asked: _Asked, state: ToRequire) -> Formulation:
    prompt = load("analyst_require")
    holes = await shared(context, asked.question)
    reply = await context.models.ask(
        prompt.role,
        prompt.render(tables=holes["tables"], question=holes["question"], again=_again(state)),
        Formulation,
        node="requirements",
        max_tokens=prompt.max_tokens,
    )
    return reply.value or Formulation()


def _again(state: ToRequire) -> str:
    """What was wrong with the last formulation."""
    before = state["requirements"]
    if before is None:
        return ""
    lines = ["", "", f"You asked for: {', '.join(before['variables']) or 'nothing'}."]
    lines += [gap["said"] for gap in state["gaps"]]
    return "\n".join(lines) + after_remedy(state["remedies"], state["attempts"], state["issues"])
