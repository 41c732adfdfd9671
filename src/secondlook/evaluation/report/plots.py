"""The pictures of a report, drawn with matplotlib where it is installed: the five of the adaptive
design (metrics, scores and trigger, change per question, impact of the fallback, time), success by
number of retries, and the reliability of confidence."""

from __future__ import annotations

import math
from collections import defaultdict
from importlib.util import find_spec
from statistics import fmean
from typing import TYPE_CHECKING, Any

from secondlook.evaluation import statistics
from secondlook.evaluation.questions import (
    by_configuration,
    fell_back,
    lowest_of_best,
    question_values,
)
from secondlook.evaluation.report import canvas, numbers
from secondlook.evaluation.report.canvas import Drawing, NothingToDraw, Plot, label
from secondlook.evaluation.report.tables import changes
from secondlook.evaluation.statistics import wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from secondlook.evaluation.records import Estimate, Point, Results, Row

INSTALL = "pip install matplotlib"
_BASELINE = "linear"
_GROUPS = ((True, "fallback", canvas.ORANGE, "///"), (False, "no fallback", canvas.BLUE, ""))
_SAME = 1e-9
_SUPER: dict[str, Any] = {"x": 0.01, "ha": "left", "fontsize": 11}
_BESIDE: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 8}


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


def _shown(results: Results) -> list[str]:
    return list(results.summaries)[: canvas.MOST]


def _with_rest(results: Results, caption: str) -> str:
    """Says what a plot that cannot hold all configurations leaves out."""
    more = len(results.summaries) - canvas.MOST
    first = f" The first {canvas.MOST} configurations; {more} more are in the tables."
    return caption + (first if more > 0 else "")


# Metrics side by side, and time.


