"""The five pictures of the adaptive design. Colours differ in grey too, and files come out the same
every time."""

from __future__ import annotations

import io
import math
import warnings
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import fmean
from typing import TYPE_CHECKING, Any

from secondlook.evaluation import statistics
from secondlook.evaluation.comparison import changes
from secondlook.evaluation.questions import (
    Figures,
    by_configuration,
    fell_back,
    lowest_of_best,
    question_values,
)
from secondlook.evaluation.report import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from secondlook.evaluation.records import Estimate, Results, Row

INSTALL = "pip install matplotlib"
# Okabe and Ito, "Color Universal Design" (2008), ordered so that neighbours differ in lightness.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
VERMILION, SKY, BLACK = "#D55E00", "#56B4E9", "#000000"
COLOURS = (BLUE, ORANGE, GREEN, PINK, VERMILION, SKY, BLACK)  # its yellow is too faint for lines
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MOST = 6  # more configurations than this can hardly be told apart in one plot
_STEPS = 6  # steps that are drawn each for itself; the quicker ones go together
_OTHER = "other steps"
_LONGEST = 40
_SAME = 1e-9
_BASELINE = "linear"
_GROUPS = ((True, "fallback", ORANGE, "///"), (False, "no fallback", BLUE, ""))
_SUPER: dict[str, Any] = {"x": 0.01, "ha": "left", "fontsize": 11}
_BESIDE: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 8}
_HEADLINES = (
    *("recall@5", "mrr", "ndcg@10", "em", "f1", "rouge_l", "contains", "accuracy"),
    *("values_accuracy", "values_proportional", "values_by_part", "faithfulness", "support"),
    *("citation_precision", "citation_recall", "answered", "refused_unanswerable"),
    *("wrong_among_answered", "auroc", "success"),
)
_STYLE = {
    "svg.hashsalt": "secondlook",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.grid.axis": "x",
    "grid.color": "#E3E3E3",
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "font.size": 10,
}


@dataclass(frozen=True, slots=True)
class Plot:
    name: str
    title: str
    caption: str = ""
    svg: bytes = b""
    png: bytes = b""
    missing: str = ""


class NothingToDraw(Exception):
    """Raised by a plot: its argument is the reason, for the reader of the report."""


def can_draw() -> bool:
    return find_spec("matplotlib") is not None


def draw(results: Results) -> tuple[Plot, ...]:
    drawn = []
    with plain_style():
        for name, (title, make) in _PLOTS.items():
            try:
                figure, caption = make(results)
            except NothingToDraw as nothing:
                drawn.append(Plot(name, title, missing=str(nothing)))
                continue
            buffer = io.BytesIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
            svg = buffer.getvalue().replace(b"\r\n", b"\n")
            figure.set_layout_engine("none")  # it is laid out: not a second time for the PNG
            png = io.BytesIO()
            figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
            drawn.append(Plot(name, title, caption, svg=svg, png=png.getvalue()))
    return tuple(drawn)


