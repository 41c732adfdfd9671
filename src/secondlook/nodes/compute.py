"""Computes a question that our own code understands, without any model."""

from __future__ import annotations

import asyncio

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.analysing.at_hand import desk_of
from secondlook.nodes.analysing.computing import computed_outcome
from secondlook.nodes.analysing.outcomes import keep
from secondlook.state import AttemptData, Coding, Question, Required, Trace, step
from secondlook.tables.asking import queries, reading_from


class ToCompute(Question, Required, Coding):
    pass


class Ran(Coding, Trace):
    route: str


async def compute(state: ToCompute, runtime: Runtime[Context]) -> Ran:
    context = runtime.context
    reading = reading_from(state["query"] or {})
    desk = desk_of(context)
    outcome, sql = await asyncio.to_thread(
        computed_outcome,
        desk,
        state["question"],
        reading,
        charts=context.settings.analyst.enable_charts,
    )
    failure = outcome.failure
    attempt = AttemptData(
        code=sql,
        status=outcome.status,
        error=failure.message if failure else None,
        line=None,
        kept=keep(context, sql, outcome),
    )
    said = f"Computed: {reading.said}." if failure is None else f"Failed: {failure.message}."
    told = step("compute", said, queries=len(queries(reading)), ok=failure is None)
    return {
        "attempts": [*state["attempts"], attempt],
        "tries": state["tries"] + 1,
        "route": "evaluate",
        "steps": [told],
        "warnings": [],
    }
