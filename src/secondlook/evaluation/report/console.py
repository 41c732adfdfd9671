"""What the terminal shows: tables that can be read at 80 columns and without colours."""

from __future__ import annotations

from textwrap import shorten, wrap
from typing import TYPE_CHECKING

from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.report import numbers
from secondlook.evaluation.report import tables as figures
from secondlook.evaluation.report.numbers import DASH
from secondlook.evaluation.report.tables import Table, short_difference, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from secondlook.evaluation.records import Comparison, Difference, Estimate, Results, Summary

_SIDE_BY_SIDE = 3
"""Configurations that fit beside each other, each figure with its interval."""
_WITH_INTERVALS = 6
"""For more than these the terminal gives an overview; the page has all."""
_IN_FULL = 3
"""Pairs of configurations whose every difference is shown."""
_FIGURE = 17
"""Characters of a figure with its interval, so that three stand in 80 columns."""
_SHORT = 14
"""Words up to this length stay on one line."""
_FAILED = 5
_OVERVIEW = (
    "accuracy",
    "values_accuracy",
    "faithfulness",
    "answered",
    "wrong_among_answered",
    "llm_calls",
    "latency_p50",
)
"""Beside the metric that decides."""
_SILENT_AT_ZERO = frozenset({"behaviour", "cost", "graders"})
"""Groups whose metrics are left out where nothing of the kind happened."""
_WHY = 60


def tables(results: Results) -> list[RenderableType]:
    """All that a run has to say, most important last: that is what stays on the screen."""
    parts: list[Table] = [
        *summary(results),
        *_by_type(results),
        *([] if results.ablation else comparisons(results)),
        sweep(results),
        hypotheses(results),
        criteria(results),
        figures.caps(results),
        failed(results),
        ablation(results),
    ]
    return [item for part in parts if part.rows for item in drawn(part)]


def drawn(table: Table) -> list[RenderableType]:
    """Title, table, note, and an empty line."""
    from rich.table import Table as RichTable
    from rich.text import Text

    # No lines around cells: they cost columns, and whoever reads it in a log has no use for them.
    shown = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for number, name in enumerate(table.columns):
        short = all(len(row[number]) <= _SHORT for row in table.rows)
        shown.add_column(
            Text(_head(name)),
            justify="left" if table.is_text(number) else "right",
            overflow="fold",
            no_wrap=short or not table.is_text(number),
        )
    for row in table.rows:
        shown.add_row(*(Text(numbers.one_line(cell)) for cell in row))
    note = [Text(line, style="dim") for line in table.note.splitlines()]
    return [Text(numbers.one_line(table.title), style="bold"), shown, *note, Text("")]


def _head(name: str) -> str:
    """No wider than a figure: names of configurations may be long."""
    lines = [numbers.one_line(line) for line in name.splitlines()]
    return "\n".join(part for line in lines for part in wrap(line, _FIGURE))


def summary(results: Results) -> list[Table]:
    """Metrics as lines; a few configurations side by side, or an overview of many."""
    names = list(results.summaries)
    # A study has a table of its own; beside it every metric of all that was tried is too much.
    studied = results.ablation is not None or results.sweep is not None
    if len(names) > (_SIDE_BY_SIDE if studied else _WITH_INTERVALS):
        return [_overview(results)]
    return [
        _side_by_side(results, names[start : start + _SIDE_BY_SIDE])
        for start in range(0, len(names), _SIDE_BY_SIDE)
    ]


def _side_by_side(results: Results, names: Sequence[str]) -> Table:
    """One configuration leaves room to say what each metric is."""
    silent = _all_zero(results)
    metrics = [name for name in numbers.metric_names(results) if name not in silent]
    alone = len(names) == 1
    rows = tuple(
        (
            metric,
            *(_narrow(results.summaries[name].metrics.get(metric), metric) for name in names),
            *([_about(metric)] if alone else []),
        )
        for metric in metrics
    )
    lower = ", ".join(name for name in metrics if numbers.arrow(name) == "↓")
    notes = [f"Mean and 95 % interval. Lower is better: {lower}."] if lower else []
    return Table(
        _title(results),
        ("metric", *names, *(["what it is"] if alone else [])),
        rows,
        note="\n".join([*notes, *_told_once(silent)]),
        words=frozenset({2}) if alone else frozenset(),
    )


def _by_type(results: Results) -> list[Table]:
    """Where there is room for it."""
    few = len(results.summaries) <= _SIDE_BY_SIDE
    return [figures.accuracy_by_type(results)] if few else []


def _title(results: Results) -> str:
    """How much the figures rest on, where that is known."""
    asked, documents = results.data.get("asked"), results.data.get("documents")
    if asked and (tables := results.data.get("tables")):
        return f"Summary: {_counted(asked, 'question')} over {_counted(tables, 'table')}"
    if asked and documents == 0:
        return f"Summary: {_counted(asked, 'question')} without documents"
    if not asked or not documents:
        return "Summary"
    return f"Summary: {_counted(asked, 'question')} about {_counted(documents, 'document')}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _about(metric: str) -> str:
    return METRICS[metric].about if metric in METRICS else ""


def _all_zero(results: Results) -> list[str]:
    """What never happened in any configuration: one line is enough for all of it."""
    return [
        name
        for name in numbers.metric_names(results)
        if name in METRICS
        and METRICS[name].group in _SILENT_AT_ZERO
        and METRICS[name].better != "higher"  # no success at all is worth its line
        and not any(_value(summary, name) for summary in results.summaries.values())
    ]


