"""Checks by code that the data can give what the question needs: columns are there, their types
fit, there are enough rows. A gap goes back to whoever can close it, twice at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.analysing.at_hand import asked_tables
from secondlook.nodes.analysing.requiring import fewest_rows
from secondlook.state import Alignment, GapData, LookedAt, Question, Required, Trace, step
from secondlook.tables.table import NUMERIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.tables.table import TableProfile

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
