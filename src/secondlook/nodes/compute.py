"""Computes a question that our own code understands, without any model."""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any, Final, cast

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.answer import AnalysisFigure, ResultTable
from secondlook.errors import TableError
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import desk_of, keep
from secondlook.nodes.state import Analysed, AttemptData, Coding, Trace, step
from secondlook.sandbox.port import Failure, Figure, Frame, Outcome
from secondlook.tables.query import Filter, Query
from secondlook.tables.table import TEMPORAL
from secondlook.tables.understand.charts import asks_for_chart
from secondlook.tables.understand.readings import queries, reading_from, values_of, wanted_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.nodes.context import Desk
    from secondlook.sandbox.port import Plain
    from secondlook.tables.query import Computed, Measure
    from secondlook.tables.understand.readings import Reading, Wanted


class Ran(Coding, Trace):
    route: str


async def compute(state: Analysed, runtime: Runtime[Context]) -> Ran:
    context = runtime.context
    reading = reading_from(state["query"] or {})
    desk, question = desk_of(context), state["question"]
    outcome, sql = await asyncio.to_thread(computed_outcome, desk, question, reading)
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


def computed_outcome(
    desk: Desk, question: str, reading: Reading, *, charts: bool = True
) -> tuple[Outcome, str]:
    """A reading's values, its chart, and the SQL. Never raises for what tables cannot do."""
    try:
        computed = [desk.compute(one) for one in queries(reading)]
    except TableError as error:
        failure = Failure(kind=type(error).__name__, message=error.message)
        return Outcome("error", failure=failure), reading.said
    first, frame = computed[0], None
    if len(first.rows) * len(first.columns) > 1:
        rows = tuple(tuple(row) for row in first.rows)
        frame = Frame(columns=first.columns, rows=rows, total_rows=first.total_rows)
    drawn = _chart_of(question, reading, computed, desk) if charts else None
    outcome = Outcome(
        "ok",
        result=cast("Plain", values_of(reading, computed, wanted_of(question))),
        has_result=True,
        frame=frame,
        figures=() if drawn is None else (drawn,),
    )
    return outcome, ";\n".join(one.sql for one in computed)


# From an outcome to named values.

RESULT = "result"
_MOST_NAMED = 50


def named_values(outcome: Outcome, wanted: Wanted) -> dict[str, Plain]:
    """Values by the names that the question gave them, else by those that the code did."""

    def plain(name: str) -> str:
        return "".join(char for char in name.casefold() if char.isalnum())

    found: dict[str, Plain] = {}
    frame = outcome.frame
    if isinstance(outcome.result, dict):
        found = dict(outcome.result)
    elif outcome.result is not None:
        found = {RESULT: outcome.result}
    elif frame is not None and len(frame.rows) == 1 == frame.total_rows:  # a value a column
        found = dict(zip(frame.columns, frame.rows[0], strict=True))
    elif frame is not None and frame.total_rows <= _MOST_NAMED:
        if len(frame.columns) == 2:  # noqa: PLR2004 - the second by the first
            found = {str(row[0]): row[1] for row in frame.rows}
        elif len(frame.columns) == 1:
            found = {frame.columns[0]: [row[0] for row in frame.rows]}
    if len(wanted.names) == 1 and len(found) == 1:
        found = {wanted.names[0]: next(iter(found.values()))}
    elif wanted.names:  # names that differ only in how they are written are the wanted ones
        by_plain = {plain(name): value for name, value in found.items()}
        named = {name: by_plain[plain(name)] for name in wanted.names if plain(name) in by_plain}
        found = named or found
    return {name: _rounded(value, wanted.decimals) for name, value in found.items()}


def _rounded(value: Plain, decimals: int | None) -> Plain:
    if isinstance(value, float) and decimals is not None:
        return round(value, decimals)
    if isinstance(value, list):
        return [_rounded(one, decimals) for one in value]
    if isinstance(value, dict):
        return {name: _rounded(one, decimals) for name, one in value.items()}
    return value


# An outcome in the form in which an answer holds it.


def as_json(value: Any) -> Any:
    """Numbers that JSON has no word for become words."""
    return json.loads(json.dumps(value, default=str), parse_constant=str)


def result_table(outcome: Outcome | None) -> ResultTable | None:
    """A cell without a number is empty; JSON has no word for infinity either."""

    def cell(value: Plain) -> Scalar:
        if isinstance(value, list | dict):
            return str(value)
        if isinstance(value, float) and not math.isfinite(value):
            return None if math.isnan(value) else str(value)
        return value

    if outcome is None or outcome.frame is None:
        return None
    frame = outcome.frame
    rows = tuple(tuple(map(cell, row)) for row in frame.rows)
    return ResultTable(columns=frame.columns, rows=rows, total_rows=frame.total_rows)


