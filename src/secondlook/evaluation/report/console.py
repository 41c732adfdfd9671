"""What the terminal shows: tables that fit 80 columns and need no colours."""

from __future__ import annotations

from dataclasses import replace
from textwrap import shorten, wrap
from typing import TYPE_CHECKING

from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.report import tables
from secondlook.evaluation.report.tables import Table, counted, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from secondlook.evaluation.records import Comparison, Results

_SIDE_BY_SIDE = 3
"""Configurations that fit beside each other, each figure with its interval; of more the terminal
gives an overview, and the page has all. Likewise pairs of which every difference is shown."""
_FIGURE = 17  # characters of a figure with its interval, so that three stand in 80 columns
_SHORT = 14
_FAILED = 5
_OVERVIEW = (
    *("accuracy", "values_accuracy", "faithfulness", "answered", "wrong_among_answered"),
    *("llm_calls", "latency_p50"),
)
"""Beside the metric that decides."""


def render(results: Results) -> list[RenderableType]:
    """Everything, the most important last: that is what stays on the screen."""
    failed = tables.failed(results)
    more = len(failed.rows) - _FAILED
    parts = [
        _summary(results),
        *(tables.by_type(results) if len(results.summaries) <= _SIDE_BY_SIDE else []),
        *([] if results.ablation else comparisons(results.comparisons)),
        tables.sweep(results),
        tables.hypotheses(results),
        tables.criteria(results),
        replace(
            failed,
            rows=tuple(
                (*rest, shorten(one_line(why), 60, placeholder=" ..."))
                for *rest, why in failed.rows[:_FAILED]
            ),
            note=f"{failed.note} {more:,} more are in report.html." if more > 0 else failed.note,
        ),
        tables.verdicts(results),
    ]
    return [item for part in parts if part.rows for item in drawn(part)]


def comparisons(pairs: Sequence[Comparison]) -> list[Table]:
    """Few pairs with all their differences, of many the one that decides."""
    return tables.comparisons(pairs) if len(pairs) <= _SIDE_BY_SIDE else [tables.overview(pairs)]


def drawn(table: Table) -> list[RenderableType]:
    from rich.table import Table as RichTable
    from rich.text import Text

    # No lines around cells: they cost columns and are of no use in a log.
    shown = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    places = table.narrow or range(len(table.columns))
    for at in places:
        short = all(len(row[at]) <= _SHORT for row in table.rows)
        lines = table.columns[at].splitlines()
        head = [part for line in lines for part in wrap(one_line(line), _FIGURE)]
        shown.add_column(
            Text("\n".join(head)),
            justify="left" if table.is_text(at) else "right",
            overflow="fold",
            no_wrap=short or not table.is_text(at),
        )
    for row in table.rows:
        shown.add_row(*(Text(one_line(row[at])) for at in places))
    note = [Text(line, style="dim") for line in table.note.splitlines()]
    return [Text(one_line(table.title), style="bold"), shown, *note, Text("")]


def _summary(results: Results) -> Table:
    summaries, title = results.summaries, "Summary"
    if asked := results.data.get("asked"):
        title = f"Summary: {counted(asked, 'question')}"
    # What never happened in any configuration needs no line; no success at all does.
    silent = {
        name
        for name in tables.metric_names(results)
        if name in METRICS
        and METRICS[name].group in {"behaviour", "cost", "graders"}
        and METRICS[name].better != "higher"
        and not any(one.metrics[name].value for one in summaries.values() if name in one.metrics)
    }
    there = [name for name in tables.metric_names(results) if name not in silent]
    if len(summaries) > _SIDE_BY_SIDE:
        wanted = dict.fromkeys((tables.deciding(results), *_OVERVIEW))
        names = [name for name in wanted if name in there]
        rows = []
        for name, one in summaries.items():
            items = [(metric, one.metrics.get(metric)) for metric in names]
            cells = (tables.figure(item.value if item else None, of) for of, item in items)
            rows.append((name, *cells))
        heads = [name.replace("_", "\n") for name in names]
        note = "report.html has all metrics."
        return Table(title, ("configuration", *heads), tuple(rows), note=note)

    def cell(name: str, metric: str) -> str:
        item = summaries[name].metrics.get(metric)
        written = tables.estimate(item, metric)
        fits = item is None or len(written) <= _FIGURE
        return written if fits else tables.figure(item.value if item else None, metric)

    lower = ", ".join(name for name in there if tables.arrow(name) == "↓")
    return Table(
        title,
        ("metric", *summaries),
        tuple((metric, *(cell(name, metric) for name in summaries)) for metric in there),
        note=f"Mean and 95 % interval. Lower is better: {lower}." if lower else "",
    )
