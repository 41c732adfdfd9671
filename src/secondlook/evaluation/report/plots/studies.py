"""What a setting does over its range, and what each step of a workflow buys."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from secondlook.evaluation.report import numbers
from secondlook.evaluation.report.plots import canvas
from secondlook.evaluation.report.plots.canvas import Drawing, NothingToDraw, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from secondlook.evaluation.records import Ablation, Difference, Results, Sweep, SweepPoint

_ROOM = 0.06
"""Share of the axis that the name of a value takes."""
_LOOKS = {
    "non-inferior": (canvas.GREEN, "o"),
    "worse": (canvas.VERMILION, "X"),
    "undecided": (canvas.GREY, "s"),
    "reference": (canvas.BLACK, "D"),
}


def ablation(results: Results) -> Drawing:
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


def sweep(results: Results) -> Drawing:
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
