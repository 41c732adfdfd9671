"""How a figure is written in a table, and how a table is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

NOTHING = "–"  # noqa: RUF001 - a dash, as tables have it


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def score(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def share(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.1f} %"


def seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f} s"


def count(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def points(value: float) -> str:
    """A difference in hundredths, signed; never "-0.0"."""
    return f"{round(100 * value, 1) + 0.0:+.1f}"


def chance(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


_WRITTEN: dict[str, Callable[[float | None], str]] = {
    "latency_p50": seconds,
    "latency_p95": seconds,
    "tokens_in": count,
    "tokens_out": count,
    **dict.fromkeys(
        (
            *("answered", "answered_answerable", "wrong_among_answered", "refused_unanswerable"),
            *("fallback_rate", "web_rate", "prompt_leak", "failed"),
        ),
        share,
    ),
}


def value(metrics: Mapping[str, Any], name: str) -> str:
    return _WRITTEN.get(name, score)((metrics.get(name) or {}).get("value"))


def ranged(metrics: Mapping[str, Any], name: str) -> str:
    """With its 95 % interval, where there is one."""
    found = metrics.get(name) or {}
    if found.get("low") is None:
        return value(metrics, name)
    return f"{score(found['value'])} ({score(found['low'])} to {score(found['high'])})"