def _value(summary: Summary, metric: str) -> float | None:
    found = summary.metrics.get(metric)
    return found.value if found else None


def _told_once(silent: Sequence[str]) -> list[str]:
    return [f"All 0: {', '.join(silent)}."] if silent else []


def _narrow(item: Estimate | None, metric: str) -> str:
    """With its interval where that fits."""
    written = numbers.estimate(item, metric)
    if item is None or len(written) <= _FIGURE:
        return written
    return numbers.figure(item.value, metric)


def _overview(results: Results) -> Table:
    silent = _all_zero(results)
    there = set(numbers.metric_names(results)) - set(silent)
    shown = [name for name in (_deciding(results), *_OVERVIEW) if name in there]
    rows = tuple(
        (name, *(value(item.metrics, metric) for metric in shown))
        for name, item in results.summaries.items()
    )
    heads = [name.replace("_", "\n") for name in shown]
    note = "\n".join(["report.html has all metrics.", *_told_once(silent)])
    return Table(_title(results), ("configuration", *heads), rows, note=note)


def _deciding(results: Results) -> str:
    studies_made = (results.ablation, results.sweep, *results.comparisons)
    return next((item.metric for item in studies_made if item is not None), "f1")


def comparisons(results: Results) -> list[Table]:
    """Few pairs with all their differences, of many the one that decides."""
    pairs = results.comparisons
    if len(pairs) <= _IN_FULL:
        return [_in_full(pair) for pair in pairs]
    rows = tuple((f"{pair.other} vs {pair.base}", *_difference(pair.deciding)) for pair in pairs)
    title = f"Comparisons by {pairs[0].metric}, on the same questions"
    return [Table(title, ("", "change", "95 % interval", "p", "p (Holm)", "up/same/down"), rows)]


def _in_full(pair: Comparison) -> Table:
    rows = tuple((item.metric, *_difference(item)) for item in pair.differences)
    head = ("metric", "change", "95 % interval", "p", "p (Holm)", "up/same/down")
    return Table(f"{pair.other} against {pair.base}, on the same questions", head, rows)


def _difference(item: Difference) -> tuple[str, ...]:
    counts = f"{item.improved}/{item.same}/{item.degraded}"
    return (*short_difference(item), counts)


def _corrected(item: Difference | None) -> tuple[str, str, str]:
    """Without the p that takes no account of the other comparisons."""
    change, interval, _, corrected = short_difference(item)
    return change, interval, corrected


def failed(results: Results) -> Table:
    """The first few, each in a line: the page has all of them, and all of what they say."""
    found = figures.failed(results)
    more = len(found.rows) - _FAILED
    rows = tuple(
        (name, case, shorten(numbers.one_line(why), _WHY, placeholder=" ..."))
        for name, case, _, why in found.rows[:_FAILED]
    )
    note = f"{found.note} {more:,} more are in report.html." if more > 0 else found.note
    return Table(found.title, ("configuration", "question", "why"), rows, texts=3, note=note)


def ablation(results: Results) -> Table:
    found = results.ablation
    if found is None:
        return Table("", (), ())
    deciding = {item.other: item.deciding for item in found.comparisons}
    rows = tuple(
        (
            item.configuration,
            item.verdict,
            *_corrected(deciding.get(item.configuration)),
            numbers.number(item.price[1]),
            numbers.seconds(item.price[2]),
        )
        for item in found.verdicts
    )
    return Table(
        f"Ablation: {found.metric} against {found.reference}",
        ("configuration", "verdict", "change", "95 % interval", "p (Holm)", "calls", "time"),
        rows,
        texts=2,
        note="\n".join([*_undecided(results), *_elsewhere(results), figures.cheapest(results)]),
    )


def _elsewhere(results: Results) -> list[str]:
    return ["report.html compares every pair."] if results.comparisons else []


def _undecided(results: Results) -> list[str]:
    verdicts = results.ablation.verdicts if results.ablation else ()
    return [
        f"{item.configuration}: undecided, about "
        f"{_counted(item.more_questions, 'more question')} needed."
        for item in verdicts
        if item.verdict == "undecided" and item.more_questions is not None
    ]


def sweep(results: Results) -> Table:
    found = results.sweep
    if found is None:
        return Table("", (), ())
    rows = tuple(
        (
            numbers.scalar(point.value),
            numbers.percent(point.fallback_rate),
            value(point.metrics, found.metric),
            *_corrected(point.difference),
            _where_it_fired(point.on_fallback),
        )
        for point in found.points
    )
    return Table(
        f"{found.param}: {found.metric} against {found.reference}",
        (
            "value",
            "fallback",
            found.metric,
            "change",
            "95 % interval",
            "p (Holm)",
            "where it fired",
        ),
        rows,
    )


def _where_it_fired(item: Difference | None) -> str:
    if item is None:
        return DASH
    return f"{numbers.figure(item.difference, item.metric, signed=True)} (n {item.n:,})"


def hypotheses(results: Results) -> Table:
    rows = tuple(
        (item.name, item.verdict, f"{item.claim}: {item.why}") for item in results.hypotheses
    )
    return Table("Hypotheses", ("", "verdict", "claim and why"), rows, texts=3)


def criteria(results: Results) -> Table:
    found = figures.criteria(results)
    rows = tuple((name, bar, met, value) for name, bar, met, value, *_ in found.rows)
    return Table(found.title, ("", "bar", "verdict", "is"), rows, texts=3, note=found.note)
