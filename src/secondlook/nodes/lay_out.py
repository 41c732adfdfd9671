"""Lays the tables out that a question may be asked over, and begins the analysis."""

from __future__ import annotations

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.analysing.at_hand import tables_of
from secondlook.state import Analysed, Question, Trace, step

_NAMED = 5


class LaidOut(Analysed, Trace):
    pass


async def lay_out(state: Question, runtime: Runtime[Context]) -> LaidOut:
    tables = tables_of(runtime.context)
    names = ", ".join(table.name for table in tables[:_NAMED])
    more = f" and {len(tables) - _NAMED} more" if len(tables) > _NAMED else ""
    said = f"Tables at hand: {names}{more}." if tables else "There are no tables."
    told = step("lay_out", said, tables=len(tables), rows=sum(table.rows for table in tables))
    return {
        "question": state["question"],
        "scope": state["scope"],
        "work": "data",
        "understood_by": "nobody",
        "requirements": None,
        "resolved": [],
        "unresolved": [],
        "query": None,
        "reading": "",
        "doubt": 1.0,
        "looked": [],
        "gaps": [],
        "alignments": 0,
        "attempts": [],
        "tries": 0,
        "checks": [],
        "issues": [],
        "remedies": [],
        "steps": [told],
        "warnings": [],
    }
