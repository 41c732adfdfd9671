"""What one configuration made of each question: computed once, however often it is compared."""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING, Literal

from secondlook.evaluation.questions import question_values, rightness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from secondlook.evaluation.records import Row

Each = Literal[
    "seconds", "calls", "tokens", "cost", "steps", "fallback", "again", "right", "wrong", "withheld"
]
_EACH: dict[Each, Callable[[Row], float]] = {
    "seconds": lambda row: row.seconds,
    "calls": lambda row: row.llm_calls,
    "tokens": lambda row: row.tokens_in + row.tokens_out,
    "cost": lambda row: row.cost or 0.0,
    "steps": lambda row: len(row.seconds_by_node),
    "fallback": lambda row: row.fallback,
    "again": lambda row: row.retries > 0,
    "right": lambda row: rightness(row) is True,
    "wrong": lambda row: rightness(row) is False,
    "withheld": lambda row: row.status in {"abstained", "refused"},
}


class Figures:
    """The rows of one configuration, by question; repeats are averaged."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.cases = {row.case for row in rows}
        self._metrics: dict[str, dict[str, float]] = {}
        self._each: dict[Each, dict[str, float]] = {}

    @classmethod
    def of(cls, given: Sequence[Row] | Figures) -> Figures:
        return given if isinstance(given, Figures) else cls(given)

    @property
    def name(self) -> str:
        return self.rows[0].configuration if self.rows else ""

    def metric(self, name: str) -> Mapping[str, float]:
        """Of the questions that the metric is over."""
        if name not in self._metrics:
            self._metrics[name] = question_values(self.rows, name)
        return self._metrics[name]

    def each(self, name: Each) -> Mapping[str, float]:
        """Of every question: a figure that is no metric, or a share of its repeats."""
        if name not in self._each:
            self._each[name] = _by_question(self.rows, _EACH[name])
        return self._each[name]

    def mean(self, name: Each, cases: Iterable[str]) -> float:
        found = self.each(name)
        return fmean(found[case] for case in cases)

    def cost(self, cases: Iterable[str]) -> float | None:
        """Dollars per question; None when the price of any is unknown."""
        return None if any(row.cost is None for row in self.rows) else self.mean("cost", cases)

    def seconds(self, cases: Iterable[str]) -> float:
        """Of the median question."""
        found = self.each("seconds")
        return median(found[case] for case in cases)

    def fell_back(self) -> set[str]:
        """Questions for which a second search was made, in any repeat."""
        return {case for case, share in self.each("fallback").items() if share}


def _by_question(rows: Iterable[Row], figure: Callable[[Row], float]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row.case, []).append(figure(row))
    return {case: fmean(values) for case, values in found.items()}
