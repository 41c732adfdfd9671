"""Charts: which question asks for one, what it is read as, and what is drawn."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from secondlook.answer import Analysis, AnalysisFigure, Answer, ResultTable
from secondlook.export.charts import chart_bytes, in_script, write_charts, write_table
from secondlook.nodes.compute import OKABE_ITO, computed_outcome
from secondlook.tables.resolver import AskedTable
from secondlook.tables.understand.interpreter import understand
from tests.support.analyst import desk_of

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.tables.desk import Desk

SALES: dict[str, list[Any]] = {
    "region": ["north", "south", "east"] * 10,
    "units": [(at * 7) % 41 for at in range(30)],
    "price": [2.5 + (at % 9) * 0.75 for at in range(30)],
    "day": [f"2024-{at % 12 + 1:02d}-{at % 28 + 1:02d}" for at in range(30)],
}


@cache
def desk() -> Desk:
    import datetime as dt

    days = [dt.date.fromisoformat(day) for day in SALES["day"]]
    return desk_of({"sales": {**SALES, "day": days}})


def drawn(question: str) -> dict[str, Any] | None:
    """The figure that a question comes to; None where it is not read or draws nothing."""
    table = desk().tables()[0]
    asked = AskedTable(table, desk().profile(table.id), lambda name: SALES[name])
    best = understand(question, [asked]).best
    if best is None:
        return None
    outcome, _ = computed_outcome(desk(), question, best)
    assert outcome.status == "ok"
    return json.loads(outcome.figures[0].data) if outcome.figures else None


def test_groups_are_bars() -> None:
    figure = drawn("Plot the mean price by region")
    assert figure is not None
    trace = figure["data"][0]
    assert (trace["type"], trace["x"]) == ("bar", ["east", "north", "south"])
    means = {
        name: sum(p for p, r in zip(SALES["price"], SALES["region"], strict=True) if r == name) / 10
        for name in trace["x"]
    }
    assert trace["y"] == pytest.approx(list(means.values()))
    layout = figure["layout"]
    assert layout["title"]["text"] == "Mean of price by region"
    assert layout["xaxis"]["title"]["text"] == "region"
    assert layout["yaxis"]["title"]["text"] == "mean of price"
    assert layout["colorway"] == list(OKABE_ITO)


def test_time_is_a_line() -> None:
    figure = drawn("draw the total units over time")
    assert figure is not None
    trace = figure["data"][0]
    assert trace["mode"] == "lines+markers"
    assert trace["x"] == sorted(trace["x"])
    assert sum(trace["y"]) == sum(SALES["units"])
    monthly = drawn("plot units by month")
    assert monthly is not None
    assert monthly["data"][0]["x"] == list(range(1, 13))


def test_a_distribution_is_a_histogram() -> None:
    for question in ("histogram of units", "Show the distribution of units"):
        figure = drawn(question)
        assert figure is not None
        assert sum(figure["data"][0]["y"]) == len(SALES["units"])
        assert figure["data"][0]["x"][0] == "0 to 10"
    words = drawn("plot the distribution of region")
    assert words is not None
    assert words["data"][0]["y"] == [10, 10, 10]


def test_two_numbers_are_points() -> None:
    figure = drawn("scatter plot of price against units")
    assert figure is not None
    trace = figure["data"][0]
    assert trace["mode"] == "markers"
    assert trace["x"] == SALES["units"]
    assert trace["y"] == SALES["price"]


@pytest.mark.parametrize(
    "question",
    [
        "plot the mean price by region for Tuesdays only",
        "plot the seasonally adjusted price over time",
        "plot everything",
        "scatter plot of price against region",
        "histogram of price and units",
    ],
)
def test_what_it_cannot_draw_is_not_drawn_otherwise(question: str) -> None:
    assert drawn(question) is None


def test_no_chart_unasked() -> None:
    assert drawn("What is the mean price for each region?") is None


# As files


def answer_of(**analysis: Any) -> Answer:
    return Answer(
        run="20260101-a",
        question="q",
        asked="q",
        workflow="analyst",
        method="computed",
        text="t",
        status="answered",
        stop_reason="answered",
        values={"mean": 2.5, "parts": [1, 2]},
        analysis=Analysis(kind="computed", **analysis),
        created="2026-01-01T00:00:00+00:00",
        version="0",
    )


def chart(question: str = "plot the mean price by region") -> AnalysisFigure:
    return AnalysisFigure(kind="plotly", title="A & B", data=drawn(question))


def test_a_page_needs_no_network_and_no_cell_ends_its_script(tmp_path: Path) -> None:
    evil: Any = {"data": [{"x": ["</script><script>alert(1)</script>"], "y": [1]}], "layout": {}}
    figure = AnalysisFigure(kind="plotly", title="<b>", data=evil)
    page = chart_bytes(figure, ".html").decode()
    assert "alert(1)</script>" not in page
    assert "<title>&lt;b&gt;</title>" in page
    assert 'src="http' not in page
    assert json.loads(in_script(evil)) == evil
    written = write_charts(answer_of(figures=(chart(), chart())), tmp_path / "c.json")
    assert [one.name for one in written] == ["c.json", "c-2.json"]
    assert json.loads(written[0].read_text("utf-8")) == drawn("plot the mean price by region")


def test_simple_charts_are_drawn_as_pictures() -> None:
    for question in ("plot the mean price by region", "scatter plot of price against units"):
        assert chart_bytes(chart(question), ".png").startswith(b"\x89PNG")


def test_tables_as_files(tmp_path: Path) -> None:
    rows: Any = (("=1+1", 1.5, None), ("b", 2, "x"))
    table = ResultTable(columns=("name", "value", "more"), rows=rows, total_rows=2)
    answer = answer_of(table=table)
    write_table(answer, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text("utf-8-sig").splitlines() == [
        "name,value,more",
        "'=1+1,1.5,",
        "b,2,x",
    ]
    write_table(answer, tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text("utf-8"))[1] == {
        "name": "b",
        "value": 2,
        "more": "x",
    }
    write_table(answer, tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet").to_pydict()["value"] == [1.5, 2.0]
    write_table(answer_of(), tmp_path / "v.csv")
    assert "mean,2.5" in (tmp_path / "v.csv").read_text("utf-8-sig")
