"""Metrics side by side, and time."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

from secondlook.evaluation.questions import by_configuration
from secondlook.evaluation.report import numbers, picking
from secondlook.evaluation.report.plots import canvas
from secondlook.evaluation.report.plots.canvas import Drawing, NothingToDraw, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from secondlook.evaluation.records import Estimate, Results, Row

_STEPS = 6
"""Steps that are drawn each for itself; the quicker ones go together."""
_OTHER = "other steps"


def metrics(results: Results) -> Drawing:
    """Dots with intervals: metrics as lines, configurations beside each other."""
    names = picking.headlines(results)
    shown = shown_names(results)
    if not names:
        raise NothingToDraw("no metric between 0 and 1 has a figure")
    figure, (axes,) = canvas.panels(1.2 + len(names) * (0.16 + 0.1 * len(shown)))
    for place, name in enumerate(shown):
        offset = (place - (len(shown) - 1) / 2) * 0.8 / max(len(shown), 2)
        _dots(axes, results, names, name, place=place, offset=offset)
    axes.set_yticks(range(len(names)), [f"{name}{_lower(name)}" for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("mean over the questions that the metric is about")
    axes.set_title("Quality by configuration, with 95 % intervals")
    canvas.legend_below(figure, axes)
    return Drawing(figure, f"{_numbers(results, shown)} {left_out(results)}".strip())


def _dots(
    axes: Axes, results: Results, names: Sequence[str], name: str, *, place: int, offset: float
) -> None:
    found = results.summaries[name].metrics
    points = [
        (found[metric], row + offset) for row, metric in enumerate(names) if _there(found, metric)
    ]
    if not points:
        return
    axes.errorbar(
        [item.value or 0.0 for item, _ in points],
        [y for _, y in points],
        xerr=canvas.errors([item for item, _ in points]),
        fmt=canvas.MARKERS[place],
        color=canvas.COLOURS[place],
        markersize=5,
        markeredgecolor="black",
        markeredgewidth=0.5,
        elinewidth=1.2,
        capsize=2,
        label=label(name),
    )


def _there(found: dict[str, Estimate], metric: str) -> bool:
    return metric in found and numbers.is_there(found[metric].value)


def _lower(metric: str) -> str:
    return "\n(lower is better)" if numbers.arrow(metric) == "↓" else ""


def shown_names(results: Results) -> list[str]:
    return list(results.summaries)[: canvas.MOST]


def left_out(results: Results) -> str:
    """Said under a plot that cannot hold all configurations."""
    more = len(results.summaries) - canvas.MOST
    return (
        f"The first {canvas.MOST} configurations; {more} more are in the tables."
        if more > 0
        else ""
    )


def _numbers(results: Results, shown: Sequence[str]) -> str:
    sizes = {len({row.case for row in results.rows if row.configuration == name}) for name in shown}
    counts = " to ".join(f"{size:,}" for size in sorted({min(sizes), max(sizes)}))
    return f"n = {counts} questions per configuration; each metric is over those it applies to."


def latency(results: Results) -> Drawing:
    """Bars: mean time, by step. Marks: median and 95th percentile of the whole."""
    rows = by_configuration(results.rows)
    shown = [name for name in shown_names(results) if rows.get(name)]
    if not any(row.seconds for name in shown for row in rows[name]):
        raise NothingToDraw("no time was measured")
    means = {name: _mean_steps(rows[name]) for name in shown}
    steps = _largest(means)
    figure, (axes,) = canvas.panels(1.9 + 0.55 * len(shown))
    for place, step in enumerate([*steps, _OTHER]):
        _bars(axes, means, steps, step, place=place)
    for y, name in enumerate(shown):
        _marks(axes, results, name, y)
    axes.set_yticks(range(len(shown)), [label(name, longest=28) for name in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0, 1.12 * axes.get_xlim()[1])
    axes.set_xlabel("seconds per question")
    axes.set_title("Where the time goes: mean per step, median and 95th percentile")
    canvas.legend_below(figure, axes)
    return Drawing(
        figure,
        f"n = {len(results.rows):,} answers. Bars add up to the mean time of a question. "
        f"{left_out(results)}".strip(),
    )


def _mean_steps(rows: Sequence[Row]) -> dict[str, float]:
    """Mean seconds of each step over all questions, and of what lies between the steps."""
    spent: dict[str, float] = defaultdict(float)
    for row in rows:
        for node, seconds in row.seconds_by_node.items():
            spent[node] += seconds / len(rows)
    between = fmean(row.seconds for row in rows) - sum(spent.values())
    return {**spent, _OTHER: max(0.0, between)}


def _largest(means: dict[str, dict[str, float]]) -> list[str]:
    """The slowest steps, in the order in which they run."""
    total: dict[str, float] = defaultdict(float)
    for times in means.values():
        for step, seconds in times.items():
            total[step] += seconds
    del total[_OTHER]
    slowest = set(sorted(total, key=lambda step: (-total[step], step))[:_STEPS])
    return [step for step in total if step in slowest]


def _bars(
    axes: Axes, means: dict[str, dict[str, float]], steps: Sequence[str], step: str, *, place: int
) -> None:
    def width(times: dict[str, float], of: str) -> float:
        if of != _OTHER:
            return times.get(of, 0.0)
        return sum(seconds for name, seconds in times.items() if name not in steps)

    axes.barh(
        range(len(means)),
        [width(times, step) for times in means.values()],
        left=[sum(width(times, before) for before in steps[:place]) for times in means.values()],
        height=0.6,
        color=canvas.COLOURS[place] if step != _OTHER else "#BBBBBB",
        hatch=canvas.HATCHES[place],
        edgecolor="white",
        linewidth=0.5,
        label=label(step, longest=24),
    )


def _marks(axes: Axes, results: Results, name: str, y: float) -> None:
    found = results.summaries[name].metrics
    middle, slow = (
        found[metric].value if metric in found else None
        for metric in ("latency_p50", "latency_p95")
    )
    first = "" if y else "median"
    last = "" if y else "95th percentile"
    if middle is not None:
        axes.plot(
            [middle], [y], "D", color="black", markersize=6, markeredgecolor="white", label=first
        )
    if slow is not None:
        axes.plot([slow], [y], "|", color="black", markersize=13, markeredgewidth=2.5, label=last)
        axes.annotate(
            numbers.seconds(slow),
            (slow, y),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
