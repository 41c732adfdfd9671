"""What the terminal shows: tables that fit 80 columns and need no colours."""

from __future__ import annotations

from dataclasses import replace
from textwrap import shorten, wrap
from typing import TYPE_CHECKING

from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.report import numbers, tables
from secondlook.evaluation.report.numbers import counted, one_line
from secondlook.evaluation.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from secondlook.evaluation.records import Comparison, Results

_SIDE_BY_SIDE = 3
"""Configurations that fit beside each other, each figure with its interval."""
_WITH_INTERVALS = 6
"""Of more than these the terminal gives an overview; the page has all."""
_IN_FULL = 3
"""Pairs of configurations whose every difference is shown."""
_FIGURE = 17
"""Characters of a figure with its interval, so that three stand in 80 columns."""
_SHORT = 14
_FAILED = 5
_OVERVIEW = (
    *("accuracy", "values_accuracy", "faithfulness", "answered", "wrong_among_answered"),
    *("llm_calls", "latency_p50"),
)
"""Beside the metric that decides."""
_SILENT_AT_ZERO = frozenset({"behaviour", "cost", "graders"})
"""Groups whose metrics are left out where nothing of the kind happened."""


def render(results: Results) -> list[RenderableType]:
    """Everything, the most important last: that is what stays on the screen."""
    few = len(results.summaries) <= _SIDE_BY_SIDE
    parts = [
        *_summary(results),
        *(tables.by_type(results) if few else []),
        *([] if results.ablation else comparisons(results.comparisons)),
        tables.sweep(results),
        tables.hypotheses(results),
        tables.criteria(results),
        _failed(results),
        _ablation(results),
    ]
    return [item for part in parts if part.rows for item in drawn(part)]


def comparisons(pairs: Sequence[Comparison]) -> list[Table]:
    """Few pairs with all their differences, of many the one that decides."""
    return tables.comparisons(pairs) if len(pairs) <= _IN_FULL else [tables.overview(pairs)]


def drawn(table: Table) -> list[RenderableType]:
    """Title, table, note, and an empty line."""
    from rich.table import Table as RichTable
    from rich.text import Text

    table = table.narrowed()
    # No lines around cells: they cost columns and are of no use in a log.
    shown = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for at, name in enumerate(table.columns):
        short = all(len(row[at]) <= _SHORT for row in table.rows)
        head = [part for line in name.splitlines() for part in wrap(one_line(line), _FIGURE)]
        shown.add_column(
            Text("\n".join(head)),
            justify="left" if table.is_text(at) else "right",
            overflow="fold",
            no_wrap=short or not table.is_text(at),
        )
    for row in table.rows:
        shown.add_row(*(Text(one_line(cell)) for cell in row))
    note = [Text(line, style="dim") for line in table.note.splitlines()]
    return [Text(one_line(table.title), style="bold"), shown, *note, Text("")]


def _summary(results: Results) -> list[Table]:
    """Metrics as lines; a few configurations side by side, or an overview of many."""
    names = list(results.summaries)
    silent = _all_zero(results)
    there = [name for name in numbers.metric_names(results) if name not in silent]
    zero = [f"All 0: {', '.join(silent)}."] if silent else []
    # A study has a table of its own; beside it every metric of all that was tried is too much.
    studied = results.ablation is not None or results.sweep is not None
    if len(names) > (_SIDE_BY_SIDE if studied else _WITH_INTERVALS):
        wanted = dict.fromkeys((tables.deciding(results), *_OVERVIEW))
        shown = [name for name in wanted if name in there]
        figures = results.summaries
        rows = []
        for name in names:
            items = [figures[name].metrics.get(metric) for metric in shown]
            cells = [numbers.figure(i.value if i else None, m) for i, m in zip(items, shown)]  # noqa: B905
            rows.append((name, *cells))
        heads = [name.replace("_", "\n") for name in shown]
        note = "\n".join(["report.html has all metrics.", *zero])
        return [Table(_title(results), ("configuration", *heads), tuple(rows), note=note)]
    lower = ", ".join(name for name in there if numbers.arrow(name) == "↓")
    notes = [f"Mean and 95 % interval. Lower is better: {lower}."] if lower else []
    found = []
    for start in range(0, len(names), _SIDE_BY_SIDE):
        part = names[start : start + _SIDE_BY_SIDE]
        alone = len(part) == 1  # room to say what each metric is
        about = {name: METRICS[name].about if name in METRICS else "" for name in there}
        rows = [
            (
                metric,
                *(_narrow(results, name, metric) for name in part),
                *([about[metric]] if alone else []),
            )
            for metric in there
        ]
        head = ("metric", *part, *(["what it is"] if alone else []))
        words = frozenset({2}) if alone else frozenset()
        note = "\n".join([*notes, *zero])
        found.append(Table(_title(results), head, tuple(rows), note=note, words=words))
    return found


def _narrow(results: Results, name: str, metric: str) -> str:
    """With its interval where that fits."""
    item = results.summaries[name].metrics.get(metric)
    written = numbers.estimate(item, metric)
    fits = item is None or len(written) <= _FIGURE
    return written if fits else numbers.figure(item.value if item else None, metric)


def _title(results: Results) -> str:
    """How much the figures rest on, where that is known."""
    asked, documents = results.data.get("asked"), results.data.get("documents")
    if not asked:
        return "Summary"
    said = f"Summary: {counted(asked, 'question')}"
    if over := results.data.get("tables"):
        return f"{said} over {counted(over, 'table')}"
    if documents == 0:
        return f"{said} without documents"
    return f"{said} about {counted(documents, 'document')}" if documents else "Summary"


def _all_zero(results: Results) -> list[str]:
    """What never happened in any configuration: one line is enough for all of it."""
    return [
        name
        for name in numbers.metric_names(results)
        if name in METRICS
        and METRICS[name].group in _SILENT_AT_ZERO
        and METRICS[name].better != "higher"  # no success at all is worth its line
        and not any(
            item.metrics[name].value for item in results.summaries.values() if name in item.metrics
        )
    ]


def _failed(results: Results) -> Table:
    """The first few, each in a line: the page has all of them."""
    found = tables.failed(results)
    more = len(found.rows) - _FAILED
    rows = tuple(
        (*rest, shorten(one_line(why), 60, placeholder=" ..."))
        for *rest, why in found.rows[:_FAILED]
    )
    note = f"{found.note} {more:,} more are in report.html." if more > 0 else found.note
    return replace(found, rows=rows, note=note)


def _ablation(results: Results) -> Table:
    found = tables.verdicts(results)
    verdicts = results.ablation.verdicts if results.ablation else ()
    notes = [
        f"{item.configuration}: undecided, about {counted(item.more_questions, 'more question')} "
        "needed."
        for item in verdicts
        if item.verdict == "undecided" and item.more_questions is not None
    ]
    elsewhere = ["report.html compares every pair."] if results.comparisons else []
    return replace(found, note="\n".join([*notes, *elsewhere, found.note]))
