"""Says what a question needs, checks that the tables have it, and explains where they do not."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Annotated, Any

from langgraph.runtime import Runtime  # noqa: TC002
from pydantic import BaseModel, ConfigDict, Field

from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import RULES, after_remedy, ask, asked_tables, measures, resolver
from secondlook.nodes.explain import Explained  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.state import (
    Alignment,
    Analysed,
    GapData,
    Required,
    RequirementsData,
    ResolvedData,
    Trace,
    step,
    trouble,
)
from secondlook.tables.table import NUMERIC, TableProfile
from secondlook.tables.understand.charts import asks_for_chart
from secondlook.tables.understand.interpreter import understand as read_question
from secondlook.tables.understand.readings import Reading, Wanted, reading_data, wanted_of
from secondlook.tables.words import without_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from secondlook.tables.resolver import AskedTable, Resolved

MOST_ALIGNMENTS = 2  # times that the columns are held against what is asked for
_SURE = 0.8  # From this score on a column is taken for what was meant at the first try
_LIKELY = 0.5  # The same once it is known that no better one is there


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


async def require(state: Analysed, runtime: Runtime[Context]) -> Formulated:
    """Our own reading of the question where there is one; else the columns that it names."""
    context, question = runtime.context, state["question"]
    tables = await asked_tables(context, question)
    wanted, columns = wanted_of(question), resolver(context, tables)
    revising = state["requirements"] is not None
    best: Reading | None = None
    if not revising and context.settings.models.servers.query == "grammar" and tables:
        read = await asyncio.to_thread(lambda: read_question(question, tables, wanted=wanted))
        best = read.best
    unresolved: list[str] = []
    warnings: list[dict[str, Any]] = []
    if best is not None:
        resolved = [_resolved(one) for one in best.resolved]
        requirements = _by_rules(question, wanted, [one["column"] for one in resolved])
        told = step("requirements", f"Read as: {best.said}.", doubt=best.doubt, by=RULES)
    else:
        mentions = await asyncio.to_thread(columns.mentions, question)
        named = [found[1].strip() for found in _QUOTED.finditer(question)]
        named += [one.resolved.asked for one in mentions]
        requirements = _by_rules(question, wanted, filter(None, named))
        by_model = context.settings.models.servers.require == "model" or state["remedies"]
        if by_model and context.models.serves("require") and tables:
            requirements, warnings = await _formulated(context, requirements, state)
        # What was not sure enough the first time may be the best there is.
        least = _LIKELY if revising else _SURE
        resolved = []
        for variable in requirements["variables"]:
            near = next(iter(await asyncio.to_thread(columns.column, variable)), None)
            if near is not None and near.score >= least:
                resolved.append(_resolved(near))
            else:
                unresolved.append(variable)
        told = step(
            "requirements",
            f"Needs {', '.join(requirements['variables']) or 'no column by name'}.",
            analysis=requirements["analysis"],
            by=requirements["by"],
            resolved=len(resolved),
            unresolved=", ".join(unresolved),
        )
    return {
        "requirements": requirements,
        "resolved": resolved,
        "unresolved": unresolved,
        "query": None if best is None else reading_data(best),
        "reading": "" if best is None else best.said,
        "doubt": 1.0 if best is None else best.doubt,
        "steps": [told],
        "warnings": warnings,
    }


async def _formulated(
    context: Context, by_rules: RequirementsData, state: Analysed
) -> tuple[RequirementsData, list[dict[str, Any]]]:
    again = ""
    if (before := state["requirements"]) is not None:  # what was wrong with the last formulation
        lines = ["", "", f"You asked for: {', '.join(before['variables']) or 'nothing'}."]
        again = "\n".join([*lines, *(gap["said"] for gap in state["gaps"])])
        again += after_remedy(state)
    try:
        reply = await ask(context, "require", "requirements", state, Formulation, again=again)
    except (ModelError, BudgetExceeded) as error:
        return by_rules, [trouble("requirements", error, "rules told what the question needs")]
    said = reply.value or Formulation()
    return {
        **by_rules,
        "variables": [name.strip() for name in said.variables if name.strip()],
        "constraints": said.constraints,
        "analysis": said.analysis or by_rules["analysis"],
        "success": said.success or by_rules["success"],
        "by": context.models.name("require"),
    }, []


# What a question over tables needs, by its words.

_KINDS: tuple[tuple[str, str], ...] = (
    ("correlation", r"correlat\w*"),
    ("regression", r"regress\w*|predict\w*|linear model|coefficient of determination|r-?squared"),
    ("classification", r"classif\w*|logistic|decision tree|random forest|accuracy"),
    ("test", r"t-?test|anova|chi-?squared?|p-?value|shapiro|kolmogorov|significan\w*|normality"),
    ("distribution", r"distribut\w*|skew\w*|kurtosis|histogram|normally"),
    ("outliers", r"outliers?|z-?scores?|anomal\w*"),
    ("missing", r"missing|null values?|nan\b|empty cells?"),
    ("trend", r"trends?|time series|slope"),
    ("group", r"\b(?:for|per|by) each\b|grouped? by|per (?:year|month|day)|breakdown"),
)


_QUOTED = re.compile(
    r"[\"\u201c'`\u2018]([^\"\u201d'`\u2019\n]{1,60})[\"\u201d'`\u2019]\s+(?:column|variable|field)s?\b",
    re.IGNORECASE,
)
"""What the question itself calls a column."""


def _by_rules(question: str, wanted: Wanted, variables: Iterable[str]) -> RequirementsData:
    names, named = list(wanted.names), list(dict.fromkeys(variables))
    text = without_names(question, named).casefold()
    kinds = (kind for kind, words in _KINDS if re.search(rf"\b(?:{words})", text))
    success = "a chart of the data" if asks_for_chart(question) else "the value or values asked for"
    return RequirementsData(
        variables=named,
        constraints=[],
        analysis=next(kinds, "visualization" if asks_for_chart(question) else "descriptive"),
        success=f"a value for each of: {', '.join(names)}" if names else success,
        wanted=names,
        by=RULES,
    )


def _resolved(one: Resolved) -> ResolvedData:
    return ResolvedData(
        asked=one.asked, table=one.table, column=one.column, score=round(one.score, 4), how=one.how
    )


# Checks by code that the data can give what the question needs: columns are there, their types
# fit, there are enough rows. A gap goes back to the step that can close it, twice at most.

_NUMBERS_NEEDED = frozenset({"correlation", "regression", "outliers"})
_FEWEST = {"correlation": 3, "regression": 5, "classification": 5, "test": 3, "trend": 2}
"""Rows below which an analysis of that kind says nothing."""


class Aligned(Alignment, Trace):
    route: str


async def align(state: Analysed, runtime: Runtime[Context]) -> Aligned:
    context = runtime.context
    tables = await asked_tables(context, state["question"])
    gaps = _gaps(state, {one.table.id: one.profile for one in tables})
    count, kinds = state["alignments"] + 1, {gap["kind"] for gap in gaps}
    looked = {one["column"] for one in state["looked"]}
    way, why = "limitation", "a closer look found nothing more"
    if not gaps:
        way, why = ("compute" if state["query"] is not None else "code"), "no gap"
        if way == "code" and not context.models.serves("code"):
            way, why = "limitation", "no model is there that could write code"
    elif "nothing" in kinds:
        why = "a gap that nothing can close"
    elif count >= MOST_ALIGNMENTS:
        why = f"checked {count} times, and a gap is left"
    elif "requirements" in kinds:
        way, why = "requirements", "something is asked for that is not there by that name"
    elif not all(gap["variable"] in looked for gap in gaps):
        way, why = "profile", "the columns must be looked at more closely"
    said = "The data can give what is needed." if not gaps else " ".join(g["said"] for g in gaps)
    told = step("align", said, gaps=len(gaps), alignments=count, route=(way, why))
    return {"gaps": gaps, "alignments": count, "route": way, "steps": [told], "warnings": []}


def _gaps(state: Analysed, profiles: Mapping[str, TableProfile]) -> list[GapData]:
    if not profiles:
        return [GapData(kind="nothing", variable="", said="There is no table to ask.")]
    gaps = [
        GapData(
            kind="requirements",
            variable=name,
            said=f"No column is called {name!r}, or anything like it.",
        )
        for name in state["unresolved"]
    ]
    kind = state["requirements"]["analysis"] if state["requirements"] else ""
    looked = {one["column"] for one in state["looked"]}
    # Our own reading has looked at types itself; a model that has seen the values may do without.
    if state["query"] is None and kind in _NUMBERS_NEEDED:
        for one in state["resolved"]:
            profile, name = profiles.get(one["table"]), one["column"]
            column = profile.column(name) if profile else None
            if column is not None and column.type not in NUMERIC and name not in looked:
                said = f"{name!r} holds {column.type}, and a {kind} needs numbers."
                gaps.append(GapData(kind="data", variable=name, said=said))
    used = {one["table"] for one in state["resolved"]} or set(profiles)
    rows = max((profiles[table].rows for table in used if table in profiles), default=0)
    if rows < (fewest := _FEWEST.get(kind, 1)):
        said = f"There are {rows} rows, and it takes at least {fewest}."
        gaps.append(GapData(kind="nothing", variable="", said=said))
    return gaps


# Says what the tables cannot answer, what is missing, and what could be asked instead.

_SUGGESTED = 3
_NO_MODEL = (
    "I can't calculate this without a language model. Name one that can write code, such as "
    "--model gguf:FILE."
)


async def limit(state: Analysed, runtime: Runtime[Context]) -> Explained:
    context, gaps = runtime.context, [gap["said"] for gap in state["gaps"]]
    tables = await asked_tables(context, state["question"])
    missing = " ".join(gaps)
    if not missing:
        found = None
        if tables:
            found = await asyncio.to_thread(read_question, state["question"], tables)
        missing = found.why if found is not None and found.refused else _NO_MODEL
    note = " ".join(part for part in (missing, _instead(tables)) if part)
    told = step("limitation", "The tables cannot answer this.", gaps=len(gaps))
    return {
        "draft": {**withheld("no_evidence", reasons=gaps), "note": note},
        "assumed": None,
        "asks_back": None,
        "steps": [told],
        "warnings": [],
    }


def _instead(tables: Sequence[AskedTable]) -> str:
    if not tables:
        return "Add a table with `secondlook add sales.csv`."
    first = tables[0]
    numbers = measures(tables[:1])
    groups = [one.name for one in first.profile.columns if one.type == "text" and one.top]
    asked = [f"the mean of {name}" for name in numbers[:_SUGGESTED]]
    if numbers and groups:
        asked.append(f"the mean of {numbers[0]} for each {groups[0]}")
    if not asked:
        asked = [f"how many rows {first.table.name} has"]
    return f"You could ask for {', '.join(asked[:-1])}{' or ' if asked[1:] else ''}{asked[-1]}."
