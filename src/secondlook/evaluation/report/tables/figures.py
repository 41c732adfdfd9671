"""What each configuration amounts to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.evaluation.metrics.catalogue import METRICS
from secondlook.evaluation.report import numbers, picking
from secondlook.evaluation.report.numbers import DASH
from secondlook.evaluation.report.tables.cells import PARTS, Table, estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.evaluation.records import Estimate, Results

    Groups = Mapping[str, Mapping[str, Estimate]]

_VALUES = "values_accuracy"
_BY_TYPE = {
    "accuracy": ("Multiple choice by type", "Right letters"),
    _VALUES: ("Questions over tables by type", "Questions with all values right"),
}
"""Title, and what is counted."""


def summary(results: Results) -> Table:
    """Metrics as lines, configurations as columns."""
    rows = tuple(
        (
            f"{metric} {numbers.arrow(metric)}".rstrip(),
            METRICS[metric].about if metric in METRICS else "",
            _sizes(results, metric),
            *(estimate(item.metrics, metric) for item in results.summaries.values()),
        )
        for metric in picking.metric_names(results)
    )
    return Table(
        "Summary",
        ("metric", "what it is", "n", *results.summaries),
        rows,
        texts=2,
        note="Mean and 95 % interval over n questions. ↑ higher is better, ↓ lower is better.",
    )


def _sizes(results: Results, metric: str) -> str:
    """How many questions, or from how few to how many where configurations differ."""
    sizes = {
        item.metrics[metric].n for item in results.summaries.values() if metric in item.metrics
    }
    return DASH.join(f"{size:,}" for size in sorted({min(sizes), max(sizes)}))


def by_type(results: Results) -> list[Table]:
    """One table per configuration: types as lines, the main metrics as columns; then subjects."""
    named = results.summaries.items()
    types = [_broken_down(name, "type", item.by_type) for name, item in named if item.by_type]
    subjects = [
        _broken_down(name, "subject", item.by_subject) for name, item in named if item.by_subject
    ]
    return [*types, *subjects]


def _broken_down(name: str, by: str, groups: Groups) -> Table:
    there = {metric for figures in groups.values() for metric in figures}
    shown = [metric for metric in (*picking.HEADLINES, "latency_p50") if metric in there]
    rows = tuple(
        (
            kind,
            numbers.count(max((figure.n for figure in figures.values()), default=0)),
            *(estimate(figures, metric) for metric in shown),
        )
        for kind, figures in sorted(groups.items())
    )
    return Table(f"By {by}: {name}", (by, "n", *shown), rows)


def accuracy_by_type(results: Results) -> Table:
    """Of multiple choice, or over tables: types, or subjects, as lines and configurations as
    columns."""
    broken = {name: item.by_subject or item.by_type for name, item in results.summaries.items()}
    kinds = sorted({kind for groups in broken.values() for kind in groups})
    there = {name for groups in broken.values() for found in groups.values() for name in found}
    metric = _VALUES if _VALUES in there else "accuracy"
    rows = tuple(
        (
            kind,
            _most(broken, kind, metric),
            *(_accuracy(groups, kind, metric) for groups in broken.values()),
        )
        for kind in kinds
        if any(metric in groups.get(kind, {}) for groups in broken.values())
    )
    title, counted = _BY_TYPE[metric]
    note = f"{counted} and 95 % interval."
    return Table(title, ("type", "n", *broken), rows, note=note)


def _most(broken: Mapping[str, Groups], kind: str, metric: str) -> str:
    found = (groups.get(kind, {}).get(metric) for groups in broken.values())
    return numbers.count(max(item.n for item in found if item))


def _accuracy(groups: Groups, kind: str, metric: str) -> str:
    return numbers.estimate(groups.get(kind, {}).get(metric), metric)


def rerank_scores(results: Results) -> Table:
    rows = tuple(
        (
            name,
            PARTS.get(part, part),
            numbers.count(spread.n),
            *(
                numbers.number(value)
                for value in (spread.mean, spread.median, spread.std, spread.min, spread.max)
            ),
        )
        for name, item in results.summaries.items()
        for part, spread in item.rerank_scores.items()
        if spread.n
    )
    return Table(
        "Reranker's scores",
        ("configuration", "questions", "n", "mean", "median", "std", "lowest", "highest"),
        rows,
        texts=2,
        note="Of each question: the lowest score among the best five passages.",
    )
