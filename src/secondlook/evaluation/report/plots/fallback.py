"""When a second search was made, and what it changed."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from secondlook.evaluation import statistics
from secondlook.evaluation.questions import by_configuration
from secondlook.evaluation.report import numbers, picking
from secondlook.evaluation.report.plots import canvas
from secondlook.evaluation.report.plots.canvas import Drawing, NothingToDraw, label

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from secondlook.evaluation.records import Estimate, Results, Row

_NO_FALLBACK = "the fallback fired in no configuration"
_BINS = 30
_POINTS = 400
"""So many points draw a curve of any number of questions."""
_GROUPS = ((True, "fallback", canvas.ORANGE, "///"), (False, "no fallback", canvas.BLUE, ""))
_SAME = 1e-9
_ROUNDED = 1e-3
"""Scores of passages are kept with fewer digits than the decision was made with."""
_SUPER = {"x": 0.01, "ha": "left", "fontsize": 11}


def rerank_scores(results: Results) -> Drawing:
    """How the scores that decide are spread, and where the decision falls."""
    rows = by_configuration(results.rows)
    name = picking.falling_back(rows) or next(iter(rows), None)
    those = rows.get(name or "", [])
    lowest = [(row, score) for row in those if (score := picking.lowest_of_best(row)) is not None]
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
        (row.trigger, picking.lowest_of_best(row))
        for row in rows
        if row.trigger is not None and not row.fallback
    ]
    return bool(pairs) and all(
        lowest is not None and abs(trigger - lowest) < _ROUNDED for trigger, lowest in pairs
    )


def _threshold(rows: Iterable[Row]) -> float | None:
    return next((row.trigger_below for row in rows if row.trigger_below is not None), None)


def f1_changes(results: Results) -> Drawing:
    """Every question's change, in order of size, for both groups."""
    rows = by_configuration(results.rows)
    other, base = _pair(rows)
    changes = picking.changes(rows[base], rows[other], "f1")
    if not changes:
        raise NothingToDraw("no question has a right answer to compare with")
    if not any(abs(item.difference) > _SAME for item in changes):
        raise NothingToDraw(f"F1 is the same in {base} and {other} for every question")
    fired = picking.fell_back(rows[other])
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
    other = picking.falling_back(rows)
    if other is None:
        raise NothingToDraw(_NO_FALLBACK)
    base = picking.base_of(rows, other)
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
    share = np.linspace(0, 1, min(_POINTS, max(2, 8 * len(ordered))))
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


def impact(results: Results) -> Drawing:
    """F1 and faithfulness of the same two groups of questions in every configuration."""
    rows = by_configuration(results.rows)
    splitting = picking.falling_back(rows)
    if splitting is None:
        raise NothingToDraw(_NO_FALLBACK)
    shown = [name for name in results.summaries if rows.get(name)][: canvas.MOST]
    fired = picking.fell_back(rows[splitting])
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
        _bars(axes, found, at, colour=colour, hatch=hatch, said=said)
    axes.set_xlim(0, 1.14)
    axes.set_xlabel("mean")


def _mean(rows: Sequence[Row], metric: str, fired: frozenset[str], *, wanted: bool) -> Estimate:
    figures = picking.values(rows, metric)
    return statistics.interval([figures[case] for case in figures if (case in fired) is wanted])


def _bars(
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
