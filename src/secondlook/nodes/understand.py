"""Tells a question about a concept from one that needs the data: by its words and by the columns it
names; a model is asked only where those are silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations
from pydantic import BaseModel, Field

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError, TableError
from secondlook.nodes.analysing.at_hand import asked_tables, resolver
from secondlook.nodes.analysing.requiring import RULES
from secondlook.nodes.analysing.showing import shared
from secondlook.nodes.concepts import asks_for_concept, asks_for_data
from secondlook.prompts import load
from secondlook.state import Question, Trace, Understood, Work, step, trouble

if TYPE_CHECKING:
    from secondlook.tables.resolving import AskedTable

_SAID: dict[Work, str] = {
    "data": "The question is about the data.",
    "concept": "The question asks what something means.",
}


class Told(Understood, Trace):
    route: str


class WorkNeeded(BaseModel):
    """The form of a model's reply."""

    work: Literal["data", "concept"] = Field(description="What the question needs.")


async def understand(state: Question, runtime: Runtime[Context]) -> Told:
    work, by, why, warnings = await _understood(runtime.context, state["question"])
    told = step("understand", _SAID[work], by=by, why=why, route=(work, why))
    return {
        "work": work,
        "understood_by": by,
        "route": work,
        "steps": [told],
        "warnings": warnings,
    }


async def _understood(
    context: Context, question: str
) -> tuple[Work, str, str, list[dict[str, Any]]]:
    concept, data = asks_for_concept(question), asks_for_data(question)
    if data and not concept:
        return "data", RULES, "it asks for a measure", []
    try:
        tables = await asked_tables(context, question)
    except TableError as error:
        told = trouble("understand", error, "the question was understood without its tables")
        return "concept" if concept else "data", RULES, "by its words alone", [told]
    named = bool(resolver(context, tables).mentions(question)) if tables else False
    if concept and not named:
        return "concept", RULES, "it asks what something means and names no column", []
    if named and not concept:
        return "data", RULES, "it names a column", []
    return await _asked(
        context, question, tables, unsure="concept" if concept and not data else "data"
    )


async def _asked(
    context: Context, question: str, tables: tuple[AskedTable, ...], *, unsure: Work
) -> tuple[Work, str, str, list[dict[str, Any]]]:
    if not context.models.serves("understand") or not tables:
        return unsure, RULES, "the signs are unclear", []
    prompt = load("analyst_understand")
    try:
        holes = await shared(context, question)
        reply = await context.models.ask(
            prompt.role,
            prompt.render(**{hole: holes[hole] for hole in prompt.holes}),
            WorkNeeded,
            node="understand",
            max_tokens=prompt.max_tokens,
        )
    except (ModelError, BudgetExceeded) as error:
        return unsure, RULES, "the signs are unclear", [trouble("understand", error, "rules told")]
    work: Work = reply.value.work if reply.value else unsure
    return work, context.models.name("understand"), "a model says so", []
