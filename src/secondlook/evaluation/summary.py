"""What one configuration amounts to, from the rows of its questions."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.questions import (
    can_be_judged,
    is_failed,
    question_values,
    rightness,
    succeeded,
)
from secondlook.evaluation.records import Estimate, Point, Spread, Summary
from secondlook.evaluation.rows import attempts
from secondlook.evaluation.statistics import Pool, divided, interval, pooled, quantile, ratio, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from secondlook.evaluation.records import Configuration, Row
    from secondlook.evaluation.statistics import Floats, Statistic

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


# How runs went: how they ended, how often they tried again and what came of it, how long they
# took, and how relevant the passages were.

BEST = 5
_QUANTILES = {"p50": 0.5, "p95": 0.95}


def stop_reasons(rows: Sequence[Row]) -> dict[str, int]:
    """How many runs ended for each reason, the most frequent first."""
    counted = Counter(str(row.stop_reason) for row in rows)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def failures(rows: Sequence[Row]) -> tuple[str, ...]:
    """Questions of which a run failed."""
    return tuple(sorted({row.case for row in rows if is_failed(row)}))


def success_by_retry(rows: Sequence[Row]) -> tuple[Point, ...]:
    """For each number of retries that occurs, the share of its runs that succeeded."""
    outcomes: dict[int, list[bool]] = {}
    for row in rows:
        if (outcome := succeeded(row)) is not None:
            outcomes.setdefault(row.retries, []).append(outcome)
    return tuple(
        Point(x=retries, y=sum(found) / len(found), n=len(found))
        for retries, found in sorted(outcomes.items())
    )


def latency_metrics(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Estimate]:
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


def seconds_by_node(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Quantiles of the seconds of each node, over the runs that came to it."""
    taken: dict[str, list[float]] = {}
    for row in rows:
        for node, seconds in row.seconds_by_node.items():
            taken.setdefault(node, []).append(seconds)
    return {
        node: {name: float(np.quantile(taken[node], q)) for name, q in _QUANTILES.items()}
        for node in sorted(taken)
    }


def calls_by_node(rows: Sequence[Row]) -> dict[str, float]:
    """Model calls of each node, per run, the most first."""
    counted: Counter[str] = Counter()
    for row in rows:
        counted.update(row.calls_by_node)
    return {node: calls / len(rows) for node, calls in counted.most_common() if calls}


def rerank_scores(rows: Sequence[Row]) -> dict[str, Spread]:
    """How the lowest reader score among the best five passages is distributed."""
    lowest = [(row.fallback, found) for row in rows if (found := _lowest(row)) is not None]
    groups = {
        "all": [score for _, score in lowest],
        "fallback": [score for fallback, score in lowest if fallback],
        "no_fallback": [score for fallback, score in lowest if not fallback],
    }
    return {name: spread(scores) for name, scores in groups.items() if scores}


def spread(values: Iterable[float]) -> Spread:
    """How numbers are distributed; the standard deviation is that of a sample."""
    ordered = np.sort(np.asarray(list(values), dtype=np.float64))
    if not ordered.size:
        return Spread(n=0)
    return Spread(
        n=ordered.size,
        mean=math.fsum(ordered) / ordered.size,
        median=float(np.median(ordered)),
        std=float(ordered.std(ddof=1)) if ordered.size > 1 else 0.0,
        min=float(ordered[0]),
        max=float(ordered[-1]),
    )


def _lowest(row: Row) -> float | None:
    best = sorted((score for _, score in row.read if math.isfinite(score)), reverse=True)[:BEST]
    return best[-1] if best else None


# Whether it knows what it does not know: how often it is wrong when it answers, and what its
# confidence is worth. All over rows that were answered and can be judged; an answer where there
# is none is wrong.

