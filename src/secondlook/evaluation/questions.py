"""What each question comes to under one metric: from what was measured, or from how it ended."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING, Literal

from secondlook.errors import UsageError
from secondlook.evaluation.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from secondlook.evaluation.metrics import Metric
    from secondlook.evaluation.records import Analysed, Researched, Row

if TYPE_CHECKING:
    Figure = Callable[[Row], float | None]
    """None where the metric is not over the question."""


def by_configuration(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """In the order in which the configurations come."""
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.configuration, []).append(row)
    return grouped


def question_values(rows: Sequence[Row], metric: str) -> dict[str, float]:
    """By question, the mean over its repeats, for the questions that the metric is over.

    `rows` are those of one configuration. What failed counts 0 wherever a right answer would have
    counted. Empty where the metric does not apply, and for `cost` where one price is unknown: a
    mean over the others would be the price of other questions.
    """
    figure = _figure(metric, rows)
    gathered: dict[str, list[float]] = {}
    for row in rows:
        value = figure(row)
        if value is not None and math.isfinite(value):
            gathered.setdefault(row.case, []).append(value)
    return {case: math.fsum(gathered[case]) / len(gathered[case]) for case in sorted(gathered)}


def is_failed(row: Row) -> bool:
    return row.status == "failed"


def can_be_judged(row: Row) -> bool:
    """Whether it is known what would have been right: an answer, or none."""
    return not row.answerable or row.scored or row.right is not None or "accuracy" in row.metrics


def rightness(row: Row) -> bool | None:
    """Of an answer that was given, if it is right: none is where there is no answer."""
    if not row.answered:
        return None
    return row.right if row.answerable else False


def succeeded(row: Row) -> bool | None:
    """Right, or withheld where there is no answer; None where that cannot be judged."""
    if is_failed(row):
        return False if can_be_judged(row) else None
    if row.answered:
        return rightness(row)
    if not row.answerable:
        return True
    return False if can_be_judged(row) else None


def _figure(metric: str, rows: Sequence[Row]) -> Figure:
    known = METRICS.get(metric)
    if known is None or not known.per_question:
        raise UsageError(
            f"{metric!r} is not a figure of each question",
            hint="docs/metrics.md lists the metrics and what each is over",
        )
    if metric == "cost" and any(row.cost is None for row in rows):
        return lambda _: None
    return _OF_ROW.get(metric) or _measured(known, rows)


def _measured(metric: Metric, rows: Sequence[Row]) -> Figure:
    nothing = not any(row.metrics for row in rows)
    applies = any(metric.name in row.metrics for row in rows) or (
        nothing and metric.over in {"scored", "all"}
    )

    def figure(row: Row) -> float | None:
        if not _is_over(metric, row):
            return None
        # A run that broke down measured nothing; one that ended as failed measured what it could.
        unmeasured = 0.0 if applies and is_failed(row) and not row.metrics else None
        return row.metrics.get(metric.name, unmeasured)

    return figure


def _is_over(metric: Metric, row: Row) -> bool:
    if metric.over == "all":
        return can_be_judged(row)
    if metric.over in {"answered", "claims"}:
        return row.answered
    return row.scored if metric.over == "scored" else row.answerable


def _known(value: bool | None) -> float | None:  # noqa: FBT001 - a figure, not an option
    return None if value is None else float(value)


def _verdict(row: Row, checked: str) -> float | None:
    """Of an answer that was given and checked."""
    return float(checked == "yes") if row.answered and checked != "not checked" else None


def _researched(figure: Callable[[Researched], float]) -> Figure:
    return lambda row: None if row.research is None else float(figure(row.research))


_RESEARCHED: dict[str, Figure] = {
    "multi_hop": _researched(lambda found: found.query_type == "multi_hop"),
    "escalated": _researched(lambda found: found.escalated),
    "cycles": _researched(lambda found: found.cycles),
    "steps_completed": _researched(lambda found: found.completed),
    "steps_weak": _researched(lambda found: found.weak),
    "steps_failed": _researched(lambda found: found.failed),
    "steps_pending": _researched(lambda found: found.pending),
    "screened_out": _researched(lambda found: found.screen == "refused"),
    "screen_unclear": _researched(lambda found: found.screen == "unclear"),
    "quarantined": _researched(lambda found: found.quarantined),
    "memory_hit": _researched(lambda found: found.recalled),
}


def _analysed(figure: Callable[[Analysed], float]) -> Figure:
    return lambda row: None if row.analysed is None else float(figure(row.analysed))


_ANALYSED: dict[str, Figure] = {
    "computed": _analysed(lambda found: found.kind == "computed"),
    "code_attempts": _analysed(lambda found: found.attempts),
    "remediations": _analysed(lambda found: found.remedies),
}
_OF_ROW: dict[str, Figure] = {
    "answered": lambda row: float(row.answered),
    "answered_answerable": lambda row: float(row.answered) if row.scored else None,
    "refused_unanswerable": lambda row: (
        None if row.answerable else float(not row.answered and not is_failed(row))
    ),
    "success": lambda row: _known(succeeded(row)),
    "retry_rate": lambda row: float(row.retries > 0),
    "mean_retries": lambda row: float(row.retries),
    "fallback_rate": lambda row: float(row.fallback),
    "web_rate": lambda row: float(row.web),
    "regenerations": lambda row: float(row.regenerations),
    "grounded": lambda row: _verdict(row, row.grounded),
    "useful": lambda row: _verdict(row, row.useful),
    "needs_review": lambda row: float(row.needs_review),
    "shown": lambda row: float(row.shown),
    "ungrounded": lambda row: float(row.ungrounded) if row.chosen is not None else None,
    **_RESEARCHED,
    **_ANALYSED,
    "failed": lambda row: float(is_failed(row)),
    "llm_calls": lambda row: float(row.llm_calls),
    "tokens_in": lambda row: float(row.tokens_in),
    "tokens_out": lambda row: float(row.tokens_out),
    "tokens_cached": lambda row: float(row.tokens_cached),
    "characters_in": lambda row: float(row.characters_in),
    "characters_out": lambda row: float(row.characters_out),
    "parse_failures": lambda row: float(row.parse_failures),
    "cost": lambda row: row.cost,
}


# What one configuration made of each question: computed once, however often it is compared.

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
