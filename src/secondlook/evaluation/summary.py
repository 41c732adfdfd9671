"""What one configuration amounts to, from the rows of its questions."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from secondlook.evaluation.judging import tallies
from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.questions import (
    is_failed,
    question_values,
    rightness,
)
from secondlook.evaluation.records import Estimate, Summary
from secondlook.evaluation.statistics import Pool, divided, interval, pooled, quantile, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from secondlook.evaluation.records import Configuration, Row
    from secondlook.evaluation.statistics import Floats, Statistic

_QUANTILES = {"p50": 0.5, "p95": 0.95}


def summarise(rows: Sequence[Row], *, configuration: Configuration, seed: int = 0) -> Summary:
    """All metrics that apply, each with its interval over questions, and the curves. `rows` are
    those of this configuration, in any order; repeats of a question are averaged."""
    rows = sorted(rows, key=lambda row: (row.case, row.repeat))
    values = {
        name: question_values(rows, name) for name, item in METRICS.items() if item.per_question
    }
    found = {name: _mean(name, of.values(), seed) for name, of in values.items() if of}
    found |= knowing_metrics(rows, seed=seed) | grader_metrics(rows, seed=seed)
    found |= _analysis_metrics(rows, seed=seed) | _latency_metrics(rows, seed=seed)
    if any(row.cost is None for row in rows):
        found["cost"] = Estimate(value=None, n=len({row.case for row in rows}))
    stops = Counter(str(row.stop_reason) for row in rows)
    calls: Counter[str] = Counter()
    taken: dict[str, list[float]] = {}
    for row in rows:
        calls.update(row.calls_by_node)
        for node, seconds in row.seconds_by_node.items():
            taken.setdefault(node, []).append(seconds)
    return Summary(
        workflow=configuration.workflow,
        changes=dict(configuration.changes),
        about=configuration.about,
        metrics={name: found[name] for name in METRICS if name in found},
        by_type=_broken_down(rows, values, seed=seed),
        judged=tallies(rows, seed=seed),
        calls_by_node={node: many / len(rows) for node, many in calls.most_common() if many},
        stop_reasons=dict(sorted(stops.items(), key=lambda item: (-item[1], item[0]))),
        seconds_by_node={
            node: {name: float(np.quantile(taken[node], q)) for name, q in _QUANTILES.items()}
            for node in sorted(taken)
        },
        failed=tuple(sorted({row.case for row in rows if is_failed(row)})),
    )


def _mean(metric: str, values: Iterable[float], seed: int) -> Estimate:
    return interval(list(values), seed, yes_no=METRICS[metric].yes_no)


def _broken_down(
    rows: Sequence[Row], values: Mapping[str, Mapping[str, float]], *, seed: int
) -> dict[str, dict[str, Estimate]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.type is not None:
            groups.setdefault(row.type, []).append(row)
    broken = {}
    for name in sorted(groups):
        cases = sorted({row.case for row in groups[name]})
        parts = {
            metric: [of[case] for case in cases if case in of] for metric, of in values.items()
        }
        found = {metric: _mean(metric, part, seed) for metric, part in parts.items() if part}
        if (wrong := _wrong_among_answered(groups[name], seed=seed)) is not None:
            found["wrong_among_answered"] = wrong
        broken[name] = {metric: found[metric] for metric in METRICS if metric in found}
    return broken


def _latency_metrics(rows: Sequence[Row], *, seed: int) -> dict[str, Estimate]:
    """Quantiles over questions of the seconds each took, repeats averaged."""
    taken: dict[str, list[float]] = {}
    for row in rows:
        taken.setdefault(row.case, []).append(row.seconds)
    if not taken:
        return {}
    cases = sorted(taken)
    seconds = np.asarray([math.fsum(taken[case]) / len(taken[case]) for case in cases])
    return {
        f"latency_{name}": pooled(quantile(seconds, q), Pool.of(cases), seed=seed)
        for name, q in _QUANTILES.items()
    }


# Whether it knows what it does not know: how often it is wrong when it answers, and what its
# confidence means. All over rows that were answered and can be judged; where there is no answer,
# any answer is wrong.

BINS = 10


def knowing_metrics(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Estimate]:
    wrong = _wrong_among_answered(rows, seed=seed)
    found = {} if wrong is None else {"wrong_among_answered": wrong}
    cases, confidence, right = _sureness(rows)
    if not cases:
        return found
    pool = Pool.of(cases)
    return found | {
        "auroc": pooled(auroc(confidence, right), pool, seed=seed),
        "ece": pooled(ece(confidence, right), pool, seed=seed, recentred=True),
    }


def _sureness(rows: Sequence[Row]) -> tuple[list[str], Floats, Floats]:
    """Case, confidence and rightness (1 or 0) of the rows that have both."""
    # In the order of the questions, so that the draws meet them in the same way each time.
    judged = sorted(
        (row.case, row.repeat, row.confidence, right)
        for row in rows
        if (right := rightness(row)) is not None
        and row.confidence is not None
        and np.isfinite(row.confidence)
    )
    confidence = np.asarray([item[2] for item in judged], dtype=np.float64)
    rights = np.asarray([item[3] for item in judged], dtype=np.float64)
    return [item[0] for item in judged], confidence, rights


def _wrong_among_answered(rows: Sequence[Row], *, seed: int) -> Estimate | None:
    judged = sorted(
        (row.case, row.repeat, right) for row in rows if (right := rightness(row)) is not None
    )
    wrong = [float(not right) for *_, right in judged]
    return share([case for case, *_ in judged], wrong, [1.0] * len(judged), seed=seed)


def auroc(confidence: Floats, right: Floats) -> Statistic:
    """How often a right answer is given with more confidence than a wrong one; ties count half."""
    sums = Ties(confidence)

    def statistic(weights: Floats) -> Floats:
        rights, wrongs = sums.of(weights * right), sums.of(weights * (1 - right))
        surer = np.cumsum(wrongs, axis=1) - wrongs / 2
        pairs = rights.sum(axis=1) * wrongs.sum(axis=1)
        return divided((rights * surer).sum(axis=1), pairs)

    return statistic


def ece(confidence: Floats, right: Floats) -> Statistic:
    """Expected calibration error: the gap between confidence and share right in each of ten bins
    of equal width, weighted by how many fell into it (Naeini et al., AAAI 2015)."""
    in_bin = (_bins(confidence)[:, None] == np.arange(BINS)).astype(np.float64)
    gaps = in_bin * (confidence - right)[:, None]

    def statistic(weights: Floats) -> Floats:
        return divided(np.abs(weights @ gaps).sum(axis=1), weights.sum(axis=1))

    return statistic


class Ties:
    """Sums over rows of the same key, in ascending order of the keys."""

    def __init__(self, keys: Floats) -> None:
        self._order = np.argsort(keys, kind="stable")
        ordered = keys[self._order]
        self._starts = np.flatnonzero(np.append(True, np.diff(ordered) != 0))

    def of(self, columns: Floats) -> Floats:
        ordered = columns[:, self._order]
        if self._starts.size == self._order.size:
            return ordered
        return np.asarray(np.add.reduceat(ordered, self._starts, axis=1))


def _bins(confidence: Floats) -> Floats:
    """0.0 up to 0.1 is the first; 1.0 belongs to the last."""
    return np.clip(np.floor(confidence * BINS), 0, BINS - 1)


# How well passages are judged: by a grader where one judged, else by the reader. Gold is what the
# set says holds the answer; a question without an answer has none, so whatever is accepted for it
# is accepted wrongly.

_OF_GOLD = frozenset(item.name for item in METRICS.values() if item.group == "retrieval")


def grader_metrics(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Estimate]:
    rows = sorted(rows, key=lambda row: (row.case, row.repeat))
    by_grader = any(row.graded for row in rows)
    found = [(row, row.graded if by_grader else row.judged) for row in rows]
    names_gold = {
        id(row): row.answerable
        and (any(grade > 0 for grade, _ in pairs) or not _OF_GOLD.isdisjoint(row.metrics))
        for row, pairs in found
    }
    set_has_gold = any(names_gold.values())
    # Only questions whose gold the set names: of others nothing can be judged.
    judged = [
        (row.case, [(row.answerable and grade > 0, was) for grade, was in pairs])
        for row, pairs in found
        if (names_gold[id(row)] if row.answerable else set_has_gold)
    ]
    taken, missed, wrongly, rightly = (True, True), (True, False), (False, True), (False, False)
    counts = [
        [float(pairs.count(kind)) for kind in (taken, missed, wrongly, rightly)]
        for _, pairs in judged
    ]
    shares = {
        "false_rejection_gold": [(b, a + b) for a, b, _, _ in counts],
        "false_acceptance": [(c, c + d) for _, _, c, d in counts],
        "grading_precision": [(a, a + c) for a, _, c, _ in counts],
        "grading_recall": [(a, a + b) for a, b, _, _ in counts],
    }
    return _shares([case for case, _ in judged], shares, seed=seed)


def _analysis_metrics(rows: Sequence[Row], *, seed: int) -> dict[str, Estimate]:
    known = [(row.case, row.analysed) for row in rows if row.analysed is not None]
    counts = {
        "values_by_part": [(sum(one.parts.values()), len(one.parts)) for _, one in known],
        "code_error_rate": [(one.failed_attempts, one.attempts) for _, one in known],
    }
    return _shares([case for case, _ in known], counts, seed=seed)


def _shares(
    cases: Sequence[str], counts: Mapping[str, Sequence[tuple[float, float]]], *, seed: int
) -> dict[str, Estimate]:
    """Of each metric the part of its whole, both counted in each row, where there is a whole."""
    found = {
        name: share(cases, [part for part, _ in pairs], [whole for _, whole in pairs], seed=seed)
        for name, pairs in counts.items()
    }
    return {name: one for name, one in found.items() if one is not None}