def figures_of(outcome: Outcome | None) -> tuple[AnalysisFigure, ...]:
    found: list[AnalysisFigure] = []
    for figure in outcome.figures if outcome else ():
        if figure.kind == "png":
            found.append(AnalysisFigure(kind="png", data=figure.data))
            continue
        data = json.loads(figure.data, parse_constant=lambda _: None)
        layout = data.get("layout") if isinstance(data, dict) else None
        layout = layout if isinstance(layout, dict) else {}
        layout.setdefault("colorway", list(OKABE_ITO))  # generated code may have chosen its own
        title = layout.get("title", {})
        text = str(title.get("text", "") if isinstance(title, dict) else title or "")
        found.append(AnalysisFigure(kind="plotly", title=text, data=data))
    return tuple(found)


# Which chart shows a result: bars for groups, a line over time, points for a correlation.

_MOST_POINTS = 2_000
_MOST_TRACES = 6
_PAIRED = frozenset({"correlation", "correlation_p", "covariance"})
_IN_ORDER = frozenset({"year", "quarter", "month", "hour", "year_month", "year_quarter"})


def _chart_of(
    question: str, reading: Reading, computed: Sequence[Computed], desk: Desk
) -> Figure | None:
    """None where no chart is asked for, or none shows such a result."""
    if not asks_for_chart(question) or not computed:
        return None
    query = reading.query
    if len(query.group_by) == 1 and computed[0].rows:
        return _of_groups(reading, computed[0], desk)
    paired = [one for one in query.measures if one.statistic in _PAIRED]
    if paired and not query.group_by:
        return _of_pairs(reading, paired[0], desk)
    return None


def _of_groups(reading: Reading, computed: Computed, desk: Desk) -> Figure:
    key = reading.query.group_by[0]
    shown = [one.name for one in reading.query.measures]
    if reading.outputs:  # a histogram's order is no part of what it shows
        shown = [one.measure for one in reading.outputs if one.measure in shown] or shown
    over_time = key.part in _IN_ORDER
    if key.part is None:
        table = next((one for one in desk.tables() if one.id == reading.query.table), None)
        types = {one.name: one.type for one in table.columns} if table else {}
        over_time = types.get(key.column) in TEMPORAL
    kind = {"type": "scatter", "mode": "lines+markers"} if over_time else {"type": "bar"}
    x = [row[0] if row[0] is not None else "missing" for row in computed.rows]
    traces = []
    for name in shown[:_MOST_TRACES]:
        at = computed.columns.index(name)
        traces.append({**kind, "name": name, "x": x, "y": [row[at] for row in computed.rows]})
    named = f"{key.column} ({key.part.removeprefix('year_')})" if key.part else key.column
    more = {"bargap": 0.02} if key.bins else {}
    axis = {} if key.bins or over_time else {"type": "category"}
    y = shown[0] if len(shown) == 1 else ""
    return _figure(traces, reading.said, {"title": {"text": named}, **axis}, y, more)


def _of_pairs(reading: Reading, measure: Measure, desk: Desk) -> Figure | None:
    """Rows as points, the first of them where there are many."""
    y, x = measure.of, measure.other
    if x is None or y is None:
        return None
    there = [Filter(column=one.column, comparison="present") for one in (x, y)]
    where = (*reading.query.where, *measure.where, *there)
    points = Query(
        table=reading.query.table, where=where, select=(x.column, y.column), limit=_MOST_POINTS
    )
    try:
        rows = desk.compute(points).rows
    except TableError:
        return None
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": f"{y.column} against {x.column}",
        "x": [row[0] for row in rows],
        "y": [row[1] for row in rows],
    }
    return _figure([trace], reading.said, {"title": {"text": x.column}}, y.column, {})


# How every chart looks: a quiet background, named axes, colours that all can tell apart.

OKABE_ITO: Final = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7"),
    *("#56B4E9", "#D55E00", "#F0E442", "#000000"),
)
"""Okabe and Ito, "Color Universal Design" (2008): apart with any colour vision."""


def _figure(
    traces: list[dict[str, Any]], said: str, x: dict[str, Any], y: str, more: dict[str, Any]
) -> Figure:
    """The look of Plotly's `plotly_white`, as plain values."""
    grid = "#E5E5E5"
    axis = {"gridcolor": grid, "linecolor": "#999999", "zerolinecolor": grid, "automargin": True}
    layout = {
        "colorway": list(OKABE_ITO),
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "font": {"color": "#2A3F5F", "size": 13},
        "margin": {"t": 60},
        "title": {"text": f"{said[:1].upper()}{said[1:]}"},
        "xaxis": {**axis, **x},
        "yaxis": {**axis, "title": {"text": y}},
        "showlegend": len(traces) > 1,
        **more,
    }
    return Figure("plotly", json.dumps({"data": traces, "layout": layout}))
