"""How figures and names are written, the same in the terminal and in the page. What is not there
is a dash; "not a number" is never printed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from secondlook.evaluation.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Estimate

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
