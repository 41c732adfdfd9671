"""What tables and plots pick out of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.evaluation.metrics.catalogue import METRICS
from secondlook.evaluation.questions import question_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from secondlook.evaluation.records import Results, Row

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
