"""A table as text in cells, and how a cell is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.report import numbers
from secondlook.evaluation.report.numbers import DASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.evaluation.records import Difference, Estimate

PARTS = {"all": "all", "fallback": "fallback", "no_fallback": "no fallback"}


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int = 1
    """How many columns at the left are words; the others are figures and stand at the right."""
    note: str = ""
    words: frozenset[int] = frozenset()
    """Further columns that are words."""

    def is_text(self, column: int) -> bool:
        return column < self.texts or column in self.words


def short_difference(item: Difference | None) -> tuple[str, str, str, str]:
    """Difference, interval, p, and p corrected for how many comparisons were made together."""
    if item is None:
        return DASH, DASH, DASH, DASH
    return (
        numbers.figure(item.difference, item.metric, signed=True),
        numbers.between(item.low, item.high, item.metric, signed=True) or DASH,
        numbers.p_value(item.p),
        numbers.p_value(item.p_holm),
    )


def estimate(figures: Mapping[str, Estimate], metric: str) -> str:
    return numbers.estimate(figures.get(metric), metric, form="{} ({})")


def value(figures: Mapping[str, Estimate], metric: str) -> str:
    item = figures.get(metric)
    return numbers.figure(item.value if item else None, metric)


def plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {plain(item)}" for key, item in value.items()) or DASH
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value) or DASH
    return numbers.scalar(value)
