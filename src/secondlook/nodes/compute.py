"""Computes a question that our own code understands, without any model."""

from __future__ import annotations

import asyncio
import copy
import json
import math
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.answer import AnalysisFigure, ResultTable
from secondlook.errors import TableError
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import desk_of, keep
from secondlook.nodes.state import AttemptData, Coding, Question, Required, Trace, step
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
    from secondlook.tables.query import Computed, Key, Measure
    from secondlook.tables.understand.readings import Reading, Wanted


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


# A reading of our own computed: by the step that answers, and again by who verifies it.


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


# From an outcome to named values.

RESULT = "result"
_PAIR = 2
_MOST_NAMED = 50


def named_values(outcome: Outcome, wanted: Wanted) -> dict[str, Plain]:
    """Values by the names that the question gave them, else by those that the code did."""
    found = _found(outcome)
    if len(wanted.names) == 1 and len(found) == 1:
        found = {wanted.names[0]: next(iter(found.values()))}
    elif wanted.names:
        found = _renamed(found, wanted)
    return {name: _rounded(value, wanted.decimals) for name, value in found.items()}


def _found(outcome: Outcome) -> dict[str, Plain]:
    result = outcome.result
    if isinstance(result, dict):
        return dict(result)
    if result is not None:
        return {RESULT: result}
    return _of_frame(outcome.frame) if outcome.frame is not None else {}


def _of_frame(frame: Frame) -> dict[str, Plain]:
    """One row: a value a column. Two columns: the second by the first."""
    if len(frame.rows) == 1 == frame.total_rows:
        return dict(zip(frame.columns, frame.rows[0], strict=True))
    if len(frame.columns) == _PAIR and frame.total_rows <= _MOST_NAMED:
        return {str(row[0]): row[1] for row in frame.rows}
    if len(frame.columns) == 1 and frame.total_rows <= _MOST_NAMED:
        return {frame.columns[0]: [row[0] for row in frame.rows]}
    return {}


def _renamed(found: dict[str, Plain], wanted: Wanted) -> dict[str, Plain]:
    """Names that differ only in how they are written are the wanted ones."""
    plain = {_plain(name): value for name, value in found.items()}
    named = {name: plain[_plain(name)] for name in wanted.names if _plain(name) in plain}
    return named or found


