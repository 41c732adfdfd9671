"""Outcomes and profiles as checks of results are given them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from secondlook.sandbox.port import Figure, Frame, Outcome
from secondlook.tables.table import ColumnProfile, TableProfile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.state import RequirementsData, ResolvedData
    from secondlook.sandbox.port import Plain

ROWS = 1309


def outcome(result: Plain = None, **fields: Any) -> Outcome:
    return Outcome(status="ok", result=result, has_result=True, **fields)


def frame(columns: Sequence[str], *rows: Sequence[Plain], total: int | None = None) -> Frame:
    return Frame(tuple(columns), tuple(map(tuple, rows)), len(rows) if total is None else total)


def of_frame(columns: Sequence[str], *rows: Sequence[Plain], total: int | None = None) -> Outcome:
    return outcome(frame=frame(columns, *rows, total=total))


def plotly(*traces: dict[str, Any]) -> Figure:
    return Figure("plotly", json.dumps({"data": list(traces), "layout": {}}))


def profile() -> TableProfile:
    return TableProfile(
        table="t1",
        rows=ROWS,
        columns=(
            ColumnProfile(name="Fare", type="number", rows=ROWS, minimum=0.0, maximum=512.3),
            ColumnProfile(name="Age", type="number", rows=ROWS, minimum=0.2, maximum=80, missing=9),
            ColumnProfile(name="Pclass", type="integer", rows=ROWS, minimum=1, maximum=3),
            ColumnProfile(name="Sex", type="text", rows=ROWS, minimum="female", maximum="male"),
            ColumnProfile(name="Cabin", type="text", rows=ROWS, missing=ROWS, distinct=0),
            ColumnProfile(name="Empty", type="number", rows=ROWS, missing=ROWS),
        ),
    )


def profiles() -> dict[str, TableProfile]:
    return {"t1": profile()}


def resolved(*columns: str) -> list[ResolvedData]:
    return [
        {"asked": name, "table": "t1", "column": name, "score": 1.0, "how": "exact"}
        for name in columns
    ]


def requirements(*wanted: str) -> RequirementsData:
    return {
        "variables": [],
        "constraints": [],
        "analysis": "descriptive",
        "success": "",
        "wanted": list(wanted),
        "by": "rules",
    }
