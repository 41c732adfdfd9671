"""What one configuration amounts to, from the rows of its questions."""

from __future__ import annotations

import math
from collections import Counter
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING

import numpy as np

from secondlook.evaluation.judging import tallies
from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.questions import is_failed, lowest_of_best, question_values, rightness
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
    found |= _of_all(rows, seed)
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
        rerank_scores=_rerank_scores(rows),
        seconds_by_node={
            node: {name: float(np.quantile(taken[node], q)) for name, q in _QUANTILES.items()}
            for node in sorted(taken)
        },
        failed=tuple(sorted({row.case for row in rows if is_failed(row)})),
    )


def _rerank_scores(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """How the lowest of the best scores are spread, by whether the fallback fired."""
    lowest = [(row.fallback, found) for row in rows if (found := lowest_of_best(row)) is not None]
    groups = {
        "all": [score for _, score in lowest],
        "fallback": [score for fallback, score in lowest if fallback],
        "no_fallback": [score for fallback, score in lowest if not fallback],
    }
    return {
        name: {
            "n": len(scores),
            "mean": fmean(scores),
            "median": median(scores),
            "std": stdev(scores) if len(scores) > 1 else 0.0,
            "min": min(scores),
            "max": max(scores),
        }
        for name, scores in groups.items()
        if scores
    }


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
        found |= _shares({"wrong_among_answered": _wrong(groups[name])}, seed)
        broken[name] = {metric: found[metric] for metric in METRICS if metric in found}
    return broken


# Figures of all rows together, in the order of the questions, so that the draws meet them in the
# same way each time.

BINS = 10
_Counts = list[tuple[str, float, float]]  # of each row: its question, a part, and the whole


def _of_all(rows: Sequence[Row], seed: int) -> dict[str, Estimate]:
    known = [(row.case, row.analysed) for row in rows if row.analysed is not None]
    counts: dict[str, _Counts] = {
        "wrong_among_answered": _wrong(rows),
        "values_by_part": [(case, sum(one.parts.values()), len(one.parts)) for case, one in known],
        "code_error_rate": [(case, one.failed_attempts, one.attempts) for case, one in known],
        **_graded(rows),
    }
    found = _shares(counts, seed)
    sure = [
        (row.case, row.confidence, right)
        for row in rows
        if (right := rightness(row)) is not None
        and row.confidence is not None
        and np.isfinite(row.confidence)
    ]
    if sure:
        pool = Pool.of([case for case, *_ in sure])
        confidence, right = np.asarray([one for _, *one in sure], dtype=np.float64).T
        found["auroc"] = pooled(auroc(confidence, right), pool, seed=seed)
        found["ece"] = pooled(ece(confidence, right), pool, seed=seed, recentred=True)
    taken: dict[str, list[float]] = {}
    for row in rows:
        taken.setdefault(row.case, []).append(row.seconds)
    seconds = np.asarray([math.fsum(each) / len(each) for each in taken.values()])
    for name, q in _QUANTILES.items() if taken else ():
        found[f"latency_{name}"] = pooled(quantile(seconds, q), Pool.of([*taken]), seed=seed)
    return found


def _shares(counts: Mapping[str, _Counts], seed: int) -> dict[str, Estimate]:
    found = {}
    for name, held in counts.items():
        cases, parts, wholes = zip(*held, strict=True) if held else ((), (), ())
        if (one := share(cases, parts, wholes, seed=seed)) is not None:
            found[name] = one
    return found


def _wrong(rows: Sequence[Row]) -> _Counts:
    """Of rows that were answered and can be judged; where there is no answer, any is wrong."""
    judged = [(row.case, right) for row in rows if (right := rightness(row)) is not None]
    return [(case, float(not right), 1.0) for case, right in judged]


def _graded(rows: Sequence[Row]) -> dict[str, _Counts]:
    """How well passages are judged: by a grader where one judged, else by the reader. Gold is what
    the set says holds the answer; a question without an answer has none, so whatever is accepted
    for it is accepted wrongly."""
    by_grader = any(row.graded for row in rows)
    found = [(row, row.graded if by_grader else row.judged) for row in rows]
    names_gold = [
        row.answerable
        and (any(grade > 0 for grade, _ in pairs) or not _OF_GOLD.isdisjoint(row.metrics))
        for row, pairs in found
    ]
    told: dict[str, _Counts] = {}
    for (row, pairs), named in zip(found, names_gold, strict=True):
        # Only questions whose gold the set names: of others nothing can be judged.
        if not (named if row.answerable else any(names_gold)):
            continue
        kinds = Counter((row.answerable and grade > 0, was) for grade, was in pairs)
        taken, missed = kinds[True, True], kinds[True, False]
        wrongly, rightly = kinds[False, True], kinds[False, False]
        for name, part, whole in (
            ("false_rejection_gold", missed, taken + missed),
            ("false_acceptance", wrongly, wrongly + rightly),
            ("grading_precision", taken, taken + wrongly),
            ("grading_recall", taken, taken + missed),
        ):
            told.setdefault(name, []).append((row.case, part, whole))
    return told


_OF_GOLD = frozenset(item.name for item in METRICS.values() if item.group == "retrieval")


def auroc(confidence: Floats, right: Floats) -> Statistic:
    """How often a right answer is given with more confidence than a wrong one; ties count half."""
    order = np.argsort(confidence, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(confidence[order]) != 0))

    def statistic(weights: Floats) -> Floats:
        rights, wrongs = (
            np.add.reduceat((weights * kind)[:, order], starts, axis=1)
            for kind in (right, 1 - right)
        )
        surer = np.cumsum(wrongs, axis=1) - wrongs / 2
        pairs = rights.sum(axis=1) * wrongs.sum(axis=1)
        return divided((rights * surer).sum(axis=1), pairs)

    return statistic


def ece(confidence: Floats, right: Floats) -> Statistic:
    """Expected calibration error: the gap between confidence and share right in each of ten bins
    of equal width, weighted by how many fell into it (Naeini et al., AAAI 2015)."""
    # 0.0 up to 0.1 is the first; 1.0 belongs to the last.
    bins = np.clip(np.floor(confidence * BINS), 0, BINS - 1)
    in_bin = (bins[:, None] == np.arange(BINS)).astype(np.float64)
    gaps = in_bin * (confidence - right)[:, None]

    def statistic(weights: Floats) -> Floats:
        return divided(np.abs(weights @ gaps).sum(axis=1), weights.sum(axis=1))

    return statistic
