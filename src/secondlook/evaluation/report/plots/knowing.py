"""Whether confidence is worth something, and whether trying again is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.evaluation.intervals import wilson
from secondlook.evaluation.report.plots import canvas
from secondlook.evaluation.report.plots.canvas import Drawing, NothingToDraw, label
from secondlook.evaluation.report.plots.quality import left_out, shown_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from secondlook.evaluation.records import Point, Results

_POINTS = 300
_WITH_COUNTS = 3
"""Curves whose counts can be written at their points without covering each other."""


def risk_coverage(results: Results) -> Drawing:
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


def reliability(results: Results) -> Drawing:
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


def success_by_retry(results: Results) -> Drawing:
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
