"""What one configuration amounts to, from the rows of its questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.evaluation.analysing import analysis_metrics
from secondlook.evaluation.behaviour import (
    calls_by_node,
    failures,
    latency_metrics,
    rerank_scores,
    seconds_by_node,
    stop_reasons,
    success_by_retry,
)
from secondlook.evaluation.graders import grader_metrics
from secondlook.evaluation.knowing import (
    knowing_metrics,
    reliability,
    risk_coverage,
    wrong_among_answered,
)
from secondlook.evaluation.metrics.catalogue import METRICS
from secondlook.evaluation.queries import attempts
from secondlook.evaluation.questions import question_values
from secondlook.evaluation.records import Estimate, Summary
from secondlook.evaluation.statistics import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from secondlook.evaluation.records import Configuration, Row

__all__ = ["question_values", "summarise"]

ByQuestion = dict[str, dict[str, float]]
"""By metric, what each question came to."""


def summarise(rows: Sequence[Row], *, configuration: Configuration, seed: int = 0) -> Summary:
    """All metrics that apply, each with its interval over questions, and the curves.

    `rows` are those of this configuration, in any order; repeats of a question are averaged.
    """
    values = _values(rows)
    return Summary(
        workflow=configuration.workflow,
        changes=dict(configuration.changes),
        about=configuration.about,
        metrics=_metrics(rows, values, seed=seed),
        by_type=_broken_down(rows, lambda row: row.type, values, seed=seed),
        by_subject=_broken_down(rows, _own_subject(rows), values, seed=seed),
        calls_by_node=calls_by_node(rows),
        stop_reasons=stop_reasons(rows),
        seconds_by_node=seconds_by_node(rows),
        risk_coverage=risk_coverage(rows),
        reliability=reliability(rows),
        success_by_retry=success_by_retry(rows),
        attempts=attempts(rows),
        rerank_scores=rerank_scores(rows),
        failed=failures(rows),
    )


def _values(rows: Sequence[Row]) -> ByQuestion:
    found = {
        name: question_values(rows, name) for name, item in METRICS.items() if item.per_question
    }
    return {name: by_case for name, by_case in found.items() if by_case}


def _metrics(rows: Sequence[Row], values: ByQuestion, *, seed: int) -> dict[str, Estimate]:
    found = {name: _mean(name, by_case.values(), seed) for name, by_case in values.items()}
    found |= knowing_metrics(rows, seed=seed)
    found |= grader_metrics(rows, seed=seed)
    found |= analysis_metrics(rows, seed=seed)
    found |= latency_metrics(rows, seed=seed)
    if any(row.cost is None for row in rows):
        found["cost"] = Estimate(value=None, n=len({row.case for row in rows}))
    return {name: found[name] for name in METRICS if name in found}


def _own_subject(rows: Sequence[Row]) -> Callable[[Row], str | None]:
    """The subject of a question; of none where subjects are all the types that there are."""
    if all(row.subject == row.type for row in rows):
        return lambda _: None
    return lambda row: row.subject


def _broken_down(
    rows: Sequence[Row], by: Callable[[Row], str | None], values: ByQuestion, *, seed: int
) -> dict[str, dict[str, Estimate]]:
    """By type or by subject."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if (name := by(row)) is not None:
            groups.setdefault(name, []).append(row)
    return {name: _of_group(groups[name], values, seed=seed) for name in sorted(groups)}


def _of_group(
    rows: Sequence[Row], values: Mapping[str, Mapping[str, float]], *, seed: int
) -> dict[str, Estimate]:
    cases = sorted({row.case for row in rows})
    parts = {
        name: [by_case[case] for case in cases if case in by_case]
        for name, by_case in values.items()
    }
    found = {name: _mean(name, part, seed) for name, part in parts.items() if part}
    wrong = wrong_among_answered(rows, seed=seed)
    if wrong is not None:
        found["wrong_among_answered"] = wrong
    return {name: found[name] for name in METRICS if name in found}


def _mean(metric: str, values: Iterable[float], seed: int) -> Estimate:
    return interval(list(values), seed, yes_no=METRICS[metric].yes_no)