BINS = 10
MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class Sureness:
    """The rows that were answered with a confidence and can be judged."""

    cases: tuple[str, ...]
    confidence: Floats
    right: Floats
    """1 or 0."""
    withheld: int
    """Rows beside them that could have been judged, had they been answered."""

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Sureness:
        # In the order of the questions, so that the draws meet them in the same way each time.
        judged = sorted(
            (row.case, row.repeat, row.confidence, right)
            for row in rows
            if (right := rightness(row)) is not None
            and row.confidence is not None
            and np.isfinite(row.confidence)
        )
        return cls(
            cases=tuple(case for case, *_ in judged),
            confidence=np.asarray([item[2] for item in judged], dtype=np.float64),
            right=np.asarray([item[3] for item in judged], dtype=np.float64),
            withheld=sum(not row.answered and can_be_judged(row) for row in rows),
        )


def knowing_metrics(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Estimate]:
    """`wrong_among_answered`, `auroc`, `aurc` and `ece`, as far as there is something to judge."""
    wrong = wrong_among_answered(rows, seed=seed)
    found = {} if wrong is None else {"wrong_among_answered": wrong}
    sure = Sureness.of(rows)
    if not sure.cases:
        return found
    pool = Pool.of(sure.cases)
    return found | {
        "auroc": pooled(auroc(sure.confidence, sure.right), pool, seed=seed),
        "aurc": pooled(aurc(sure.confidence, sure.right), pool, seed=seed),
        "ece": pooled(ece(sure.confidence, sure.right), pool, seed=seed, recentred=True),
    }


def wrong_among_answered(rows: Sequence[Row], *, seed: int = 0) -> Estimate | None:
    """The share of answers given that are wrong; None where none can be judged."""
    ordered = sorted(rows, key=lambda row: (row.case, row.repeat))
    judged = [(row.case, right) for row in ordered if (right := rightness(row)) is not None]
    return share(
        [case for case, _ in judged],
        [float(not right) for _, right in judged],
        [1.0] * len(judged),
        seed=seed,
    )


def auroc(confidence: Floats, right: Floats) -> Statistic:
    """How often a right answer is given with more confidence than a wrong one; ties count half."""
    sums = _Ties(confidence)

    def statistic(weights: Floats) -> Floats:
        rights, wrongs = sums.of(weights * right), sums.of(weights * (1 - right))
        surer = np.cumsum(wrongs, axis=1) - wrongs / 2
        pairs = rights.sum(axis=1) * wrongs.sum(axis=1)
        return divided((rights * surer).sum(axis=1), pairs)

    return statistic


def aurc(confidence: Floats, right: Floats) -> Statistic:
    """The share of wrong ones among the k surest answers, averaged over every k (Geifman, Uziel
    and El-Yaniv, ICLR 2019). Equally sure answers are taken in every order, on average."""
    sums = _Ties(-confidence)

    def statistic(weights: Floats) -> Floats:
        many, wrong = sums.of(weights), sums.of(weights * (1 - right))
        reached = np.cumsum(many, axis=1)
        before, wrong_before = reached - many, np.cumsum(wrong, axis=1) - wrong
        rate = np.nan_to_num(divided(wrong, many))
        # The sum over j = 1..many of (wrong_before + j rate) / (before + j).
        harmonic = _harmonic(int(reached[:, -1].max(initial=0)))
        steps = harmonic[reached.astype(np.int64)] - harmonic[before.astype(np.int64)]
        risks = many * rate + (wrong_before - rate * before) * steps
        return divided(risks.sum(axis=1), reached[:, -1])

    return statistic


def ece(confidence: Floats, right: Floats) -> Statistic:
    """Expected calibration error: the gap between confidence and share right in each of ten bins
    of equal width, weighted by how many fell into it (Naeini et al., AAAI 2015)."""
    in_bin = (_bins(confidence)[:, None] == np.arange(BINS)).astype(np.float64)
    gaps = in_bin * (confidence - right)[:, None]

    def statistic(weights: Floats) -> Floats:
        return divided(np.abs(weights @ gaps).sum(axis=1), weights.sum(axis=1))

    return statistic


