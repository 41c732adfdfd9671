"""What each question comes to under one metric: from what was measured, or from how it ended."""

from __future__ import annotations

import math
from functools import cache, partial
from operator import attrgetter
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from secondlook.errors import UsageError
from secondlook.evaluation.metrics import METRICS, Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from secondlook.evaluation.records import Row

    Figure = Callable[[Row], float | None]  # None where the metric is not over the question

_BEST = 5


def by_configuration(rows: Iterable[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.configuration, []).append(row)
    return grouped


def question_values(rows: Sequence[Row], metric: str) -> dict[str, float]:
    """By question, the mean over its repeats, of one configuration. A failed question counts 0
    wherever a right answer would have counted. Empty where the metric does not apply, and for
    `cost` where one price is unknown."""
    known = METRICS.get(metric)
    if known is None or not known.per_question:
        raise UsageError(
            f"{metric!r} is not a figure of each question",
            hint="docs/metrics.md lists the metrics and what each is over",
        )
    if metric == "cost" and any(row.cost is None for row in rows):
        return {}
    figure = _OF_ROW.get(metric) or _measured(known, rows)
    gathered: dict[str, list[float]] = {}
    for row in rows:
        value = figure(row)
        if value is not None and math.isfinite(value):
            gathered.setdefault(row.case, []).append(value)
    return {case: math.fsum(gathered[case]) / len(gathered[case]) for case in sorted(gathered)}


def _measured(metric: Metric, rows: Sequence[Row]) -> Figure:
    nothing = not any(row.metrics for row in rows)
    applies = any(metric.name in row.metrics for row in rows) or (
        nothing and metric.over in {"scored", "all"}
    )

    def figure(row: Row) -> float | None:
        is_over = {
            "all": can_be_judged(row),
            "answered": row.answered,
            "claims": row.answered,
            "scored": row.scored,
        }.get(metric.over, row.answerable)
        # A run that broke down measured nothing; one that ended as failed measured what it could.
        unmeasured = 0.0 if applies and is_failed(row) and not row.metrics else None
        return row.metrics.get(metric.name, unmeasured) if is_over else None

    return figure


def is_failed(row: Row) -> bool:
    return row.status == "failed"


def can_be_judged(row: Row) -> bool:
    return not row.answerable or row.scored or row.right is not None or "accuracy" in row.metrics


def rightness(row: Row) -> bool | None:
    if not row.answered:
        return None
    return row.right if row.answerable or row.outcome else False


def succeeded(row: Row) -> bool | None:
    if row.answered and not is_failed(row):
        return rightness(row)
    if not row.answerable and not is_failed(row):
        return True
    return False if can_be_judged(row) else None


def lowest_of_best(row: Row) -> float | None:
    scores = sorted((score for _, score in row.read if math.isfinite(score)), reverse=True)
    return min(scores[:_BEST], default=None)


def fell_back(rows: Iterable[Row]) -> set[str]:
    return {row.case for row in rows if row.fallback}


def _of(part: str, value: Callable[[Any], Any]) -> Figure:
    def figure(row: Row) -> float | None:
        held = getattr(row, part)
        return None if held is None else float(value(held))

    return figure


def _number(name: str) -> Figure:
    return lambda row: None if (value := getattr(row, name)) is None else float(value)


_OF_ROW: dict[str, Figure] = {
    **{
        name: _number(name)
        for name in (
            *("answered", "regenerations", "needs_review", "shown", "llm_calls", "tokens_in"),
            *("tokens_out", "tokens_cached", "characters_in", "characters_out", "parse_failures"),
            "cost",
        )
    },
    "answered_answerable": lambda row: float(row.answered) if row.scored else None,
    "refused_unanswerable": lambda row: (
        None if row.answerable else float(not row.answered and not is_failed(row))
    ),
    "judged_right": lambda row: None if row.outcome is None else float(row.outcome == "right"),
    "success": lambda row: None if (won := succeeded(row)) is None else float(won),
    "retry_rate": lambda row: float(row.retries > 0),
    "mean_retries": _number("retries"),
    "fallback_rate": _number("fallback"),
    "web_rate": _number("web"),
    "grounded": lambda row: _checked(row, row.grounded),
    "useful": lambda row: _checked(row, row.useful),
    "ungrounded": lambda row: float(row.ungrounded) if row.chosen is not None else None,
    "failed": lambda row: float(is_failed(row)),
    "multi_hop": _of("research", lambda held: held.query_type == "multi_hop"),
    "screened_out": _of("research", lambda held: held.screen == "refused"),
    "screen_unclear": _of("research", lambda held: held.screen == "unclear"),
    "memory_hit": _of("research", attrgetter("recalled")),
    **{name: _of("research", attrgetter(name)) for name in ("escalated", "cycles", "quarantined")},
    **{
        f"steps_{name}": _of("research", attrgetter(name))
        for name in ("completed", "weak", "failed", "pending")
    },
    "computed": _of("analysed", lambda held: held.kind == "computed"),
    "code_attempts": _of("analysed", attrgetter("attempts")),
    "remediations": _of("analysed", attrgetter("remedies")),
}


def _checked(row: Row, verdict: str) -> float | None:
    return float(verdict == "yes") if row.answered and verdict != "not checked" else None


# What one configuration made of each question: computed once, however often it is compared.

_EACH: dict[str, Callable[[Row], float]] = {
    "seconds": lambda row: row.seconds,
    "calls": lambda row: row.llm_calls,
    "tokens": lambda row: row.tokens_in + row.tokens_out,
    "cost": lambda row: row.cost or 0.0,
    "steps": lambda row: len(row.seconds_by_node),
    "right": lambda row: rightness(row) is True,
    "wrong": lambda row: rightness(row) is False,
    "withheld": lambda row: row.status in {"abstained", "refused"},
}


class Figures:
    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.name = rows[0].configuration if rows else ""
        self.cases = {row.case for row in rows}
        self.metric = cache(partial(question_values, rows))

    def each(self, name: str) -> Mapping[str, float]:
        found: dict[str, list[float]] = {}
        for row in self.rows:
            found.setdefault(row.case, []).append(_EACH[name](row))
        return {case: fmean(values) for case, values in found.items()}

    def mean(self, name: str, cases: Iterable[str]) -> float:
        found = self.each(name)
        return fmean(found[case] for case in cases)

    def cost(self, cases: Iterable[str]) -> float | None:
        """Dollars per question; None when the price of any is unknown."""
        return None if any(row.cost is None for row in self.rows) else self.mean("cost", cases)

    def seconds(self, cases: Iterable[str]) -> float:
        found = self.each("seconds")
        return median(found[case] for case in cases)