@contextmanager
def plain_style() -> Iterator[None]:
    """The same look whatever a person's matplotlibrc says, and text as text in SVG."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        # A name in a script that the built-in font lacks: a browser has other fonts.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)  # type: ignore[arg-type]
        yield


# What all plots share.


def _panels(
    height: float, rows: int = 1, columns: int = 1, **options: object
) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **options)  # type: ignore[call-overload]
    return figure, [axes for line in grid for axes in line]


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = 100 // (8 + max(map(len, labels)))
    figure.legend(handles, labels, loc="outside lower center", ncols=max(1, min(columns, 4)))


def _label(text: str, longest: int = _LONGEST) -> str:
    """One printable line; of a long name its end, by which such names differ."""
    shown = tables.one_line(text)
    return shown if len(shown) <= longest else f"…{shown[1 - longest :]}"


def _named_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [_label(name, 28) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)


def _errors(items: Sequence[Estimate]) -> list[list[float]]:
    """How far each interval reaches below and above its figure; 0 where there is no interval."""
    below, above = [], []
    for item in items:
        middle = item.value or 0.0
        below.append(max(0.0, middle - (middle if item.low is None else item.low)))
        above.append(max(0.0, (middle if item.high is None else item.high) - middle))
    return [below, above]


def _with_rest(results: Results, caption: str) -> str:
    more = len(results.summaries) - MOST
    first = f" The first {MOST} configurations; {more} more are in the tables."
    return caption + (first if more > 0 else "")


# Metrics side by side, and time.


def metrics_plot(results: Results) -> tuple[Figure, str]:
    there = set(tables.metric_names(results))
    names = [name for name in _HEADLINES if name in there]
    if not names:
        raise NothingToDraw("no metric between 0 and 1 has a figure")
    shown = list(results.summaries)[:MOST]
    figure, (axes,) = _panels(1.2 + len(names) * (0.16 + 0.1 * len(shown)))
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
                xerr=_errors([item for item, _ in points]),
                fmt=MARKERS[place],
                color=COLOURS[place],
                markersize=5,
                elinewidth=1.2,
                capsize=2,
                label=_label(name),
            )
    lower = {name: "\n(lower is better)" if tables.arrow(name) == "↓" else "" for name in names}
    axes.set_yticks(range(len(names)), [f"{name}{lower[name]}" for name in names])
    axes.set(
        ylim=(len(names) - 0.5, -0.5),
        xlim=(-0.02, 1.02),
        xlabel="mean over the questions that the metric is about",
        title="Quality by configuration, with 95 % intervals",
    )
    _legend(figure, axes)
    asked = {len({row.case for row in results.rows if row.configuration == name}) for name in shown}
    n = " to ".join(f"{size:,}" for size in sorted({min(asked), max(asked)}))
    caption = f"n = {n} questions per configuration; each metric is over those it applies to."
    return figure, _with_rest(results, caption)


def latency_plot(results: Results) -> tuple[Figure, str]:
    rows = by_configuration(results.rows)
    shown = [name for name in list(results.summaries)[:MOST] if rows.get(name)]
    if not any(row.seconds for name in shown for row in rows[name]):
        raise NothingToDraw("no time was measured")
    means: dict[str, dict[str, float]] = {}
    total: dict[str, float] = defaultdict(float)
    for name in shown:
        spent: dict[str, float] = defaultdict(float)
        for row in rows[name]:
            for node, seconds in row.seconds_by_node.items():
                spent[node] += seconds / len(rows[name])
                total[node] += seconds / len(rows[name])
        between = fmean(row.seconds for row in rows[name]) - sum(spent.values())
        means[name] = {**spent, _OTHER: max(0.0, between)}
    slowest = set(sorted(total, key=lambda step: (-total[step], step))[:_STEPS])
    figure, (axes,) = _panels(1.9 + 0.55 * len(shown))
    left = [0.0] * len(shown)
    for place, step in enumerate([*(step for step in total if step in slowest), _OTHER]):
        widths = [
            times.get(step, 0.0)
            if step != _OTHER
            else sum(taken for name, taken in times.items() if name not in slowest)
            for times in means.values()
        ]
        colour = COLOURS[place] if step != _OTHER else "#BBBBBB"
        looks: dict[str, Any] = {"color": colour, "edgecolor": "white", "linewidth": 0.5}
        bars = range(len(shown))
        axes.barh(bars, widths, left=left, height=0.6, label=_label(step, 24), **looks)
        left = [before + width for before, width in zip(left, widths, strict=True)]
    for metric, told, marker in (
        ("latency_p50", "median", "D"),
        ("latency_p95", "95th percentile", "|"),
    ):
        found = [(results.summaries[name].metrics.get(metric), y) for y, name in enumerate(shown)]
        known = [(item.value, y) for item, y in found if item and item.value is not None]
        at, ys = [value for value, _ in known], [y for _, y in known]
        axes.plot(at, ys, marker, color="black", markersize=8, label=told)
        if metric == "latency_p95":
            for value, y in known:
                axes.annotate(tables.seconds(value), (value, y), (5, 0), **_BESIDE)
    _named_rows(axes, shown)
    axes.set_xlim(0, 1.12 * axes.get_xlim()[1])
    axes.set_xlabel("seconds per question")
    axes.set_title("Where the time goes: mean per step, median and 95th percentile")
    _legend(figure, axes)
    caption = f"n = {len(results.rows):,} answers. Bars add up to the mean time of a question."
    return figure, _with_rest(results, caption)


# When a second search was made, and what it changed.


def _falling_back(rows: dict[str, list[Row]]) -> str | None:
    """The configuration that splits the questions: the first with both groups, else any."""
    fired = {name: len(fell_back(those)) for name, those in rows.items()}
    some = [name for name, many in fired.items() if many]
    both = [name for name in some if fired[name] < len({row.case for row in rows[name]})]
    return next(iter([*both, *some]), None)


def rerank_scores_plot(results: Results) -> tuple[Figure, str]:
    rows = by_configuration(results.rows)
    name = _falling_back(rows) or next(iter(rows), None)
    those = rows.get(name or "", [])
    lowest = [(row, score) for row in those if (score := lowest_of_best(row)) is not None]
    if not lowest:
        raise NothingToDraw("no passage was scored by the reader")
    # Only a search that was not repeated still shows the scores it was judged by; these are kept
    # with fewer digits than the decision was made with.
    first = [(score, row.trigger) for row, score in lowest if not row.fallback and row.trigger]
    decides = bool(first) and all(abs(score - by) < 1e-3 for score, by in first)  # noqa: PLR2004
    found = (row.trigger_below for row in those if decides and row.trigger_below is not None)
    threshold = next(found, None)
    figure, (axes,) = _panels(3.4)
    scores = [score for _, score in lowest]
    groups = [[score for row, score in lowest if row.fallback is fired] for fired, *_ in _GROUPS]
    # One edge lies on the threshold, so that no bar stands on both sides of it.
    width = (max(scores) - min(scores)) / 30 or 1.0
    start = min(scores) if threshold is None else threshold
    below = math.ceil((start - min(scores)) / width)
    above = math.floor((max(scores) - start) / width) + 1
    sized = zip(_GROUPS, groups, strict=True)
    axes.hist(
        groups,
        bins=[start + step * width for step in range(min(-below, above - 1), above + 1)],
        stacked=True,
        color=[colour for *_, colour, _ in _GROUPS],
        label=[f"{said} (n = {len(of)})" for (_, said, *_), of in sized],
        edgecolor="white",
        linewidth=0.5,
    )
    if threshold is not None:
        said = f"searches again below {tables.scalar(threshold)}"
        axes.axvline(threshold, color="black", linestyle="--", linewidth=1.5, label=said)
    axes.grid(visible=True, axis="y")
    title = "Reranker's scores, by whether the fallback fired"
    axes.set(xlabel="lowest reranker's score among the best five", ylabel="questions", title=title)
    _legend(figure, axes)
    fired = sum(row.fallback for row in those)
    return figure, f"{name}: n = {len(those):,} answers, fallback in {fired:,} of them."


def f1_changes_plot(results: Results) -> tuple[Figure, str]:
    rows = by_configuration(results.rows)
    other = _falling_back(rows)
    if other is None:
        raise NothingToDraw("the fallback fired in no configuration")
    rest = [name for name in rows if name != other]
    if not rest:
        raise NothingToDraw("there is only one configuration, so nothing to compare with")
    base = min(rest, key=lambda name: (bool(fell_back(rows[name])), name != _BASELINE))
    found = changes(Figures(rows[base]), Figures(rows[other]), "f1")
    if not any(abs(change) > _SAME for change in found.values()):
        raise NothingToDraw(f"F1 is the same in {base} and {other} for every question")
    fired = fell_back(rows[other])
    figure, axes = _panels(3.6, columns=2, sharey=True)
    for panel, (wanted, said, *_) in zip(axes, _GROUPS, strict=True):
        _waterfall(panel, sorted(one for case, one in found.items() if (case in fired) is wanted))
        panel.set_title(f"{said} {panel.get_title(loc='left')}", fontsize=9.5)
    names = [_label(name, 20) for name in (other, base)]
    axes[0].set_ylabel(f"F1 of {names[0]} minus {names[1]}", fontsize=9)
    height = 1.25 * max(0.1, *map(abs, found.values()))
    axes[0].set_ylim(-height, height)
    figure.suptitle("Change in F1 of each question", **_SUPER)
    _legend(figure, axes[0])
    caption = (
        f"n = {len(found):,} questions with a right answer, split by whether the fallback fired "
        f"in {other}."
    )
    return figure, caption


def _waterfall(axes: Axes, ordered: Sequence[float]) -> None:
    import numpy as np

    up, down = sum(one > _SAME for one in ordered), sum(one < -_SAME for one in ordered)
    same = len(ordered) - up - down
    axes.set_title(
        f"(n = {len(ordered):,})\n{up:,} improved, {same:,} same, {down:,} degraded", loc="left"
    )
    axes.set_xlabel("questions, by change")
    axes.grid(visible=True, axis="y")
    axes.axhline(0, color="black", linewidth=0.8)
    if not ordered:
        return
    # Each question is as wide as the others: the curve is its sorted changes, as steps.
    share = np.linspace(0, 1, min(400, max(2, 8 * len(ordered))))
    heights = np.asarray(ordered)[np.minimum((share * len(ordered)).astype(int), len(ordered) - 1)]
    for sign, colour, told in ((1, SKY, "improved"), (-1, VERMILION, "degraded")):
        part = np.maximum(sign * heights, 0) * sign
        axes.fill_between(share * len(ordered), part, facecolor=colour, label=told)
    mean = fmean(ordered)
    said = f"mean change {tables.number(mean, signed=True)}"
    axes.axhline(mean, color="black", linestyle="--", linewidth=1.2, label="mean change")
    axes.annotate(said, (0.03, 0.95), xycoords="axes fraction", va="top", fontsize=9)


def impact_plot(results: Results) -> tuple[Figure, str]:
    rows = by_configuration(results.rows)
    splitting = _falling_back(rows)
    if splitting is None:
        raise NothingToDraw("the fallback fired in no configuration")
    shown = [name for name in results.summaries if rows.get(name)][:MOST]
    fired = fell_back(rows[splitting])
    there = {metric for name in shown for row in rows[name] for metric in row.metrics}
    metrics = [metric for metric in ("f1", "faithfulness") if metric in there]
    if not metrics:
        raise NothingToDraw("neither F1 nor faithfulness has a figure")
    figure, axes = _panels(1.7 + 0.5 * len(shown), columns=len(metrics), sharey=True)
    for panel, metric in zip(axes, metrics, strict=True):
        panel.set_title(metric, fontsize=10)
        panel.set_xlim(0, 1.14)
        panel.set_xlabel("mean")
        for place, (wanted, said, colour, hatch) in enumerate(_GROUPS):
            found = []
            for name in shown:
                by_case = question_values(rows[name], metric).items()
                values = [value for case, value in by_case if (case in fired) is wanted]
                found.append(statistics.interval(values))
            at = [y - 0.19 + 0.38 * place for y in range(len(shown))]
            looks: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white"}
            means, (below, above) = [item.value or 0.0 for item in found], _errors(found)
            panel.barh(at, means, xerr=[below, above], height=0.36, label=said, **looks)
            for item, mean, more, y in zip(found, means, above, at, strict=True):
                text = "no questions" if item.value is None else tables.number(mean)
                panel.annotate(text, (mean + more, y), (4, 0), **_BESIDE)
    _named_rows(axes[0], shown)
    figure.suptitle("F1 and faithfulness where the fallback fired, and elsewhere", **_SUPER)
    _legend(figure, axes[0])
    caption = (
        f"The same questions in every configuration: the fallback fired in {splitting} for "
        f"{len(fired):,} of n = {len({row.case for row in rows[splitting]}):,}. "
        "Lines: 95 % intervals."
    )
    return figure, caption


_PLOTS: dict[str, tuple[str, Callable[[Results], tuple[Figure, str]]]] = {
    "metrics": ("Quality by configuration", metrics_plot),
    "rerank_scores": ("Reranker's scores and the trigger", rerank_scores_plot),
    "f1_changes": ("Change in F1 of each question", f1_changes_plot),
    "fallback_impact": ("Impact of the fallback", impact_plot),
    "latency": ("Time", latency_plot),
}