def risk_coverage(rows: Sequence[Row]) -> tuple[Point, ...]:
    """The surest answers first: what share of all questions they are, and of them what share is
    wrong. It ends at the share that was answered. Equally sure answers are one point."""
    sure = Sureness.of(rows)
    if not sure.cases:
        return ()
    order = np.argsort(-sure.confidence, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(sure.confidence[order]) != 0, True))
    wrong = np.cumsum(1 - sure.right[order])
    if ends.size > MOST_POINTS:
        ends = ends[np.linspace(0, ends.size - 1, MOST_POINTS).round().astype(np.int64)]
    everything = len(sure.cases) + sure.withheld
    return tuple(
        Point(x=count / everything, y=float(wrong[count - 1]) / count, n=count)
        for count in (int(end) + 1 for end in ends)
    )


def reliability(rows: Sequence[Row]) -> tuple[Point, ...]:
    """Mean confidence and share right of each bin that holds an answer."""
    sure = Sureness.of(rows)
    bins = _bins(sure.confidence)
    held = [np.flatnonzero(bins == number) for number in range(BINS)]
    return tuple(
        Point(
            x=float(np.sort(sure.confidence[inside]).mean()),
            y=float(sure.right[inside].mean()),
            n=int(inside.size),
        )
        for inside in held
        if inside.size
    )


class _Ties:
    """Sums over rows of the same key, in ascending order of the keys."""

    def __init__(self, keys: Floats) -> None:
        self._order = np.argsort(keys, kind="stable")
        ordered = keys[self._order]
        self._starts = np.flatnonzero(np.append(True, np.diff(ordered) != 0))
        self._all_differ = self._starts.size == keys.size

    def of(self, columns: Floats) -> Floats:
        ordered = columns[:, self._order]
        if self._all_differ:
            return ordered
        return np.asarray(np.add.reduceat(ordered, self._starts, axis=1))


def _harmonic(top: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, top + 1))])


def _bins(confidence: Floats) -> Floats:
    """0.0 up to 0.1 is the first; 1.0 belongs to the last."""
    return np.clip(np.floor(confidence * BINS), 0, BINS - 1)


# How well passages are judged: by a grader where one judged, else by the reader, which accepts
# what it looked at and found to be about the question. Gold is what the set says holds the
# answer; a question without an answer has none, so whatever is accepted for it is accepted
# wrongly.

READER = "reader"
"""What `graded_by` says where the reader graded."""
_OF_GOLD = frozenset(item.name for item in METRICS.values() if item.group == "retrieval")
_GRADER, _READER = "grade", "rerank"


@dataclass(frozen=True, slots=True)
class _Judged:
    """What was judged for one question: (is gold, was accepted) of each passage, best first."""

    case: str
    passages: tuple[tuple[bool, bool], ...]

    def count(self, *, gold: bool | None = None, accepted: bool | None = None) -> float:
        return float(
            sum(
                gold in (None, is_gold) and accepted in (None, was_accepted)
                for is_gold, was_accepted in self.passages
            )
        )

    def first(self, *, accepted: bool | None = None) -> float:
        """1 where the best passage is gold (and was accepted, or not)."""
        return float(
            bool(self.passages) and self.passages[0][0] and accepted in (None, self.passages[0][1])
        )


def graded_by_models(row: Row) -> Row:
    """The row with what models graded, and nothing else that was judged."""
    return row.model_copy(
        update={"graded": tuple(_graded(row, by_reader=False)), "graded_by": (), "judged": ()}
    )


def graded_by_reader(row: Row) -> Row:
    """The row with what the reader graded; where it graded nothing, with what it read."""
    graded = tuple(_graded(row, by_reader=True))
    return row.model_copy(update={"graded": (), "graded_by": (), "judged": graded or row.judged})


def _graded(row: Row, *, by_reader: bool) -> Iterator[tuple[int, bool]]:
    """Rows that do not say who graded are of a time when only models did."""
    graders = row.graded_by or (None,) * len(row.graded)
    for pair, grader in zip(row.graded, graders, strict=True):
        if (grader == READER) == by_reader:
            yield pair