def metrics_plot(results: Results) -> Drawing:
    """Dots with intervals: metrics as lines, configurations beside each other."""
    there = set(numbers.metric_names(results))
    names = [name for name in numbers.HEADLINES if name in there]
    if not names:
        raise NothingToDraw("no metric between 0 and 1 has a figure")
    shown = _shown(results)
    figure, (axes,) = canvas.panels(1.2 + len(names) * (0.16 + 0.1 * len(shown)))
    for place, name in enumerate(shown):
        offset = (place - (len(shown) - 1) / 2) * 0.8 / max(len(shown), 2)
        found = results.summaries[name].metrics
        points = [
            (item, row + offset)
            for row, metric in enumerate(names)
            if (item := found.get(metric)) and item.value is not None and math.isfinite(item.value)
        ]
        if points:
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
    lower = {name: "\n(lower is better)" if numbers.arrow(name) == "↓" else "" for name in names}
    axes.set_yticks(range(len(names)), [f"{name}{lower[name]}" for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("mean over the questions that the metric is about")
    axes.set_title("Quality by configuration, with 95 % intervals")
    canvas.legend_below(figure, axes)
    asked = {len({row.case for row in results.rows if row.configuration == name}) for name in shown}
    n = " to ".join(f"{size:,}" for size in sorted({min(asked), max(asked)}))
    caption = f"n = {n} questions per configuration; each metric is over those it applies to."
    return Drawing(figure, _with_rest(results, caption))


_STEPS = 6
"""Steps that are drawn each for itself; the quicker ones go together."""
_OTHER = "other steps"


def latency_plot(results: Results) -> Drawing:
    """Bars: mean time, by step. Marks: median and 95th percentile of the whole."""
    rows = by_configuration(results.rows)
    shown = [name for name in _shown(results) if rows.get(name)]
    if not any(row.seconds for name in shown for row in rows[name]):
        raise NothingToDraw("no time was measured")
    means: dict[str, dict[str, float]] = {}
    total: dict[str, float] = defaultdict(float)
    for name in shown:
        spent: dict[str, float] = defaultdict(float)
        for row in rows[name]:
            for node, seconds in row.seconds_by_node.items():
                spent[node] += seconds / len(rows[name])
        for node, seconds in spent.items():
            total[node] += seconds
        between = fmean(row.seconds for row in rows[name]) - sum(spent.values())
        means[name] = {**spent, _OTHER: max(0.0, between)}
    slowest = set(sorted(total, key=lambda step: (-total[step], step))[:_STEPS])
    steps = [step for step in total if step in slowest]
    figure, (axes,) = canvas.panels(1.9 + 0.55 * len(shown))
    left = [0.0] * len(shown)
    for place, step in enumerate([*steps, _OTHER]):
        widths = [
            times.get(step, 0.0)
            if step != _OTHER
            else sum(taken for name, taken in times.items() if name not in slowest)
            for times in means.values()
        ]
        axes.barh(
            range(len(shown)),
            widths,
            left=left,
            height=0.6,
            color=canvas.COLOURS[place] if step != _OTHER else "#BBBBBB",
            hatch=canvas.HATCHES[place],
            edgecolor="white",
            linewidth=0.5,
            label=label(step, longest=24),
        )
        left = [before + width for before, width in zip(left, widths, strict=True)]
    for y, name in enumerate(shown):
        _marks(axes, results.summaries[name].metrics, y)
    axes.set_yticks(range(len(shown)), [label(name, longest=28) for name in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0, 1.12 * axes.get_xlim()[1])
    axes.set_xlabel("seconds per question")
    axes.set_title("Where the time goes: mean per step, median and 95th percentile")
    canvas.legend_below(figure, axes)
    caption = f"n = {len(results.rows):,} answers. Bars add up to the mean time of a question."
    return Drawing(figure, _with_rest(results, caption))


def _marks(axes: Axes, found: dict[str, Estimate], y: int) -> None:
    looks: dict[str, dict[str, Any]] = {
        "latency_p50": {"label": "median", "marker": "D", "markeredgecolor": "white"},
        "latency_p95": {"label": "95th percentile", "marker": "|", "markeredgewidth": 2.5},
    }
    for metric, look in looks.items():
        value = found[metric].value if metric in found else None
        if value is None:
            continue
        size = 6 if metric == "latency_p50" else 13
        axes.plot([value], [y], linestyle="", color="black", markersize=size, **look)
        if y:  # one entry in the legend is enough
            axes.lines[-1].set_label("")
        if metric == "latency_p95":
            axes.annotate(numbers.seconds(value), (value, y), (5, 0), **_BESIDE)


# Whether confidence means something, and whether trying again pays.


def reliability_plot(results: Results) -> Drawing:
    """Confidence against how often it was right, and how many stand behind each point."""
    curves = {
        name: results.summaries[name].reliability
        for name in _shown(results)
        if results.summaries[name].reliability
    }
    if not curves:
        raise NothingToDraw("no answer has both a confidence and a right answer to compare with")
    figure, (upper, lower) = canvas.panels(5.4, rows=2, sharex=True, height_ratios=(3, 1))
    upper.plot([0, 1], [0, 1], ":", color="#767676", linewidth=1.2, label="as it should be")
    for place, (name, points) in enumerate(curves.items()):
        _curve(upper, points, name, place)
        at, counts = [point.x for point in points], [point.n for point in points]
        lower.vlines(at, 0, counts, color=canvas.COLOURS[place], linestyle=canvas.LINES[place])
        lower.plot(at, counts, canvas.MARKERS[place], color=canvas.COLOURS[place], markersize=5)
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
    sizes = ", ".join(
        f"{name} n = {sum(one.n for one in curve):,}" for name, curve in curves.items()
    )
    return Drawing(figure, _with_rest(results, f"{sizes}. Lines: 95 % intervals (Wilson)."))


def _curve(
    axes: Axes, points: Sequence[Point], name: str, place: int, *, shift: float = 0.0
) -> None:
    bounds = [wilson(point.y, point.n) if point.n else (point.y, point.y) for point in points]
    axes.errorbar(
        [point.x + shift for point in points],
        [point.y for point in points],
        yerr=[
            [max(0.0, point.y - low) for point, (low, _) in zip(points, bounds, strict=True)],
            [max(0.0, high - point.y) for point, (_, high) in zip(points, bounds, strict=True)],
        ],
        linestyle=canvas.LINES[place],
        color=canvas.COLOURS[place],
        marker=canvas.MARKERS[place],
        markersize=5,
        elinewidth=0.8,
        capsize=2,
        label=label(name),
    )


def success_by_retry_plot(results: Results) -> Drawing:
    """Whether the second and third try still bring something."""
    curves = {
        name: points
        for name in _shown(results)
        if len(points := [item for item in results.summaries[name].success_by_retry if item.n]) > 1
    }
    if not curves:
        raise NothingToDraw("no configuration tried a question again")
    figure, (axes,) = canvas.panels(3.8)
    for place, (name, points) in enumerate(curves.items()):
        shift = (place - (len(curves) - 1) / 2) * 0.3 / max(len(curves), 2)
        _curve(axes, points, name, place, shift=shift)
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
    caption = f"By number of retries: {counts}. Lines: 95 % intervals (Wilson)."
    return Drawing(figure, _with_rest(results, caption))


# When a second search was made, and what it changed.


def _falling_back(rows: dict[str, list[Row]]) -> str | None:
    """The configuration that the questions are split by: the first with both groups, else the
    first where the fallback fired at all."""
    fired = {name: len(fell_back(those)) for name, those in rows.items()}
    some = [name for name, many in fired.items() if many]
    both = [name for name in some if fired[name] < len({row.case for row in rows[name]})]
    return next(iter([*both, *some]), None)


def rerank_scores_plot(results: Results) -> Drawing:
    """How the scores that decide are spread, and where the decision falls."""
    rows = by_configuration(results.rows)
    name = _falling_back(rows) or next(iter(rows), None)
    those = rows.get(name or "", [])
    lowest = [(row, score) for row in those if (score := lowest_of_best(row)) is not None]
    if not lowest:
        raise NothingToDraw("no passage was scored by the reader")
    judged = [(row, row.trigger) for row in those if row.trigger is not None]
    threshold = next((row.trigger_below for row in those if row.trigger_below is not None), None)
    # Only a search that was not repeated still shows the scores it was judged by; these are kept
    # with fewer digits than the decision was made with.
    first = [(score, row.trigger) for row, score in lowest if not row.fallback and row.trigger]
    decides = bool(first) and all(abs(score - by) < 1e-3 for score, by in first)  # noqa: PLR2004
    figure, axes = canvas.panels(3.4, columns=1 if decides or not judged else 2)
    _histogram(axes[0], lowest, threshold=threshold if decides else None)
    axes[0].set_xlabel("lowest reranker's score among the best five")
    figure.suptitle("Reranker's scores, by whether the fallback fired", **_SUPER)
    if len(axes) > 1:
        _histogram(axes[1], judged, threshold=threshold)
        axes[1].set_xlabel("what the decision was based on")
    axes[0].set_ylabel("questions")
    canvas.legend_below(figure, axes[-1])
    fired = sum(row.fallback for row in those)
    return Drawing(figure, f"{name}: n = {len(those):,} answers, fallback in {fired:,} of them.")


def _histogram(axes: Axes, scored: Sequence[tuple[Row, float]], *, threshold: float | None) -> None:
    scores = [score for _, score in scored]
    groups = [[score for row, score in scored if row.fallback is fired] for fired, *_ in _GROUPS]
    # One edge lies on the threshold, so that no bar stands on both sides of it.
    width = (max(scores) - min(scores)) / 30 or 1.0
    start = min(scores) if threshold is None else threshold
    below = math.ceil((start - min(scores)) / width)
    above = math.floor((max(scores) - start) / width) + 1
    _, _, bars = axes.hist(
        groups,
        bins=[start + step * width for step in range(min(-below, above - 1), above + 1)],
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


def f1_changes_plot(results: Results) -> Drawing:
    """Every question's change, in order of size, for both groups: the configuration with a
    fallback against one without, the baseline before others."""
    rows = by_configuration(results.rows)
    other = _falling_back(rows)
    if other is None:
        raise NothingToDraw("the fallback fired in no configuration")
    rest = [name for name in rows if name != other]
    if not rest:
        raise NothingToDraw("there is only one configuration, so nothing to compare with")
    base = min(rest, key=lambda name: (bool(fell_back(rows[name])), name != _BASELINE))
    found = changes(rows, base, other, "f1")
    if not found:
        raise NothingToDraw("no question has a right answer to compare with")
    if not any(abs(change) > _SAME for *_, change in found):
        raise NothingToDraw(f"F1 is the same in {base} and {other} for every question")
    fired = fell_back(rows[other])
    figure, axes = canvas.panels(3.6, columns=2, sharey=True)
    for place, (wanted, said, *_) in enumerate(_GROUPS):
        group = [change for row, _, change in found if (row.case in fired) is wanted]
        _waterfall(axes[place], sorted(group), said)
    names = [label(name, longest=20) for name in (other, base)]
    axes[0].set_ylabel(f"F1 of {names[0]} minus {names[1]}", fontsize=9)
    height = 1.25 * max(0.1, *(abs(change) for *_, change in found))
    axes[0].set_ylim(-height, height)
    figure.suptitle("Change in F1 of each question", **_SUPER)
    canvas.legend_below(figure, axes[0])
    caption = (
        f"n = {len(found):,} questions with a right answer, split by whether the fallback fired "
        f"in {other}."
    )
    return Drawing(figure, caption)


def _waterfall(axes: Axes, ordered: Sequence[float], said: str) -> None:
    import numpy as np

    up, down = sum(one > _SAME for one in ordered), sum(one < -_SAME for one in ordered)
    axes.set_title(
        f"{said} (n = {len(ordered):,})\n{up:,} improved, {len(ordered) - up - down:,} same, "
        f"{down:,} degraded",
        fontsize=9.5,
    )
    axes.set_xlabel("questions, by change")
    axes.grid(visible=True, axis="y")
    axes.axhline(0, color="black", linewidth=0.8)
    if not ordered:
        return
    # Each question is as wide as the others: the curve is its sorted changes, as steps.
    share = np.linspace(0, 1, min(400, max(2, 8 * len(ordered))))
    heights = np.asarray(ordered)[np.minimum((share * len(ordered)).astype(int), len(ordered) - 1)]
    for sign, colour, hatch, told in (
        (1, canvas.SKY, "", "improved"),
        (-1, canvas.VERMILION, "///", "degraded"),
    ):
        part = np.maximum(sign * heights, 0) * sign
        looks: dict[str, Any] = {"facecolor": colour, "hatch": hatch, "edgecolor": "white"}
        axes.fill_between(share * len(ordered), part, linewidth=0.3, label=told, **looks)
    mean = fmean(ordered)
    axes.axhline(mean, color="black", linestyle="--", linewidth=1.2, label="mean change")
    text = f"mean {numbers.number(mean, signed=True)}"
    axes.annotate(text, (0.03, 0.95), xycoords="axes fraction", va="top", fontsize=9)


def impact_plot(results: Results) -> Drawing:
    """F1 and faithfulness of the same two groups of questions in every configuration."""
    rows = by_configuration(results.rows)
    splitting = _falling_back(rows)
    if splitting is None:
        raise NothingToDraw("the fallback fired in no configuration")
    shown = [name for name in results.summaries if rows.get(name)][: canvas.MOST]
    fired = fell_back(rows[splitting])
    titles = {"f1": "F1", "faithfulness": "Faithfulness"}
    there = {metric for name in shown for row in rows[name] for metric in row.metrics}
    metrics = [metric for metric in titles if metric in there]
    if not metrics:
        raise NothingToDraw("neither F1 nor faithfulness has a figure")
    figure, axes = canvas.panels(1.7 + 0.5 * len(shown), columns=len(metrics), sharey=True)
    for panel, metric in zip(axes, metrics, strict=True):
        panel.set_title(titles[metric], fontsize=10)
        for place, (wanted, said, colour, hatch) in enumerate(_GROUPS):
            found = []
            for name in shown:
                by_case = question_values(rows[name], metric).items()
                values = [value for case, value in by_case if (case in fired) is wanted]
                found.append(statistics.interval(values))
            at = [y - 0.19 + 0.38 * place for y in range(len(shown))]
            looks: dict[str, Any] = {"color": colour, "hatch": hatch, "label": said}
            _bars(panel, found, at, **looks)
        panel.set_xlim(0, 1.14)
        panel.set_xlabel("mean")
    axes[0].set_yticks(range(len(shown)), [label(name, longest=28) for name in shown])
    axes[0].set_ylim(len(shown) - 0.4, -0.6)
    figure.suptitle("F1 and faithfulness where the fallback fired, and elsewhere", **_SUPER)
    canvas.legend_below(figure, axes[0])
    caption = (
        f"The same questions in every configuration: the fallback fired in {splitting} for "
        f"{len(fired):,} of n = {len({row.case for row in rows[splitting]}):,}. "
        "Lines: 95 % intervals."
    )
    return Drawing(figure, caption)


def _bars(axes: Axes, found: Sequence[Estimate], at: Sequence[float], **looks: Any) -> None:
    values = [item.value or 0.0 for item in found]
    axes.barh(at, values, height=0.36, edgecolor="white", linewidth=0.5, **looks)
    for item, y in zip(found, at, strict=True):
        if item.value is None:
            axes.annotate("no questions", (0.01, y), va="center", fontsize=8)
            continue
        (below,), (above,) = canvas.errors([item])
        high = item.value + above
        axes.plot([item.value - below, high], [y, y], color="black", linewidth=1.2)
        axes.annotate(numbers.number(item.value), (high, y), (4, 0), **_BESIDE)


_PLOTS: dict[str, tuple[str, Callable[[Results], Drawing]]] = {
    "metrics": ("Quality by configuration", metrics_plot),
    "rerank_scores": ("Reranker's scores and the trigger", rerank_scores_plot),
    "f1_changes": ("Change in F1 of each question", f1_changes_plot),
    "fallback_impact": ("Impact of the fallback", impact_plot),
    "latency": ("Time", latency_plot),
    "success_by_retry": ("Success by number of retries", success_by_retry_plot),
    "reliability": ("Reliability of confidence", reliability_plot),
}
