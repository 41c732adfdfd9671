"""Quality, time, and what a second search changed. Colours differ in grey too, and files come out
the same every time."""

from __future__ import annotations

import io
import warnings
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING

from secondlook.evaluation.comparison import changes
from secondlook.evaluation.questions import (
    Figures,
    by_configuration,
    fell_back,
    lowest_of_best,
    question_values,
)
from secondlook.evaluation.report import tables
from secondlook.evaluation.statistics import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from secondlook.evaluation.records import Estimate, Results, Row

    Made = tuple[Figure, str] | None  # with its caption; None where there is nothing to draw

INSTALL = "pip install matplotlib"
# Okabe and Ito, "Color Universal Design" (2008), ordered so that neighbours differ in lightness.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
*_, VERMILION, SKY = COLOURS
MARKERS = ("o", "s", "^", "D", "v", "P")
MOST = len(COLOURS)  # more configurations, or steps, can hardly be told apart in one plot
_SAME = 1e-9
_BASELINE = "linear"
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
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "legend.frameon": False,
}


@dataclass(frozen=True, slots=True)
class Plot:
    name: str
    title: str
    caption: str
    svg: bytes
    png: bytes


def can_draw() -> bool:
    return find_spec("matplotlib") is not None


def draw(results: Results) -> tuple[Plot, ...]:
    """Those plots for which there is something to draw."""
    drawn = []
    with plain_style():
        for name, (title, make) in PLOTS.items():
            if (made := make(results)) is None:
                continue
            figure, caption = made
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