def grader_metrics(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Estimate]:
    """Every metric of the group that has something to count."""
    ordered = sorted(rows, key=lambda row: (row.case, row.repeat))
    by_grader = any(row.graded for row in ordered)
    judged = _with_known_gold(ordered, by_grader=by_grader)
    shares = {
        name: share(
            [item.case for item in judged],
            [part(item) for item in judged],
            [whole(item) for item in judged],
            seed=seed,
        )
        for name, (part, whole) in _SHARES.items()
    }
    shares["seconds_per_10_graded"] = _seconds_per_10(ordered, by_grader=by_grader, seed=seed)
    return {name: found for name, found in shares.items() if found is not None}


_SHARES: dict[str, tuple[Callable[[_Judged], float], Callable[[_Judged], float]]] = {
    "false_rejection_gold": (
        lambda item: item.count(gold=True, accepted=False),
        lambda item: item.count(gold=True),
    ),
    "false_rejection_gold@1": (
        lambda item: item.first(accepted=False),
        lambda item: item.first(),
    ),
    "false_acceptance": (
        lambda item: item.count(gold=False, accepted=True),
        lambda item: item.count(gold=False),
    ),
    "grading_precision": (
        lambda item: item.count(gold=True, accepted=True),
        lambda item: item.count(accepted=True),
    ),
    "grading_recall": (
        lambda item: item.count(gold=True, accepted=True),
        lambda item: item.count(gold=True),
    ),
}


def _with_known_gold(rows: Sequence[Row], *, by_grader: bool) -> list[_Judged]:
    """Only questions whose gold the set names: in one that names none nothing can be judged."""
    judged = [(row, _judgements(row, by_grader=by_grader)) for row in rows]
    set_has_gold = any(_names_gold(row, found) for row, found in judged)
    return [
        _Judged(
            row.case, tuple((row.answerable and grade > 0, accepted) for grade, accepted in found)
        )
        for row, found in judged
        if (_names_gold(row, found) if row.answerable else set_has_gold)
    ]


def _judgements(row: Row, *, by_grader: bool) -> tuple[tuple[int, bool], ...]:
    if by_grader:
        return row.graded
    return row.judged


def _names_gold(row: Row, judged: Sequence[tuple[int, bool]]) -> bool:
    return row.answerable and (
        any(grade > 0 for grade, _ in judged) or not _OF_GOLD.isdisjoint(row.metrics)
    )


def _seconds_per_10(rows: Sequence[Row], *, by_grader: bool, seed: int) -> Estimate | None:
    is_timed = by_grader and any(_GRADER in row.seconds_by_node for row in rows)
    node = _GRADER if is_timed else _READER
    timed = [
        (row.case, row.seconds_by_node[node], len(row.graded if by_grader else row.judged))
        for row in rows
        if node in row.seconds_by_node and (row.graded if by_grader else row.judged)
    ]
    if not timed:
        return None
    seconds = np.asarray([item[1] for item in timed], dtype=np.float64)
    tens = np.asarray([item[2] for item in timed], dtype=np.float64) / 10
    return pooled(ratio(seconds, tens), Pool.of([item[0] for item in timed]), seed=seed)


# Figures of questions over tables that are not a mean over questions but one of all rows.


def analysis_metrics(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Estimate]:
    """`values_by_part` and `code_error_rate`, as far as there is something to count."""
    ordered = sorted(rows, key=lambda row: (row.case, row.repeat))
    known = [(row.case, row.analysed) for row in ordered if row.analysed is not None]
    cases = [case for case, _ in known]
    figures = {
        "values_by_part": share(
            cases,
            [sum(one.parts.values()) for _, one in known],
            [len(one.parts) for _, one in known],
            seed=seed,
        ),
        "code_error_rate": share(
            cases,
            [one.failed_attempts for _, one in known],
            [one.attempts for _, one in known],
            seed=seed,
        ),
    }
    return {name: found for name, found in figures.items() if found is not None}
