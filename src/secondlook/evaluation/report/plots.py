"""The pictures of a report, drawn with matplotlib (the extra `eval`) where it is installed."""

from __future__ import annotations

import math
from collections import defaultdict
from importlib.util import find_spec
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from secondlook.evaluation import statistics
from secondlook.evaluation.questions import by_configuration
from secondlook.evaluation.report import canvas, numbers
from secondlook.evaluation.report.canvas import Drawing, NothingToDraw, Plot, label
from secondlook.evaluation.statistics import wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes

    from secondlook.evaluation.records import (
        Ablation,
        Difference,
        Estimate,
        Point,
        Results,
        Row,
        Sweep,
        SweepPoint,
    )

# Metrics side by side, and time.

_STEPS = 6
"""Steps that are drawn each for itself; the quicker ones go together."""
_OTHER = "other steps"


def metrics_plot(results: Results) -> Drawing:
    """Dots with intervals: metrics as lines, configurations beside each other."""
    names = numbers.headlines(results)
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


def latency_plot(results: Results) -> Drawing:
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


# Whether confidence is worth something, and whether trying again is.

_POINTS = 300
_WITH_COUNTS = 3
"""Curves whose counts can be written at their points without covering each other."""


def risk_coverage_plot(results: Results) -> Drawing:
    """How many are wrong if only the surest are answered."""
    curves = {
        name: results.summaries[name].risk_coverage
        for name in shown_names(results)
        if results.summaries[name].risk_coverage
    }
    if not curves:
        raise NothingToDraw("no answer has both a confidence and a right answer to compare with")
    figure, (axes,) = canvas.panels(4.2)
    for place, (name, points) in enumerate(curves.items()):
        _curve(axes, _thinned(points), name, place)
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, axis="both")
    axes.set_xlabel("share of questions answered, the surest first")
    axes.set_ylabel("share of those that is wrong")
    axes.set_title("Risk and coverage: wrong among the answered (lower is better)")
    canvas.legend_below(figure, axes)
    return Drawing(figure, f"{_sizes(curves, largest=True)} {left_out(results)}".strip())


