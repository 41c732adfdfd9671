"""An outcome in the form in which an answer holds it."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from secondlook.answer import AnalysisFigure, ResultTable
from secondlook.nodes.charting import polished

if TYPE_CHECKING:
    from secondlook.answer import Scalar
    from secondlook.sandbox import Outcome, Plain


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
