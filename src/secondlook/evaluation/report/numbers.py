"""How figures and names are written, the same in the terminal and on the page. A missing figure is
a dash."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from secondlook.evaluation.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Estimate, Results

DASH = "\N{EN DASH}"
_SECONDS = frozenset({"latency_p50", "latency_p95", "seconds_per_10_graded"})


def number(value: float | None, *, signed: bool = False) -> str:
    """Three decimals, fewer for what is large: `0.812`, `845`, `12.3k`."""
    if value is None or not math.isfinite(value):
        return DASH
    sign = "+" if signed else ""
    if abs(value) >= 10_000:  # noqa: PLR2004
        return f"{value / 1000:{sign},.1f}k"
    if abs(value) >= 100:  # noqa: PLR2004
        return f"{value:{sign},.0f}"
    written = f"{value:{sign}.3f}"
    return "0.000" if written == "-0.000" else written


def count(value: int | None) -> str:
    return DASH if value is None else f"{value:,}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def seconds(value: float | None, *, signed: bool = False) -> str:
    """`3.2 ms`, `312 ms`, `1.25 s`, `75 s`."""
    if value is None or not math.isfinite(value):
        return DASH
    sign, size = ("+" if signed else ""), abs(value)
    if size >= 1:
        return f"{value:{sign},.{0 if size >= 60 else 2}f} s"  # noqa: PLR2004
    return f"{value * 1000:{sign}.{0 if size >= 0.01 or not size else 1}f} ms"  # noqa: PLR2004


def dollars(value: float | None, *, signed: bool = False) -> str:
    """As many decimals as a price per question needs: `$0`, `$0.0004`, `$1.20`."""
    if value is None or not math.isfinite(value):
        return DASH
    sign, size = "-" if value < 0 else "+" if signed else "", abs(value)
    return f"{sign}${size:.{max(2, 1 - math.floor(math.log10(size)))}f}" if size else f"{sign}$0"


def p_value(p: float | None) -> str:
    if p is None or not math.isfinite(p):
        return DASH
    return "<.001" if p < 0.001 else f"{p:.3f}"  # noqa: PLR2004


def scalar(value: Scalar) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def figure(value: float | None, metric: str, *, signed: bool = False) -> str:
    form = seconds if metric in _SECONDS else dollars if metric == "cost" else number
    return form(value, signed=signed)


def between(low: float | None, high: float | None, metric: str, *, signed: bool = False) -> str:
    """An interval. A word keeps signed bounds apart."""
    if low is None or high is None or not math.isfinite(low) or not math.isfinite(high):
        return ""
    first, last = figure(low, metric, signed=signed), figure(high, metric, signed=signed)
    return f"{first}{' to ' if signed or first.startswith('-') else DASH}{last}"


def estimate(item: Estimate | None, metric: str, *, form: str = "{} {}") -> str:
    if item is None:
        return DASH
    value, interval = figure(item.value, metric), between(item.low, item.high, metric)
    if value == DASH or not interval or figure(item.low, metric) == figure(item.high, metric):
        return value
    return form.format(value, interval)


def one_line(text: str) -> str:
    """Text of others, without what could steer a terminal or break a file."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def arrow(metric: str) -> str:
    better = METRICS[metric].better if metric in METRICS else "neither"
    return {"higher": "↑", "lower": "↓", "neither": ""}[better]


def metric_names(results: Results) -> list[str]:
    found = (item.metrics.items() for item in results.summaries.values())
    return in_order({name for items in found for name, item in items if item.value is not None})


def in_order(names: Iterable[str]) -> list[str]:
    """As in the catalogue; unknown ones come last, by name."""
    places = {name: place for place, name in enumerate(METRICS)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))
