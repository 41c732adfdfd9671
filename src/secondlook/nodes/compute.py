"""Computes a question that our own code understands, without any model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import TableError
from secondlook.nodes.analysing.at_hand import desk_of
from secondlook.nodes.analysing.outcomes import keep
from secondlook.sandbox import Failure, Frame, Outcome
from secondlook.state import AttemptData, Coding, Question, Required, Trace, step
from secondlook.tables.asking import queries, reading_from, values_of, wanted_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.asking.port import Reading
    from secondlook.tables.query import Computed


class ToCompute(Question, Required, Coding):
    pass


class Ran(Coding, Trace):
    route: str


async def compute(state: ToCompute, runtime: Runtime[Context]) -> Ran:
    context = runtime.context
    reading = reading_from(state["query"] or {})
    outcome, sql = await _outcome(context, state["question"], reading)
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


async def _outcome(context: Context, question: str, reading: Reading) -> tuple[Outcome, str]:
    desk = desk_of(context)
    try:
        computed = [await asyncio.to_thread(desk.compute, one) for one in queries(reading)]
    except TableError as error:
        failure = Failure(kind=type(error).__name__, message=error.message)
        return Outcome("error", failure=failure), reading.said
    values: dict[str, Any] = values_of(reading, computed, wanted_of(question))
    sql = ";\n".join(one.sql for one in computed)
    return Outcome("ok", result=values, has_result=True, frame=_frame(computed)), sql


def _frame(computed: Sequence[Computed]) -> Frame | None:
    """What the first query found, where that is more than one value."""
    first = computed[0]
    if len(first.rows) * len(first.columns) <= 1:
        return None
    rows = tuple(tuple(row) for row in first.rows)
    return Frame(columns=first.columns, rows=rows, total_rows=first.total_rows)
