"""Which chart shows a result: bars for groups, a line over time, points for a correlation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from secondlook.errors import TableError
from secondlook.nodes.charting.manners import styled
from secondlook.sandbox import Figure
from secondlook.tables.asking.charts import asks_for_chart
from secondlook.tables.query import Filter, Query
from secondlook.tables.table import TEMPORAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Desk
    from secondlook.tables.asking import Reading
    from secondlook.tables.query import Computed, Key, Measure

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
