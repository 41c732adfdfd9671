"""Says what a question needs: our own reading of it where there is one, else its variables, which
code resolves to columns that are there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from langgraph.runtime import Runtime  # noqa: TC002
from pydantic import BaseModel, ConfigDict, Field

from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes import desk
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import (
    LIKELY,
    after_remedy,
    asked_tables,
    embedding,
    fewest_rows,
    matched,
    measured,
    measures,
    resolver,
    shared,
)
from secondlook.nodes.explain import Explained  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.state import (
    Alignment,
    Analysed,
    Coding,
    GapData,
    Judged,
    LookedAt,
    Question,
    Remedies,
    Required,
    RequirementsData,
    Trace,
    step,
    trouble,
)
from secondlook.roles.prompts import load
from secondlook.tables.table import NUMERIC
from secondlook.tables.understand.interpreter import understand as read_question
from secondlook.tables.understand.readings import reading_data, wanted_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.tables.resolver import AskedTable, Resolver
    from secondlook.tables.table import TableProfile
    from secondlook.tables.understand.interpreter import Understanding
    from secondlook.tables.understand.readings import Wanted


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
    if not _revising(state) and context.settings.models.servers.query == "grammar" and tables:
        read = await asyncio.to_thread(_read, context, asked)
        if read.best is not None:
            return _understood(asked, read)
    requirements, warnings = await _formulated(context, asked, state)
    # What was not sure enough the first time may be the best there is.
    least = desk.LIKELY if _revising(state) else desk.SURE
    found = await asyncio.to_thread(
        lambda: desk.matched(asked.resolver, requirements["variables"], least=least)
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
    resolved = [desk.as_data(one) for one in best.resolved]
    variables = list(dict.fromkeys(one["column"] for one in resolved))
    told = step(
        "requirements",
        f"Read as: {best.said}.",
        doubt=best.doubt,
        by=desk.RULES,
        family=best.family,
    )
    return {
        "requirements": desk.required(asked.question, asked.wanted, variables),
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
    by_model = context.settings.models.servers.require == "model" or state["remedies"]
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
    named = desk.variables_named(asked.question)
    variables = list(dict.fromkeys([*named, *mentioned]))
    return desk.required(asked.question, asked.wanted, variables)


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


# Checks by code that the data can give what the question needs: columns are there, their types
# fit, there are enough rows. A gap goes back to whoever can close it, twice at most.

_NUMBERS_NEEDED = frozenset({"correlation", "regression", "outliers"})


class ToAlign(Question, Required, LookedAt, Alignment):
    pass


class Aligned(Alignment, Trace):
    route: str


async def align(state: ToAlign, runtime: Runtime[Context]) -> Aligned:
    context = runtime.context
    tables = await asked_tables(context, state["question"])
    profiles = {one.table.id: one.profile for one in tables}
    gaps = _gaps(state, profiles)
    count = state["alignments"] + 1
    way, why = _way(state, gaps, count, most=context.settings.analyst.max_alignments)
    if way == "code" and not context.models.serves("code"):
        way, why = "limitation", "no model is there that could write code"
    said = "The data can give what is needed." if not gaps else " ".join(g["said"] for g in gaps)
    told = step("align", said, gaps=len(gaps), alignments=count, route=(way, why))
    return {"gaps": gaps, "alignments": count, "route": way, "steps": [told], "warnings": []}


def _way(state: ToAlign, gaps: Sequence[GapData], count: int, *, most: int) -> tuple[str, str]:
    kinds = {gap["kind"] for gap in gaps}
    if not gaps:
        return ("compute" if state["query"] is not None else "code"), "no gap"
    if "nothing" in kinds:
        return "limitation", "a gap that nothing can close"
    if count >= most:
        return "limitation", f"checked {count} times, and a gap is left"
    if "requirements" in kinds:
        return "requirements", "something is asked for that is not there by that name"
    if all(_was_looked_at(state, gap) for gap in gaps):
        return "limitation", "a closer look found nothing more"
    return "profile", "the columns must be looked at more closely"


def _was_looked_at(state: ToAlign, gap: GapData) -> bool:
    return any(one["column"] == gap["variable"] for one in state["looked"])


def _gaps(state: ToAlign, profiles: Mapping[str, TableProfile]) -> list[GapData]:
    if not profiles:
        return [_gap("nothing", "", "There is no table to ask.")]
    requirements = state["requirements"]
    gaps = [
        _gap("requirements", name, f"No column is called {name!r}, or anything like it.")
        for name in state["unresolved"]
    ]
    kind = requirements["analysis"] if requirements else ""
    if state["query"] is None:  # our own reading has looked at types itself
        gaps += _wrong_types(state, profiles, kind)
    return gaps + _too_few(state, profiles, fewest_rows(kind))


def _wrong_types(state: ToAlign, profiles: Mapping[str, TableProfile], kind: str) -> list[GapData]:
    if kind not in _NUMBERS_NEEDED:
        return []
    gaps = []
    for one in state["resolved"]:
        profile = profiles.get(one["table"])
        column = profile.column(one["column"]) if profile else None
        if column is None or column.type in NUMERIC or _is_known(state, one["column"]):
            continue
        said = f"{one['column']!r} holds {column.type}, and a {kind} needs numbers."
        gaps.append(_gap("data", one["column"], said))
    return gaps


def _is_known(state: ToAlign, column: str) -> bool:
    """Whoever writes code has been told how its values look: that may be enough."""
    return any(one["column"] == column for one in state["looked"])


def _too_few(state: ToAlign, profiles: Mapping[str, TableProfile], fewest: int) -> list[GapData]:
    used = {one["table"] for one in state["resolved"]} or set(profiles)
    rows = max((profiles[table].rows for table in used if table in profiles), default=0)
    if rows >= fewest:
        return []
    return [_gap("nothing", "", f"There are {rows} rows, and it takes at least {fewest}.")]


def _gap(kind: str, variable: str, said: str) -> GapData:
    return GapData(kind=kind, variable=variable, said=said)  # type: ignore[typeddict-item]


# Says what the tables cannot answer, what is missing, and what could be asked instead.

_SUGGESTED = 3


async def limit(state: Analysed, runtime: Runtime[Context]) -> Explained:
    tables = await asked_tables(runtime.context, state["question"])
    missing = " ".join(gap["said"] for gap in state["gaps"]) or await asyncio.to_thread(
        _unread, runtime.context, state["question"], tables
    )
    instead = _instead(tables)
    draft = {
        **withheld("no_evidence", reasons=[gap["said"] for gap in state["gaps"]]),
        "note": " ".join(part for part in (missing, instead) if part),
    }
    told = step("limitation", "The tables cannot answer this.", gaps=len(state["gaps"]))
    return {
        "draft": draft,  # type: ignore[typeddict-item]
        "assumed": None,
        "asks_back": None,
        "steps": [told],
        "warnings": [],
    }


def _unread(context: Context, question: str, tables: Sequence[AskedTable]) -> str:
    found = matched(resolver(context, tables), measured(question), least=LIKELY) if tables else None
    if found is not None and found.unresolved:
        names = ", ".join(map(repr, found.unresolved))
        return f"No column is called {names}, or anything like it."
    hint = (
        " Name a model that can write code, such as --model gguf:FILE, to have others answered."
        if not context.models.serves("code")
        else ""
    )
    return f"The question is none of those, in English, that are computed without a model.{hint}"


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