def _plain(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def _rounded(value: Plain, decimals: int | None) -> Plain:
    if decimals is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return round(value, decimals)
    if isinstance(value, list):
        return [_rounded(one, decimals) for one in value]
    if isinstance(value, dict):
        return {name: _rounded(one, decimals) for name, one in value.items()}
    return value


# An outcome in the form in which an answer holds it.


def as_json(value: Any) -> Any:
    """Numbers that JSON has no word for are said in words."""
    return json.loads(json.dumps(value, default=str), parse_constant=str)


def result_table(outcome: Outcome | None) -> ResultTable | None:
    if outcome is None or outcome.frame is None:
        return None
    frame = outcome.frame
    rows = tuple(tuple(_cell(cell) for cell in row) for row in frame.rows)
    return ResultTable(columns=frame.columns, rows=rows, total_rows=frame.total_rows)


def _cell(value: Plain) -> Scalar:
    """A cell without a number is empty; JSON has no word for infinity either."""
    if isinstance(value, list | dict):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def figures_of(outcome: Outcome | None) -> tuple[AnalysisFigure, ...]:
    found: list[AnalysisFigure] = []
    for figure in outcome.figures if outcome else ():
        if figure.kind == "png":
            found.append(AnalysisFigure(kind="png", data=figure.data))
            continue
        data = polished(json.loads(figure.data, parse_constant=lambda _: None))
        found.append(AnalysisFigure(kind="plotly", title=_title(data), data=data))
    return tuple(found)


def _title(data: Any) -> str:
    layout = data.get("layout", {}) if isinstance(data, dict) else {}
    title = layout.get("title", {}) if isinstance(layout, dict) else {}
    return str(title.get("text", "") if isinstance(title, dict) else title or "")


# Which chart shows a result: bars for groups, a line over time, points for a correlation.

_MOST_POINTS = 2_000
_MOST_TRACES = 6
_PAIRED = frozenset({"correlation", "correlation_p", "covariance", "slope"})
_IN_ORDER = frozenset({"year", "quarter", "month", "hour"})


def chart_of(
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
    kind = _line() if _is_time(key, reading.query, desk) else {"type": "bar"}
    x = [row[0] if row[0] is not None else "missing" for row in computed.rows]
    traces = [
        {
            **kind,
            "name": name,
            "x": x,
            "y": [row[computed.columns.index(name)] for row in computed.rows],
        }
        for name in shown[:_MOST_TRACES]
    ]
    layout = _layout(reading.said, _key_name(key), shown[0] if len(shown) == 1 else "")
    if key.bins:
        layout["bargap"] = 0.02
    if kind["type"] == "bar" and not key.bins:
        layout["xaxis"]["type"] = "category"
    return _figure(traces, layout)


def _line() -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines+markers"}


def _is_time(key: Key, query: Query, desk: Desk) -> bool:
    if key.part is not None:
        return key.part in _IN_ORDER
    table = next((one for one in desk.tables() if one.id == query.table), None)
    types = {one.name: one.type for one in table.columns} if table else {}
    return types.get(key.column) in TEMPORAL


def _key_name(key: Key) -> str:
    return f"{key.column} ({key.part})" if key.part else key.column


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
        found = desk.compute(points)
    except TableError:
        return None
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": f"{y.column} against {x.column}",
        "x": [row[0] for row in found.rows],
        "y": [row[1] for row in found.rows],
    }
    return _figure([trace], _layout(reading.said, x.column, y.column))


def _layout(said: str, x: str, y: str) -> dict[str, Any]:
    layout = styled()
    layout["title"] = {"text": f"{said[:1].upper()}{said[1:]}"}
    layout["xaxis"]["title"] = {"text": x}
    layout["yaxis"]["title"] = {"text": y}
    return layout


def _figure(traces: list[dict[str, Any]], layout: dict[str, Any]) -> Figure:
    layout["showlegend"] = len(traces) > 1
    return Figure("plotly", json.dumps({"data": traces, "layout": layout}))


# How every chart looks: a quiet background, named axes, colours that all can tell apart.

OKABE_ITO: Final = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#000000",
)
"""Okabe and Ito, "Color Universal Design" (2008): told apart with any colour vision."""
_GRID: Final = "#E5E5E5"


def styled() -> dict[str, Any]:
    """The look of Plotly's `plotly_white`, as plain values."""
    axis = {"gridcolor": _GRID, "linecolor": "#999999", "zerolinecolor": _GRID, "automargin": True}
    return {
        "colorway": list(OKABE_ITO),
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "font": {"color": "#2A3F5F", "size": 13},
        "margin": {"t": 60},
        "xaxis": dict(axis),
        "yaxis": dict(axis),
    }


def polished(figure: Any, *, title: str = "", axes: tuple[str, str] | None = None) -> Any:
    """A figure of generated code with what it left out: look, title, names of the axes. Its data
    and whatever it chose itself stay."""
    if not isinstance(figure, dict) or not isinstance(figure.get("data"), list):
        return figure
    made = copy.deepcopy(figure)
    chosen = made.get("layout")
    layout: dict[str, Any] = chosen if isinstance(chosen, dict) else {}
    look = {} if _has_template(layout) else styled()
    look.setdefault("colorway", list(OKABE_ITO))
    if title:
        look["title"] = {"text": title}
    for name, text in zip(("xaxis", "yaxis"), axes or (), strict=False):
        look.setdefault(name, {}).setdefault("title", {"text": text})
    made["layout"] = _filled(layout, look)
    return made


def _has_template(layout: dict[str, Any]) -> bool:
    """More than the empty one that a figure gets where none was chosen."""
    template = layout.get("template")
    return isinstance(template, dict) and bool(template.get("layout"))


def _filled(chosen: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    """What was chosen, and the default for what was not."""
    found = dict(chosen)
    for name, value in default.items():
        if name not in found or found[name] is None:
            found[name] = value
        elif isinstance(found[name], dict) and isinstance(value, dict):
            found[name] = _filled(found[name], value)
    return found
