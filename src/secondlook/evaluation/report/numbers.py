"""How figures and names are written, the same in the terminal and in the page. What is not there
is a dash; "not a number" is never printed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.questions import question_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Estimate, Results, Row

DASH = "\N{EN DASH}"
_SECONDS = frozenset({"latency_p50", "latency_p95", "seconds_per_10_graded"})
_DOLLARS = frozenset({"cost"})
_THOUSANDS = 10_000
_WHOLE = 100
_MINUTE = 60
_SMALLEST_P = 0.001


def is_there(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def number(value: float | None, *, signed: bool = False) -> str:
    """Three decimals, fewer for what is large: `0.812`, `845`, `12.3k`."""
    if value is None or not math.isfinite(value):
        return DASH
    sign = "+" if signed else ""
    size = abs(value)
    if size >= _THOUSANDS:
        return f"{value / 1000:{sign},.1f}k"
    if size >= _WHOLE:
        return f"{value:{sign},.0f}"
    written = f"{value:{sign}.3f}"
    return written.replace("-", "") if written == "-0.000" else written


def count(value: int | None) -> str:
    return DASH if value is None else f"{value:,}"


def percent(value: float | None) -> str:
    return f"{100 * value:.1f} %" if value is not None and math.isfinite(value) else DASH


def seconds(value: float | None, *, signed: bool = False) -> str:
    """`3.2 ms`, `312 ms`, `1.25 s`, `75 s`."""
    if value is None or not math.isfinite(value):
        return DASH
    sign, size = ("+" if signed else ""), abs(value)
    if size >= _MINUTE:
        return f"{value:{sign},.0f} s"
    if size >= 1:
        return f"{value:{sign}.2f} s"
    return f"{value * 1000:{sign}.{0 if size >= 0.01 or not size else 1}f} ms"  # noqa: PLR2004


def dollars(value: float | None, *, signed: bool = False) -> str:
    """As many decimals as a price per question needs: `$0`, `$0.0004`, `$1.20`."""
    if value is None or not math.isfinite(value):
        return DASH
    sign = "-" if value < 0 else "+" if signed else ""
    size = abs(value)
    if not size:
        return f"{sign}$0"
    decimals = max(2, 1 - math.floor(math.log10(size)))
    return f"{sign}${size:.{decimals}f}"


def p_value(p: float | None) -> str:
    if p is None or not math.isfinite(p):
        return DASH
    return "<.001" if p < _SMALLEST_P else f"{p:.3f}"


def scalar(value: Scalar) -> str:
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return DASH if not math.isfinite(value) else f"{value:.6g}"
    return str(value)


def figure(value: float | None, metric: str, *, signed: bool = False) -> str:
    """In the metric's own unit."""
    if metric in _SECONDS:
        return seconds(value, signed=signed)
    if metric in _DOLLARS:
        return dollars(value, signed=signed)
    return number(value, signed=signed)


def between(low: float | None, high: float | None, metric: str, *, signed: bool = False) -> str:
    """An interval, with its unit once. Signed bounds are kept apart by a word."""
    if not is_there(low) or not is_there(high):
        return ""
    first, last = figure(low, metric, signed=signed), figure(high, metric, signed=signed)
    if signed or first.startswith("-"):
        return f"{first} to {last}"
    unit = last.partition(" ")[2]
    first = first.removesuffix(f" {unit}") if unit else first
    return f"{first}{DASH}{last.removeprefix('$')}"


def estimate(item: Estimate | None, metric: str, *, form: str = "{} {}") -> str:
    """The figure and its interval, with the unit once; without an interval that adds nothing."""
    if item is None:
        return DASH
    value = figure(item.value, metric)
    interval = between(item.low, item.high, metric).removeprefix("$")
    tells_nothing = figure(item.low, metric) == figure(item.high, metric) == value
    if not is_there(item.value) or not interval or tells_nothing:
        return value
    unit = value.partition(" ")[2]
    return form.format(value, interval.removesuffix(f" {unit}") if unit else interval)


def one_line(text: str) -> str:
    """Names and words of others, without what could steer a terminal or break a file."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def arrow(metric: str) -> str:
    """Which way is better, where one is."""
    better = METRICS[metric].better if metric in METRICS else "neither"
    return {"higher": "↑", "lower": "↓", "neither": ""}[better]


# What tables and plots pick out of the rows.

_BEST = 5
"""How many passages an answer is made from, unless set otherwise."""

_BASELINE = "linear"

HEADLINES = (
    "recall@5",
    "mrr",
    "ndcg@10",
    "em",
    "f1",
    "rouge_l",
    "contains",
    "accuracy",
    "values_accuracy",
    "values_proportional",
    "values_by_part",
    "faithfulness",
    "support",
    "citation_precision",
    "citation_recall",
    "answered",
    "refused_unanswerable",
    "wrong_among_answered",
    "auroc",
    "success",
)
"""Shares and scores from 0 to 1 that a reader looks for first."""


@dataclass(frozen=True, slots=True)
class Change:
    """One question under two configurations."""

    base: Row
    other: Row
    difference: float


def values(rows: Sequence[Row], metric: str) -> dict[str, float]:
    """Of each question that has the figure: its mean over the repeats."""
    known = METRICS.get(metric)
    return question_values(rows, metric) if known is not None and known.per_question else {}


def fell_back(rows: Iterable[Row]) -> frozenset[str]:
    """Questions where the fallback fired, in any repeat."""
    return frozenset(row.case for row in rows if row.fallback)


def lowest_of_best(row: Row) -> float | None:
    """The lowest score among the best five that were read."""
    scores = sorted((score for _, score in row.read if math.isfinite(score)), reverse=True)
    return min(scores[:_BEST], default=None)


def metric_names(results: Results) -> list[str]:
    """Those that have a figure in any configuration, in the order of the catalogue."""
    there = {
        name
        for summary in results.summaries.values()
        for name, item in summary.metrics.items()
        if item.value is not None
    }
    return in_order(there)


def in_order(names: Iterable[str]) -> list[str]:
    """As in the catalogue; what it does not know comes last, by name."""
    places = {name: place for place, name in enumerate(METRICS)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


def headlines(results: Results) -> list[str]:
    there = set(metric_names(results))
    return [name for name in HEADLINES if name in there]


def falling_back(rows: Mapping[str, Sequence[Row]]) -> str | None:
    """The configuration that the questions are split by: the first with both groups, else the
    first where the fallback fired at all."""
    fired = {name: len(fell_back(those)) for name, those in rows.items()}
    some = [name for name, number in fired.items() if number]
    both = [name for name in some if fired[name] < len({row.case for row in rows[name]})]
    return next(iter([*both, *some]), None)


def base_of(rows: Mapping[str, Sequence[Row]], other: str) -> str | None:
    """What `other` is best shown against: one without a fallback if there is one, and of these
    the baseline rather than one with something else switched off."""
    rest = [name for name in rows if name != other]
    ordered = sorted(rest, key=lambda name: (bool(fell_back(rows[name])), name != _BASELINE))
    return next(iter(ordered), None)


def changes(base: Sequence[Row], other: Sequence[Row], metric: str) -> list[Change]:
    """Every question that both have the figure for, the largest change first."""
    before, after = values(base, metric), values(other, metric)
    firsts = {row.case: row for row in reversed(base)}
    lasts = {row.case: row for row in reversed(other)}
    pairs = [
        Change(firsts[case], lasts[case], after[case] - before[case])
        for case in before
        if case in after
    ]
    return sorted(pairs, key=lambda item: (-abs(item.difference), item.base.case))