def _curve(axes: Axes, points: Sequence[Point], name: str, place: int) -> None:
    axes.plot(
        [point.x for point in points],
        [point.y for point in points],
        linestyle=canvas.LINES[place],
        color=canvas.COLOURS[place],
        marker=canvas.MARKERS[place],
        markevery=(place * max(1, len(points) // 40), max(1, len(points) // 8)),
        markersize=5,
        linewidth=1.8,
        label=label(name),
    )


def _thinned(points: Sequence[Point]) -> list[Point]:
    """At most `_POINTS`, with the first and the last: more cannot be seen."""
    if len(points) <= _POINTS:
        return list(points)
    step = (len(points) - 1) / (_POINTS - 1)
    return [points[round(place * step)] for place in range(_POINTS)]


def _sizes(curves: dict[str, tuple[Point, ...]], *, largest: bool = False) -> str:
    """How many answers stand behind each curve; a point of risk and coverage counts all before."""
    take = max if largest else sum
    sizes = [f"{name} n = {take(item.n for item in curve):,}" for name, curve in curves.items()]
    return f"{', '.join(sizes)}."


def reliability_plot(results: Results) -> Drawing:
    """Confidence against how often it was right, and how many stand behind each point."""
    curves = {
        name: results.summaries[name].reliability
        for name in shown_names(results)
        if results.summaries[name].reliability
    }
    if not curves:
        raise NothingToDraw("no answer has both a confidence and a right answer to compare with")
    figure, (upper, lower) = canvas.panels(5.4, rows=2, sharex=True, height_ratios=(3, 1))
    upper.plot(
        [0, 1], [0, 1], color=canvas.GREY, linestyle=":", linewidth=1.2, label="as it should be"
    )
    for place, (name, points) in enumerate(curves.items()):
        _bins(upper, points, name, place)
        _stems(lower, points, place)
    for axes in (upper, lower):
        axes.grid(visible=True, axis="both")
        axes.set_xlim(0, 1)
    lower.set_ylim(bottom=0)
    upper.set_ylim(0, 1.02)
    upper.set_ylabel("share that is right")
    lower.set_ylabel("answers in bin")
    lower.set_xlabel("confidence, mean of the bin")
    upper.set_title("Reliability: does confidence mean what it says?")
    canvas.legend_below(figure, upper)
    caption = f"{_sizes(curves)} Lines: 95 % intervals (Wilson). {left_out(results)}"
    return Drawing(figure, caption.strip())


def _stems(axes: Axes, points: Sequence[Point], place: int) -> None:
    """How many answers each bin holds; thin, for bins of several configurations lie close."""
    at, counts = [point.x for point in points], [point.n for point in points]
    axes.vlines(at, 0, counts, color=canvas.COLOURS[place], linestyle=canvas.LINES[place])
    axes.plot(at, counts, canvas.MARKERS[place], color=canvas.COLOURS[place], markersize=5)


def _bins(axes: Axes, points: Sequence[Point], name: str, place: int) -> None:
    axes.errorbar(
        [point.x for point in points],
        [point.y for point in points],
        yerr=_wilson(points),
        linestyle=canvas.LINES[place],
        color=canvas.COLOURS[place],
        marker=canvas.MARKERS[place],
        markersize=5,
        elinewidth=0.8,
        capsize=2,
        label=label(name),
    )


def _wilson(points: Sequence[Point]) -> list[list[float]]:
    bounds = [wilson(point.y, point.n) if point.n else (point.y, point.y) for point in points]
    return [
        [max(0.0, point.y - low) for point, (low, _) in zip(points, bounds, strict=True)],
        [max(0.0, high - point.y) for point, (_, high) in zip(points, bounds, strict=True)],
    ]


def success_by_retry_plot(results: Results) -> Drawing:
    """Whether the second and third try still bring something."""
    curves = {
        name: points
        for name in shown_names(results)
        if len(points := [item for item in results.summaries[name].success_by_retry if item.n]) > 1
    }
    if not curves:
        raise NothingToDraw("no configuration tried a question again")
    figure, (axes,) = canvas.panels(3.8)
    for place, (name, points) in enumerate(curves.items()):
        _tries(axes, points, name, place, of=len(curves))
    axes.locator_params(axis="x", integer=True)
    axes.set_ylim(0, 1.02)
    axes.margins(x=0.1)
    axes.grid(visible=True, axis="y")
    axes.set_xlabel("number of retries")
    axes.set_ylabel("share that succeeded")
    axes.set_title("Success by number of retries")
    canvas.legend_below(figure, axes)
    counts = "; ".join(
        f"{name} n = {', '.join(f'{point.n:,}' for point in points)}"
        for name, points in curves.items()
    )
    caption = f"By number of retries: {counts}. Lines: 95 % intervals (Wilson). "
    return Drawing(figure, f"{caption}{left_out(results)}".strip())


def _tries(axes: Axes, points: Sequence[Point], name: str, place: int, *, of: int) -> None:
    shift = (place - (of - 1) / 2) * 0.3 / max(of, 2)
    axes.errorbar(
        [point.x + shift for point in points],
        [point.y for point in points],
        yerr=_wilson(points),
        linestyle=canvas.LINES[place],
        color=canvas.COLOURS[place],
        marker=canvas.MARKERS[place],
        markersize=6,
        capsize=3,
        label=label(name),
    )
    for point in points if of <= _WITH_COUNTS else ():
        axes.annotate(
            f"{point.n:,}",
            (point.x + shift, point.y),
            (5, 5),
            textcoords="offset points",
            fontsize=8,
        )


# When a second search was made, and what it changed.

_NO_FALLBACK = "the fallback fired in no configuration"
_BINS = 30
_FALLBACK_POINTS = 400
"""So many points draw a curve of any number of questions."""
_GROUPS = ((True, "fallback", canvas.ORANGE, "///"), (False, "no fallback", canvas.BLUE, ""))
_SAME = 1e-9
_ROUNDED = 1e-3
"""Scores of passages are kept with fewer digits than the decision was made with."""
_SUPER = {"x": 0.01, "ha": "left", "fontsize": 11}


def rerank_scores_plot(results: Results) -> Drawing:
    """How the scores that decide are spread, and where the decision falls."""
    rows = by_configuration(results.rows)
    name = numbers.falling_back(rows) or next(iter(rows), None)
    those = rows.get(name or "", [])
    lowest = [(row, score) for row in those if (score := numbers.lowest_of_best(row)) is not None]
    if not lowest:
        raise NothingToDraw("no passage was scored by the reader")
    judged = [(row, row.trigger) for row in those if row.trigger is not None]
    decides = _decided_by_lowest(those)
    figure, axes = canvas.panels(3.4, columns=1 if decides or not judged else 2)
    _histogram(axes[0], lowest, threshold=_threshold(those) if decides else None)
    axes[0].set_xlabel("lowest reranker's score among the best five")
    figure.suptitle("Reranker's scores, by whether the fallback fired", **_SUPER)
    if len(axes) > 1:
        _histogram(axes[1], judged, threshold=_threshold(those))
        axes[1].set_xlabel("what the decision was based on")
    axes[0].set_ylabel("questions")
    canvas.legend_below(figure, axes[-1])
    fired = sum(row.fallback for row in those)
    return Drawing(figure, f"{name}: n = {len(those):,} answers, fallback in {fired:,} of them.")


def _histogram(axes: Axes, scored: Sequence[tuple[Row, float]], *, threshold: float | None) -> None:
    groups = [[score for row, score in scored if row.fallback is fired] for fired, *_ in _GROUPS]
    _, _, bars = axes.hist(
        groups,
        bins=_edges([score for _, score in scored], threshold),
        stacked=True,
        color=[colour for *_, colour, _ in _GROUPS],
        label=[
            f"{said} (n = {len(of)})" for (_, said, *_), of in zip(_GROUPS, groups, strict=True)
        ],
        edgecolor="white",
        linewidth=0.5,
    )
    for container, (*_, hatch) in zip(bars, _GROUPS, strict=True):  # type: ignore[arg-type]
        for bar in container:
            bar.set_hatch(hatch)
    if threshold is not None:
        said = f"searches again below {numbers.scalar(threshold)}"
        axes.axvline(threshold, color="black", linestyle="--", linewidth=1.5, label=said)
    axes.grid(visible=True, axis="y")


def _edges(scores: Sequence[float], threshold: float | None) -> list[float]:
    """One edge lies on the threshold, so that no bar stands on both sides of it."""
    first, last = min(scores), max(scores)
    width = (last - first) / _BINS or 1.0
    start = first if threshold is None else threshold
    below = math.ceil((start - first) / width)
    above = math.floor((last - start) / width) + 1
    return [start + step * width for step in range(min(-below, above - 1), above + 1)]


def _decided_by_lowest(rows: Sequence[Row]) -> bool:
    """Whether the decision looks at that score. Only a search that was not repeated still shows
    the scores it was judged by."""
    pairs = [
        (row.trigger, numbers.lowest_of_best(row))
        for row in rows
        if row.trigger is not None and not row.fallback
    ]
    return bool(pairs) and all(
        lowest is not None and abs(trigger - lowest) < _ROUNDED for trigger, lowest in pairs
    )


def _threshold(rows: Iterable[Row]) -> float | None:
    return next((row.trigger_below for row in rows if row.trigger_below is not None), None)


def f1_changes_plot(results: Results) -> Drawing:
    """Every question's change, in order of size, for both groups."""
    rows = by_configuration(results.rows)
    other, base = _pair(rows)
    changes = numbers.changes(rows[base], rows[other], "f1")
    if not changes:
        raise NothingToDraw("no question has a right answer to compare with")
    if not any(abs(item.difference) > _SAME for item in changes):
        raise NothingToDraw(f"F1 is the same in {base} and {other} for every question")
    fired = numbers.fell_back(rows[other])
    figure, axes = canvas.panels(3.6, columns=2, sharey=True)
    for place, (wanted, said, *_) in enumerate(_GROUPS):
        group = [item.difference for item in changes if (item.base.case in fired) is wanted]
        _waterfall(axes[place], sorted(group), said)
    axes[0].set_ylabel(
        f"F1 of {label(other, longest=20)} minus {label(base, longest=20)}", fontsize=9
    )
    height = 1.25 * max(0.1, *(abs(item.difference) for item in changes))
    axes[0].set_ylim(-height, height)
    figure.suptitle("Change in F1 of each question", **_SUPER)
    canvas.legend_below(figure, axes[0])
    return Drawing(
        figure,
        f"n = {len(changes):,} questions with a right answer, split by whether the fallback fired "
        f"in {other}.",
    )


def _pair(rows: dict[str, list[Row]]) -> tuple[str, str]:
    """Configurations that show best what the fallback does: with it, and without."""
    other = numbers.falling_back(rows)
    if other is None:
        raise NothingToDraw(_NO_FALLBACK)
    base = numbers.base_of(rows, other)
    if base is None:
        raise NothingToDraw("there is only one configuration, so nothing to compare with")
    return other, base


def _waterfall(axes: Axes, ordered: Sequence[float], said: str) -> None:
    import numpy as np

    counts = _counts(ordered)
    axes.set_title(
        f"{said} (n = {len(ordered):,})\n{counts[0]:,} improved, {counts[1]:,} same, "
        f"{counts[2]:,} degraded",
        fontsize=9.5,
    )
    axes.set_xlabel("questions, by change")
    axes.grid(visible=True, axis="y")
    axes.axhline(0, color="black", linewidth=0.8)
    if not ordered:
        return
    share = np.linspace(0, 1, min(_FALLBACK_POINTS, max(2, 8 * len(ordered))))
    # Each question is as wide as the others: the curve is its sorted changes, as steps.
    heights = np.asarray(ordered)[np.minimum((share * len(ordered)).astype(int), len(ordered) - 1)]
    at = share * len(ordered)
    for sign, colour, hatch, told in (
        (1, canvas.SKY, "", "improved"),
        (-1, canvas.VERMILION, "///", "degraded"),
    ):
        part = np.maximum(sign * heights, 0) * sign
        axes.fill_between(
            at, part, facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0.3, label=told
        )
    mean = fmean(ordered)
    axes.axhline(mean, color="black", linestyle="--", linewidth=1.2, label="mean change")
    axes.annotate(
        f"mean {numbers.number(mean, signed=True)}",
        (0.03, 0.95),
        xycoords="axes fraction",
        va="top",
        fontsize=9,
    )


def _counts(changes: Sequence[float]) -> tuple[int, int, int]:
    up = sum(change > _SAME for change in changes)
    down = sum(change < -_SAME for change in changes)
    return up, len(changes) - up - down, down


def impact_plot(results: Results) -> Drawing:
    """F1 and faithfulness of the same two groups of questions in every configuration."""
    rows = by_configuration(results.rows)
    splitting = numbers.falling_back(rows)
    if splitting is None:
        raise NothingToDraw(_NO_FALLBACK)
    shown = [name for name in results.summaries if rows.get(name)][: canvas.MOST]
    fired = numbers.fell_back(rows[splitting])
    metrics = [name for name in ("f1", "faithfulness") if _has(rows, shown, name)]
    if not metrics:
        raise NothingToDraw("neither F1 nor faithfulness has a figure")
    figure, axes = canvas.panels(1.7 + 0.5 * len(shown), columns=len(metrics), sharey=True)
    for place, metric in enumerate(metrics):
        _grouped(axes[place], rows, shown, metric, fired)
    axes[0].set_yticks(range(len(shown)), [label(name, longest=28) for name in shown])
    axes[0].set_ylim(len(shown) - 0.4, -0.6)
    figure.suptitle("F1 and faithfulness where the fallback fired, and elsewhere", **_SUPER)
    canvas.legend_below(figure, axes[0])
    questions = {row.case for row in rows[splitting]}
    return Drawing(
        figure,
        f"The same questions in every configuration: the fallback fired in {splitting} for "
        f"{len(fired):,} of n = {len(questions):,}. Lines: 95 % intervals.",
    )


def _has(rows: dict[str, list[Row]], shown: Sequence[str], metric: str) -> bool:
    return any(metric in row.metrics for name in shown for row in rows[name])


def _grouped(
    axes: Axes, rows: dict[str, list[Row]], shown: Sequence[str], metric: str, fired: frozenset[str]
) -> None:
    axes.set_title({"f1": "F1", "faithfulness": "Faithfulness"}[metric], fontsize=10)
    for place, (wanted, said, colour, hatch) in enumerate(_GROUPS):
        found = [_mean(rows[name], metric, fired, wanted=wanted) for name in shown]
        at = [y - 0.19 + 0.38 * place for y in range(len(shown))]
        _fallback_bars(axes, found, at, colour=colour, hatch=hatch, said=said)
    axes.set_xlim(0, 1.14)
    axes.set_xlabel("mean")


def _mean(rows: Sequence[Row], metric: str, fired: frozenset[str], *, wanted: bool) -> Estimate:
    figures = numbers.values(rows, metric)
    return statistics.interval([figures[case] for case in figures if (case in fired) is wanted])


def _fallback_bars(
    axes: Axes,
    found: Sequence[Estimate],
    at: Sequence[float],
    *,
    colour: str,
    hatch: str,
    said: str,
) -> None:
    axes.barh(
        at,
        [item.value or 0.0 for item in found],
        height=0.36,
        color=colour,
        hatch=hatch,
        edgecolor="white",
        linewidth=0.5,
        label=said,
    )
    for item, y in zip(found, at, strict=True):
        if item.value is None:
            axes.annotate("no questions", (0.01, y), va="center", fontsize=8)
            continue
        (below,), (above,) = canvas.errors([item])
        high = item.value + above
        axes.plot([item.value - below, high], [y, y], color="black", linewidth=1.2)
        axes.annotate(
            numbers.number(item.value),
            (high, y),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )


# What a setting does over its range, and what each step of a workflow buys.

_ROOM = 0.06
"""Share of the axis that the name of a value takes."""
_LOOKS = {
    "non-inferior": (canvas.GREEN, "o"),
    "worse": (canvas.VERMILION, "X"),
    "undecided": (canvas.GREY, "s"),
    "reference": (canvas.BLACK, "D"),
}


def ablation_plot(results: Results) -> Drawing:
    """A forest: each configuration's difference from the reference, and what follows."""
    found = results.ablation
    if found is None:
        raise NothingToDraw("no ablation was asked for (--ablate)")
    differences = {item.other: item.deciding for item in found.comparisons}
    shown = [item for item in found.verdicts if item.configuration in differences]
    if not shown:
        raise NothingToDraw("nothing was compared with the reference")
    figure, (axes,) = canvas.panels(1.8 + 0.34 * len(shown))
    for y, verdict in enumerate(shown):
        _difference(axes, differences[verdict.configuration], y, looks=_LOOKS[verdict.verdict])
    _verdicts(axes, [item.verdict for item in shown])
    axes.axvline(0, color="black", linewidth=1)
    axes.axvline(-found.margin, color="black", linestyle="--", linewidth=1.2, label=_margin(found))
    axes.set_yticks(
        range(len(shown)), [label(item.configuration, longest=34) for item in shown], fontsize=9
    )
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.margins(x=0.08)
    axes.set_xlabel(f"{found.metric}: difference from {label(found.reference)}")
    axes.set_title(f"What each change does to {found.metric}, with 95 % intervals")
    canvas.legend_below(figure, axes)
    return Drawing(figure, _caption(found, [differences[item.configuration] for item in shown]))


def _difference(axes: Axes, item: Difference, y: float, *, looks: tuple[str, str]) -> None:
    colour, marker = looks
    axes.plot([item.low, item.high], [y, y], color=colour, linewidth=2)
    axes.plot(
        [item.difference], [y], marker, color=colour, markersize=7, markeredgecolor="black",
        markeredgewidth=0.6,
    )  # fmt: skip


def _verdicts(axes: Axes, verdicts: Sequence[str]) -> None:
    """At the right, outside the data."""
    for y, verdict in enumerate(verdicts):
        axes.annotate(
            verdict,
            (1.01, y),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=9,
        )


def _margin(found: Ablation) -> str:
    return f"margin: what lies wholly above -{numbers.number(found.margin)} is not inferior"


def _caption(found: Ablation, differences: Sequence[Difference]) -> str:
    sizes = sorted({item.n for item in differences})
    n = " to ".join(f"{size:,}" for size in sorted({sizes[0], sizes[-1]}))
    return (
        f"n = {n} questions, the same as in {found.reference}. "
        f"Cheapest that is not inferior: {found.cheapest}."
    )


def sweep_plot(results: Results) -> Drawing:
    """The metric and the share of second searches against the value of the setting."""
    found = results.sweep
    if found is None:
        raise NothingToDraw("no setting was swept")
    points = [item for item in found.points if _middle(item, found.metric) is not None]
    if not points:
        raise NothingToDraw(f"{found.metric} has no figure at any value")
    at, names = _places(points)
    rates = [item.fallback_rate for item in points]
    with_rates = any(rate is not None for rate in rates)
    figure, axes = canvas.panels(
        5.0 if with_rates else 3.4, rows=2 if with_rates else 1, sharex=True
    )
    _metric(axes[0], at, points, found)
    if with_rates:
        _rates(axes[1], at, rates)
    if names:
        axes[-1].set_xticks(at, names)
    axes[-1].set_xlabel(label(found.param, longest=60))
    axes[0].set_title(
        f"{found.metric} and fallback rate against {label(found.param)}"
        if with_rates
        else f"{found.metric} against {label(found.param)}"
    )
    sizes = [item.metrics[found.metric].n for item in points]
    counts = " to ".join(f"{size:,}" for size in sorted({min(sizes), max(sizes)}))
    return Drawing(figure, f"n = {counts} questions at each value. Lines: 95 % intervals.")


def _middle(item: SweepPoint, metric: str) -> float | None:
    return item.metrics[metric].value if metric in item.metrics else None


def _places(points: Sequence[SweepPoint]) -> tuple[list[float], list[str]]:
    """Numbers stand where they belong, anything else in a row with its name."""
    named = [label(numbers.scalar(item.value), longest=16) for item in points]
    numeric = [
        float(item.value)
        for item in points
        if isinstance(item.value, int | float) and not isinstance(item.value, bool)
    ]
    if len(numeric) < len(points):
        return [float(place) for place in range(len(points))], named
    return numeric, named if _apart(numeric) else []


def _apart(values: Sequence[float]) -> bool:
    """Whether there is room for each one's name."""
    ordered = sorted(values)
    gaps = [after - before for before, after in pairwise(ordered)]
    return not gaps or min(gaps) >= _ROOM * (ordered[-1] - ordered[0])


def _metric(axes: Axes, at: Sequence[float], points: Sequence[SweepPoint], found: Sweep) -> None:
    items = [point.metrics[found.metric] for point in points]
    axes.errorbar(
        at,
        [item.value or 0.0 for item in items],
        yerr=canvas.errors(items),
        fmt="o-",
        color=canvas.BLUE,
        linewidth=1.8,
        elinewidth=1.2,
        capsize=3,
    )
    axes.set_ylabel(found.metric)
    axes.grid(visible=True, axis="both")


def _rates(axes: Axes, at: Sequence[float], rates: Sequence[float | None]) -> None:
    known = [(x, rate) for x, rate in zip(at, rates, strict=True) if rate is not None]
    axes.plot([x for x, _ in known], [rate for _, rate in known], "s--", color=canvas.VERMILION)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("fallback rate")
    axes.grid(visible=True, axis="both")


INSTALL = "pip install matplotlib"

_PLOTS: dict[str, tuple[str, Callable[[Results], Drawing]]] = {
    "metrics": ("Quality by configuration", metrics_plot),
    "ablation": ("What each change does", ablation_plot),
    "sweep": ("A setting over its range", sweep_plot),
    "rerank_scores": ("Reranker's scores and the trigger", rerank_scores_plot),
    "f1_changes": ("Change in F1 of each question", f1_changes_plot),
    "fallback_impact": ("Impact of the fallback", impact_plot),
    "latency": ("Time", latency_plot),
    "risk_coverage": ("Risk and coverage", risk_coverage_plot),
    "reliability": ("Reliability of confidence", reliability_plot),
    "success_by_retry": ("Success by number of retries", success_by_retry_plot),
}


def can_draw() -> bool:
    return find_spec("matplotlib") is not None


def draw(results: Results) -> tuple[Plot, ...]:
    """All of them; one without data carries the reason instead of a picture."""
    with canvas.plain_style():
        return tuple(_drawn(name, title, make, results) for name, (title, make) in _PLOTS.items())


def _drawn(name: str, title: str, make: Callable[[Results], Drawing], results: Results) -> Plot:
    try:
        drawing = make(results)
    except NothingToDraw as nothing:
        return Plot(name, title, missing=str(nothing))
    svg = canvas.as_svg(drawing.figure)
    drawing.figure.set_layout_engine("none")  # it is laid out: not a second time for the PNG
    return Plot(name, title, drawing.caption, svg=svg, png=canvas.as_png(drawing.figure))
