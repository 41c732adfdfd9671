"""A reading of our own computed: by the step that answers, and again by who verifies it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secondlook.errors import TableError
from secondlook.nodes.charting import chart_of
from secondlook.sandbox import Failure, Frame, Outcome
from secondlook.tables.asking import queries, values_of, wanted_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Desk
    from secondlook.tables.asking import Reading
    from secondlook.tables.query import Computed


def computed_outcome(
    desk: Desk, question: str, reading: Reading, *, charts: bool = True
) -> tuple[Outcome, str]:
    """What it came to, with a chart where one is asked for, and the SQL behind it. Never raises for
    what the tables cannot do."""
    try:
        computed = [desk.compute(one) for one in queries(reading)]
    except TableError as error:
        failure = Failure(kind=type(error).__name__, message=error.message)
        return Outcome("error", failure=failure), reading.said
    values: dict[str, Any] = values_of(reading, computed, wanted_of(question))
    sql = ";\n".join(one.sql for one in computed)
    drawn = chart_of(question, reading, computed, desk) if charts else None
    outcome = Outcome(
        "ok",
        result=values,
        has_result=True,
        frame=_frame(computed),
        figures=() if drawn is None else (drawn,),
    )
    return outcome, sql


def _frame(computed: Sequence[Computed]) -> Frame | None:
    """What the first query found, where that is more than one value."""
    first = computed[0]
    if len(first.rows) * len(first.columns) <= 1:
        return None
    rows = tuple(tuple(row) for row in first.rows)
    return Frame(columns=first.columns, rows=rows, total_rows=first.total_rows)