def _panels(height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, height), layout="constrained")
    return figure, list(figure.subplots(1, columns, squeeze=False, sharey=True)[0])


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = max(1, min(4, 100 // (8 + max(map(len, labels)))))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def _label(text: str, longest: int = 28) -> str:
    """One printable line; of a long name its end, by which such names differ."""
    shown = tables.one_line(text)
    return shown if len(shown) <= longest else f"…{shown[1 - longest :]}"


def _named_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [_label(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)


def _errors(items: Sequence[Estimate]) -> list[list[float]]:
    """How far each interval reaches below and above its figure; 0 where there is no interval."""
    known = [
        (middle, middle if one.low is None else one.low, middle if one.high is None else one.high)
        for one in items
        for middle in [one.value or 0.0]
    ]
    below = [max(0.0, middle - low) for middle, low, _ in known]
    return [below, [max(0.0, high - middle) for middle, _, high in known]]


def _with_rest(results: Results, caption: str) -> str:
    more = len(results.summaries) - MOST
    first = f" The first {MOST} configurations; {more} more are in the tables."
    return caption + (first if more > 0 else "")


def metrics_plot(results: Results) -> Made:
    there = set(tables.metric_names(results))
    names = [name for name in _HEADLINES if name in there]
    if not names:
        return None
    shown = list(results.summaries)[:MOST]
    figure, (axes,) = _panels(1.2 + len(names) * (0.16 + 0.1 * len(shown)))
    for place, name in enumerate(shown):
        offset = (place - (len(shown) - 1) / 2) * 0.8 / max(len(shown), 2)
        found = results.summaries[name].metrics
        points = [(found[metric], y + offset) for y, metric in enumerate(names) if metric in found]
        points = [(item, y) for item, y in points if item.value is not None]
        axes.errorbar(
            [item.value or 0.0 for item, _ in points],
            [y for _, y in points],
            xerr=_errors([item for item, _ in points]),
            fmt=MARKERS[place],
            color=COLOURS[place],
            capsize=2,
            label=_label(name),
        )
    axes.set_yticks(range(len(names)), [f"{name} {tables.arrow(name)}" for name in names])
    axes.set(
        ylim=(len(names) - 0.5, -0.5),
        xlim=(-0.02, 1.02),
        xlabel="mean over the questions that the metric is about",
        title="Quality by configuration, with 95 % intervals",
    )
    _legend(figure, axes)
    asked = len({row.case for row in results.rows})
    caption = f"n = {asked:,} questions; each metric is over those it applies to."
    return figure, _with_rest(results, caption)


def latency_plot(results: Results) -> Made:
    rows = by_configuration(results.rows)
    shown = [name for name in list(results.summaries)[:MOST] if rows.get(name)]
    if not any(row.seconds for name in shown for row in rows[name]):
        return None
    means = []
    for name in shown:
        spent: defaultdict[str, float] = defaultdict(float)
        for row in rows[name]:
            for node, seconds in row.seconds_by_node.items():
                spent[node] += seconds / len(rows[name])
        means.append(spent)
    every = {step: sum(spent.get(step, 0.0) for spent in means) for step in chain(*means)}
    slowest = sorted(every, key=lambda step: -every[step])[:MOST]
    figure, (axes,) = _panels(1.9 + 0.55 * len(shown))
    left = [0.0] * len(shown)
    for step, colour in [*zip(slowest, COLOURS, strict=False), ("other steps", "#BBBBBB")]:
        if step in slowest:
            widths = [spent[step] for spent in means]
        else:
            whole = [fmean(row.seconds for row in rows[name]) for name in shown]
            widths = [max(0.0, all_ - drawn) for all_, drawn in zip(whole, left, strict=True)]
        axes.barh(range(len(shown)), widths, left=left, color=colour, label=_label(step))
        left = [before + width for before, width in zip(left, widths, strict=True)]
    for metric, told, marker in (("p50", "median", "D"), ("p95", "95th percentile", "|")):
        found = [results.summaries[name].metrics.get(f"latency_{metric}") for name in shown]
        known = [(item.value, y) for y, item in enumerate(found) if item and item.value is not None]
        at, ys = [value for value, _ in known], [y for _, y in known]
        axes.plot(at, ys, marker, color="black", markersize=8, label=told)
    _named_rows(axes, shown)
    axes.set_xlabel("seconds per question")
    axes.set_title("Where the time goes: mean per step, median and 95th percentile")
    _legend(figure, axes)
    caption = f"n = {len(results.rows):,} answers. Bars add up to the mean time of a question."
    return figure, _with_rest(results, caption)


# When a second search was made, and what it changed.

_GROUPS = ((True, "fallback", VERMILION), (False, "no fallback", SKY))


def _falling_back(rows: Mapping[str, Sequence[Row]]) -> str | None:
    """The configuration that splits the questions: the first with both groups, else any."""
    fired = {name: len(fell_back(those)) for name, those in rows.items()}
    some = [name for name, many in fired.items() if many]
    both = [name for name in some if fired[name] < len({row.case for row in rows[name]})]
    return next(iter([*both, *some]), None)


def rerank_scores_plot(results: Results) -> Made:
    rows = by_configuration(results.rows)
    name = _falling_back(rows) or next(iter(rows), "")
    held = [(row, lowest_of_best(row)) for row in rows.get(name, ())]
    lowest = [(row, score) for row, score in held if score is not None]
    if not lowest:
        return None
    figure, (axes,) = _panels(3.4)
    groups = [[score for row, score in lowest if row.fallback is fired] for fired, *_ in _GROUPS]
    axes.hist(
        groups,
        bins=30,
        stacked=True,
        color=[colour for *_, colour in _GROUPS],
        label=[f"{said} (n = {len(of)})" for (_, said, _), of in zip(_GROUPS, groups, strict=True)],
    )
    # Only a search that was not repeated still shows the scores it was judged by; these are kept
    # with fewer digits than the decision was made with.
    first = [(score, row.trigger) for row, score in lowest if not row.fallback and row.trigger]
    decides = bool(first) and all(abs(score - by) < 1e-3 for score, by in first)  # noqa: PLR2004
    below = next((row.trigger_below for row in rows[name] if row.trigger_below is not None), None)
    if decides and below is not None:
        said = f"searches again below {tables.plain(below)}"
        axes.axvline(below, color="black", linestyle="--", label=said)
    title = "Reranker's scores, by whether the fallback fired"
    axes.set(xlabel="lowest reranker's score among the best five", ylabel="questions", title=title)
    _legend(figure, axes)
    fired = sum(row.fallback for row in rows[name])
    return figure, f"{name}: n = {len(rows[name]):,} answers, fallback in {fired:,} of them."


def impact_plot(results: Results) -> Made:
    rows = by_configuration(results.rows)
    splitting = _falling_back(rows)
    there = {metric for those in rows.values() for row in those for metric in row.metrics}
    metrics = [metric for metric in ("f1", "faithfulness") if metric in there]
    if splitting is None or not metrics:
        return None
    shown = [name for name in results.summaries if rows.get(name)][:MOST]
    fired = fell_back(rows[splitting])
    figure, panels = _panels(1.7 + 0.5 * len(shown), columns=len(metrics))
    for axes, metric in zip(panels, metrics, strict=True):
        axes.set(title=metric, xlabel="mean", xlim=(0, 1.14))
        for place, (wanted, said, colour) in enumerate(_GROUPS):
            by_name = [question_values(rows[name], metric).items() for name in shown]
            found = [
                interval([value for case, value in by_case if (case in fired) is wanted])
                for by_case in by_name
            ]
            at = [y - 0.19 + 0.38 * place for y in range(len(shown))]
            means = [item.value or 0.0 for item in found]
            bars = axes.barh(at, means, xerr=_errors(found), height=0.36, label=said, color=colour)
            told = ["none" if one.value is None else tables.number(one.value) for one in found]
            axes.bar_label(bars, told, padding=4, fontsize=8)
    _named_rows(panels[0], shown)
    figure.suptitle("F1 and faithfulness where the fallback fired, and elsewhere")
    _legend(figure, panels[0])
    asked = len({row.case for row in rows[splitting]})
    caption = (
        f"The same questions in every configuration: the fallback fired in {splitting} for "
        f"{len(fired):,} of n = {asked:,}. Lines: 95 % intervals."
    )
    return figure, caption


def f1_changes_plot(results: Results) -> Made:
    rows = by_configuration(results.rows)
    other = _falling_back(rows)
    rest = [name for name in rows if name != other]
    if other is None or not rest:
        return None
    base = min(rest, key=lambda name: (bool(fell_back(rows[name])), name != _BASELINE))
    found = changes(Figures(rows[base]), Figures(rows[other]), "f1")
    if not any(abs(change) > _SAME for change in found.values()):
        return None
    fired = fell_back(rows[other])
    figure, panels = _panels(3.6, columns=2)
    for axes, (wanted, said, _) in zip(panels, _GROUPS, strict=True):
        ordered = sorted(one for case, one in found.items() if (case in fired) is wanted)
        up, down = sum(one > _SAME for one in ordered), sum(one < -_SAME for one in ordered)
        mean = f"mean change {tables.number(fmean(ordered), signed=True)}" if ordered else ""
        axes.set_title(
            f"{said} (n = {len(ordered):,}) {mean}\n{up:,} improved, "
            f"{len(ordered) - up - down:,} same, {down:,} degraded"
        )
        axes.set_xlabel("questions, by change")
        axes.axhline(0, color="black", linewidth=0.8)
        places = range(len(ordered))
        for colour, told, part in (
            (SKY, "improved", [max(0.0, one) for one in ordered]),
            (VERMILION, "degraded", [min(0.0, one) for one in ordered]),
        ):
            axes.fill_between(places, part, step="mid", color=colour, label=told)
    panels[0].set_ylabel(f"F1 of {_label(other, 20)} minus {_label(base, 20)}")
    figure.suptitle("Change in F1 of each question")
    _legend(figure, panels[0])
    caption = (
        f"n = {len(found):,} questions with a right answer, split by whether the fallback fired "
        f"in {other}."
    )
    return figure, caption


PLOTS: dict[str, tuple[str, Callable[[Results], Made]]] = {
    "metrics": ("Quality by configuration", metrics_plot),
    "rerank_scores": ("Reranker's scores and the trigger", rerank_scores_plot),
    "fallback_impact": ("Impact of the fallback", impact_plot),
    "f1_changes": ("Change in F1 of each question", f1_changes_plot),
    "latency": ("Time", latency_plot),
}
