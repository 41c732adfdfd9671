"""Three beliefs behind correcting agents, each with a test that can contradict it: that rewriting
a question helps where a search failed (H1), that a grader tells good passages from bad (H2), and
that every further retry gains less (H3)."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from secondlook.evaluation.comparison import SIGNIFICANT, Pair, difference_of
from secondlook.evaluation.questions import Figures, question_values, succeeded
from secondlook.evaluation.records import Cap, Configuration, Criterion, Estimate, Hypothesis
from secondlook.evaluation.statistics import interval, paired, questions_needed, wilson
from secondlook.evaluation.summary import (
    graded_by_models,
    graded_by_reader,
    grader_metrics,
    summarise,
)
from secondlook.graphs.registry import WORKFLOWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Difference, Row
    from secondlook.settings.sections import Settings

MIN_PRECISION = 0.8
MIN_RECALL = 0.7
MIN_GAIN = 0.02
"""Rewriting that gains less than that, for certain, does not help."""
MIN_DECLINE = 0.01
"""Returns that fall by less than that from one retry to the next, for certain, do not diminish."""
_H1 = "rewriting the question helps where the first search was judged insufficient"
_H3 = "each further retry gains less than the one before"
_NEVER_AGAIN = "no configuration asked again in other words: it takes a workflow that rewrites"
_TREND = "trend of the gains over retry numbers, by flipping signs"

Told = Literal["supported", "not supported", "undecided", "not tested"]


def hypothesis_plan(settings: Settings) -> list[Configuration]:
    """What to run: the baseline, which never asks again, what rewrites questions, and the same
    with fewer rewrites."""
    changes: dict[str, Scalar] = {} if settings.search.rerank else {"search.rerank": True}
    names = [name for name in ("linear", REWRITING) if name in WORKFLOWS]
    plain = [Configuration(name, name, changes) for name in names]
    return [*plain, *capped_plan(settings, changes)]


def judge(rows: Mapping[str, Sequence[Row]], *, seed: int = 0) -> tuple[Hypothesis, ...]:
    """Each with its verdict, from whatever the rows can tell."""
    return (
        _rewriting_helps(rows, seed=seed),
        rises_where_poor(rows),
        _grader_is_good(rows, "the reader", seed=seed),
        _grader_is_good(rows, "a model", seed=seed),
        _returns_diminish(rows, seed=seed),
    )


def _rewriting_helps(rows: Mapping[str, Sequence[Row]], *, seed: int) -> Hypothesis:
    """H1, on the questions that were asked again. They are chosen by how the first search was
    judged, which both runs share: choosing those that failed without rewriting would make any
    second try look helpful, since it can only get better from there."""
    test = "McNemar's exact test of success, with and without rewriting, on the same questions"
    again = _that_retries(rows)
    if again is None:
        return Hypothesis(name="H1", claim=_H1, verdict="not tested", why=_NEVER_AGAIN, test=test)
    without = next((name for name, found in rows.items() if not any(map(_retried, found))), None)
    found = _on_retried(rows, without, again, seed=seed) if without else None
    if without is None or found is None:
        why = "no configuration answered the same questions without rewriting"
        return Hypothesis(name="H1", claim=_H1, verdict="not tested", why=why, test=test)
    success, recall = found
    verdict = _of_gain(success)
    numbers = _as_numbers("success", success)
    numbers |= _as_numbers("recall@5", recall) if recall else {}
    numbers |= {"with": again, "without": without}
    if verdict == "undecided":
        numbers["more_questions"] = _more(rows[without], rows[again])
    return Hypothesis(
        name="H1",
        claim=_H1,
        verdict=verdict,
        why=(
            f"of {success.n} questions that were asked again, {success.improved} succeed only with "
            f"rewriting and {success.degraded} only without: {success.difference:+.3f} "
            f"[{success.low:+.3f}, {success.high:+.3f}]"
        ),
        test=test,
        numbers=numbers,
    )


def _on_retried(
    rows: Mapping[str, Sequence[Row]], without: str, again: str, *, seed: int
) -> tuple[Difference, Difference | None] | None:
    success = difference_of(
        "success",
        question_values(rows[without], "success"),
        _of_retried(rows[again], "success"),
        seed=seed,
    )
    recall = difference_of(
        "recall@5",
        question_values(rows[without], "recall@5"),
        _of_retried(rows[again], "recall@5"),
        seed=seed,
    )
    return None if success is None else (success, recall)


def _of_retried(rows: Sequence[Row], metric: str) -> dict[str, float]:
    retried = {row.case for row in rows if _retried(row)}
    return {case: value for case, value in question_values(rows, metric).items() if case in retried}


def _of_gain(found: Difference) -> Told:
    if found.low > 0 and found.p < SIGNIFICANT:
        return "supported"
    return "not supported" if found.high < MIN_GAIN else "undecided"


def _more(without: Sequence[Row], again: Sequence[Row]) -> int | None:
    base, other = question_values(without, "success"), _of_retried(again, "success")
    changes = [value - base[case] for case, value in other.items() if case in base]
    return questions_needed(changes, margin=0.0)


def _grader_is_good(rows: Mapping[str, Sequence[Row]], who: str, *, seed: int) -> Hypothesis:
    """H2, on the passages whose relevance the set knows, of questions that have an answer: what
    would be gold for the others is a matter of taste. Pairs of one question hang together, so the
    intervals are over questions."""
    by_model = who != "the reader"
    claim = f"{who} grades with precision >= {MIN_PRECISION:.2f} and recall >= {MIN_RECALL:.2f}"
    test = "95 % intervals over questions against the two bounds"
    judged = _judged_by(rows, by_model=by_model)
    found = grader_metrics(judged[1], seed=seed) if judged else {}
    precision, recall = found.get("grading_precision"), found.get("grading_recall")
    name = "H2 model" if by_model else "H2 reader"
    if judged is None or recall is None:
        why = "no model graded a passage" if by_model else "no passage of known relevance was read"
        return Hypothesis(name=name, claim=claim, verdict="not tested", why=why, test=test)
    numbers: dict[str, Scalar] = {
        "configuration": judged[0],
        "pairs": sum(len(row.graded) + len(row.judged) for row in judged[1]),
    }
    numbers |= _estimated("recall", recall)
    numbers |= _estimated("precision", precision) if precision else {}
    return Hypothesis(
        name=name,
        claim=claim,
        verdict=_of_bounds(precision, recall),
        why=(
            f"precision {_shown(precision)}, recall {_shown(recall)} of the gold passages that "
            "were read; a passage that the set does not name counts as bad, whatever it holds"
        ),
        test=test,
        numbers=numbers,
    )


def _judged_by(
    rows: Mapping[str, Sequence[Row]], *, by_model: bool
) -> tuple[str, list[Row]] | None:
    """Of the first configuration that has judgements: others judge the same pairs again. What the
    reader decided by comes before what it merely read."""
    only = graded_by_models if by_model else graded_by_reader
    ordered = sorted(rows, key=lambda name: not any(row.graded_by for row in rows[name]))
    for name in ordered:
        found = [only(row) for row in rows[name] if row.answerable]
        if any(row.graded or row.judged for row in found):
            return name, found
    return None


def _of_bounds(precision: Estimate | None, recall: Estimate) -> Told:
    """A grader that accepts nothing has no precision, and no recall either."""
    bounds = ((precision, MIN_PRECISION), (recall, MIN_RECALL))
    known = [(one, least) for one, least in bounds if one is not None]
    if any(one.high is not None and one.high < least for one, least in known):
        return "not supported"
    sure = all(one.low is not None and one.low >= least for one, least in known)
    return "supported" if sure and precision is not None else "undecided"


def _returns_diminish(rows: Mapping[str, Sequence[Row]], *, seed: int) -> Hypothesis:
    """H3. The gain of a retry is the share of all questions that succeed at it and not before."""
    again = _that_retries(rows)
    tries = _Tries.of(rows[again]) if again else None
    if again is None or tries is None or tries.most < _TWICE:
        why = _NEVER_AGAIN if again is None else "no question was asked again twice"
        return Hypothesis(name="H3", claim=_H3, verdict="not tested", why=why, test=_TREND)
    slopes = tries.slopes()
    found = paired([0.0] * len(slopes), slopes, yes_no=False, seed=seed)
    slope = Estimate(value=found.difference, low=found.low, high=found.high, n=len(slopes))
    gains = [tries.gain(number) for number in range(tries.most + 1)]
    numbers: dict[str, Scalar] = {"configuration": again, "p": found.p}
    numbers |= _estimated("change_per_retry", slope)
    for number, gain in enumerate(gains):
        numbers |= {
            f"gain_{number}": gain,
            f"reached_{number}": tries.reached(number),
            f"cumulative_{number}": sum(gains[: number + 1]),
        }
    told = ", ".join(
        f"{100 * gain:.1f} % at retry {number}" for number, gain in enumerate(gains) if number
    )
    return Hypothesis(
        name="H3",
        claim=_H3,
        verdict=_of_slope(slope, found.p),
        why=f"{100 * gains[0]:.1f} % succeed at once, {told}; {_shown(slope, '+.3f')} per retry",
        test=_TREND,
        numbers=numbers,
    )


_TWICE = 2


@dataclass(frozen=True, slots=True)
class _Tries:
    """When each run succeeded, if it did: (question, retries, success)."""

    runs: tuple[tuple[str, int, bool], ...]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Tries:
        judged = ((row, succeeded(row)) for row in rows)
        return cls(tuple((row.case, row.retries, won) for row, won in judged if won is not None))

    @property
    def most(self) -> int:
        return max((retries for _, retries, _ in self.runs), default=0)

    def gain(self, number: int) -> float:
        return fmean(won and retries == number for _, retries, won in self.runs)

    def reached(self, number: int) -> int:
        return sum(retries >= number for _, retries, _ in self.runs)

    def slopes(self) -> list[float]:
        """What each question adds to the slope of the gains over retry 1, 2, ... (least squares):
        their mean is the slope. If all retries gain alike they lie evenly around 0."""
        numbers = range(1, self.most + 1)
        middle = fmean(numbers)
        spread = sum((number - middle) ** 2 for number in numbers)
        by_case: dict[str, list[float]] = {}
        for case, retries, won in self.runs:
            own = (retries - middle) / spread if won and retries else 0.0
            by_case.setdefault(case, []).append(own)
        return [fmean(values) for values in by_case.values()]


def _of_slope(slope: Estimate, p: float) -> Told:
    if slope.high is not None and slope.high < 0 and p < SIGNIFICANT:
        return "supported"
    flat = slope.low is not None and slope.low > -MIN_DECLINE
    return "not supported" if flat else "undecided"


def _that_retries(rows: Mapping[str, Sequence[Row]]) -> str | None:
    return next((name for name, found in rows.items() if any(map(_retried, found))), None)


def _retried(row: Row) -> bool:
    return row.retries > 0


def _as_numbers(name: str, found: Difference) -> dict[str, Scalar]:
    return {
        f"{name}_without": found.base,
        f"{name}_with": found.other,
        f"{name}_difference": found.difference,
        f"{name}_low": found.low,
        f"{name}_high": found.high,
        f"{name}_p": found.p,
        f"{name}_n": found.n,
        f"{name}_improved": found.improved,
        f"{name}_degraded": found.degraded,
    }


def _estimated(name: str, found: Estimate) -> dict[str, Scalar]:
    return {
        name: found.value,
        f"{name}_low": found.low,
        f"{name}_high": found.high,
        f"{name}_questions": found.n,
    }


def _shown(found: Estimate | None, form: str = ".3f") -> str:
    if found is None or found.value is None:
        return "unknown"
    bounds = "" if found.low is None else f" [{found.low:{form}}, {found.high:{form}}]"
    return f"{found.value:{form}}{bounds}"


# The belief that rewriting helps, as it was first stated: of the questions that the baseline
# answers poorly, so many find more of their evidence.

POOR_F1 = 0.2
FEWEST = 20
SHARE = 0.75
BASELINE, REWRITING = "linear", "corrective"
NAME = "H1 as first stated"
_CLAIM = (
    f"where {BASELINE} has F1 < {POOR_F1}, recall@5 rises with rewriting on {SHARE:.0%} or more"
)
_TEST = "95 % interval of the share against the bar (Wilson)"
_REMARK = (
    "questions chosen because one run failed on them do better in any other, so this bar says less "
    "than the paired test"
)
_SAME = 1e-9


def rises_where_poor(rows: Mapping[str, Sequence[Row]]) -> Hypothesis:
    base, other = rows.get(BASELINE), rows.get(REWRITING)
    if base is None or other is None:
        return _not_tested(f"it takes {BASELINE} and {REWRITING} on the same questions")
    before, after = question_values(base, "recall@5"), question_values(other, "recall@5")
    poor = [
        case
        for case, f1 in question_values(base, "f1").items()
        if f1 < POOR_F1 and case in before and case in after
    ]
    if len(poor) < FEWEST:
        return _not_tested(
            f"{len(poor)} questions have F1 < {POOR_F1} under {BASELINE}; it takes {FEWEST}"
        )
    return _judged(poor, before, after)


def _judged(
    poor: Sequence[str], before: Mapping[str, float], after: Mapping[str, float]
) -> Hypothesis:
    rose = sum(after[case] > before[case] + _SAME for case in poor)
    fell = sum(after[case] < before[case] - _SAME for case in poor)
    could = sum(before[case] < 1 - _SAME for case in poor)
    share = rose / len(poor)
    low, high = wilson(share, len(poor))
    numbers: dict[str, Scalar] = {
        "questions": len(poor),
        "rose": rose,
        "fell": fell,
        "could_rise": could,
        "share": share,
        "share_low": low,
        "share_high": high,
        "share_of_those_that_could": rose / could if could else None,
    }
    return Hypothesis(
        name=NAME,
        claim=_CLAIM,
        verdict=_verdict(low, high),
        why=(
            f"recall@5 rose on {rose} of {len(poor)} ({share:.1%} [{low:.1%}, {high:.1%}]) and "
            f"fell on {fell}; on {len(poor) - could} all gold was there already, so the share "
            f"cannot exceed {could / len(poor):.1%}; {_REMARK}"
        ),
        test=_TEST,
        numbers=numbers,
    )


def _verdict(low: float, high: float) -> Literal["supported", "not supported", "undecided"]:
    if low >= SHARE:
        return "supported"
    return "not supported" if high < SHARE else "undecided"


def _not_tested(why: str) -> Hypothesis:
    return Hypothesis(name=NAME, claim=_CLAIM, verdict="not tested", why=why, test=_TEST)


# How often asking again pays: the same workflow with at most 0, 1, 2, ... rewrites, on the same
# questions. The fewest that lose nothing against the most are recommended (`max_rewrites`).

MARGIN = 0.01
"""A loss of success or recall that is smaller, for certain, does not matter."""
MAX_REWRITES = "corrective.max_rewrites"
_CAPPED = "corrective, at most {} rewrites"


def capped_plan(settings: Settings, changes: Mapping[str, Scalar]) -> list[Configuration]:
    """Every number of rewrites below the one that is set; that one is `corrective` itself."""
    if REWRITING not in WORKFLOWS or not settings.corrective.enable_rewriting:
        return []
    return [
        Configuration(
            _CAPPED.format(number),
            REWRITING,
            {**changes, MAX_REWRITES: number},
            f"{MAX_REWRITES} = {number}",
        )
        for number in range(settings.corrective.max_rewrites)
    ]


def caps(rows: Mapping[str, Sequence[Row]], *, most: int, seed: int = 0) -> tuple[Cap, ...]:
    """Each number that was tried, against the most; none where the workflow was not run."""
    if REWRITING not in rows or not question_values(rows[REWRITING], "success"):
        return ()
    tried = {number: _CAPPED.format(number) for number in range(most)} | {most: REWRITING}
    return tuple(
        _cap(number, name, rows, seed=seed) for number, name in tried.items() if name in rows
    )


def recommended(found: Sequence[Cap]) -> int | None:
    """The fewest rewrites that are non-inferior to the most in success and in recall@5."""
    if len(found) < 2:  # noqa: PLR2004 - nothing to choose from
        return None
    return next(
        cap.rewrites
        for cap in found
        if all(lost is None or lost.low > -MARGIN for lost in (cap.success_lost, cap.recall_lost))
    )


def _cap(number: int, name: str, rows: Mapping[str, Sequence[Row]], *, seed: int) -> Cap:
    own = rows[name]
    return Cap(
        rewrites=number,
        configuration=name,
        success=_caps_estimated(own, "success", seed),
        recall=_caps_estimated(own, "recall@5", seed) if question_values(own, "recall@5") else None,
        retry_rate=fmean(row.retries > 0 for row in own),
        seconds=fmean(row.seconds for row in own),
        success_lost=_lost(rows, name, "success", seed),
        recall_lost=_lost(rows, name, "recall@5", seed),
    )


def _caps_estimated(rows: Sequence[Row], metric: str, seed: int) -> Estimate:
    values = question_values(rows, metric).values()
    return interval(list(values), seed=seed, yes_no=metric == "success")


def _lost(
    rows: Mapping[str, Sequence[Row]], name: str, metric: str, seed: int
) -> Difference | None:
    if name == REWRITING:
        return None
    base, other = question_values(rows[REWRITING], metric), question_values(rows[name], metric)
    return difference_of(metric, base, other, seed=seed)


# The bars that the correcting workflow was given beforehand, each met or not met.

BASELINE, JUDGED = "linear", "corrective"
AT_LEAST = {"recall@5": 0.97, "faithfulness": 0.84, "success": 0.92}
SLOWER = 1.6
"""How many times the 95th percentile of the baseline's seconds it may take."""
AGAIN = 0.15
"""Of the questions that the baseline gets right, the share that may be asked again."""
_VERBATIM = "no model wrote: extracted text is verbatim, so that this is 1 by construction"


def criteria(rows: Mapping[str, Sequence[Row]], *, seed: int = 0) -> tuple[Criterion, ...]:
    """Nothing where the workflow was not run."""
    judged = rows.get(JUDGED)
    if not judged:
        return ()
    found = _estimates(judged, seed)
    base = rows.get(BASELINE, ())
    return (
        *(_at_least(name, bar, found.get(name), judged) for name, bar in AT_LEAST.items()),
        _fast_enough(found.get("latency_p95"), _estimates(base, seed).get("latency_p95")),
        _left_alone(base, judged, seed=seed),
    )


def _estimates(rows: Sequence[Row], seed: int) -> dict[str, Estimate]:
    if not rows:
        return {}
    name = rows[0].configuration
    return summarise(rows, configuration=Configuration(name, name), seed=seed).metrics


def _at_least(name: str, bar: float, found: Estimate | None, rows: Sequence[Row]) -> Criterion:
    told = f">= {bar:.2f}"
    if found is None or found.value is None:
        why = "the set does not name what it takes, or nothing was answered"
        return Criterion(name=name, bar=told, why=why)
    written = any(row.method == "generative" for row in rows)
    return Criterion(
        name=name,
        bar=told,
        value=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        met=found.value >= bar,
        why=_VERBATIM if name == "faithfulness" and not written else f"mean of {JUDGED}",
    )


def _fast_enough(own: Estimate | None, base: Estimate | None) -> Criterion:
    name, bar = "seconds, 95 of 100", f"<= {SLOWER:g} x {BASELINE}"
    if own is None or base is None or own.value is None or not base.value:
        return Criterion(name=name, bar=bar, why=f"it takes {BASELINE} on the same questions")
    ratio = own.value / base.value
    why = f"{own.value:.2f} s against {base.value:.2f} s of {BASELINE}, as a ratio"
    return Criterion(name=name, bar=bar, value=ratio, n=own.n, met=ratio <= SLOWER, why=why)


def _left_alone(base: Sequence[Row], own: Sequence[Row], *, seed: int) -> Criterion:
    name, bar = f"asked again though {BASELINE} is right", f"<= {AGAIN:.2f}"
    pair = Pair.of(Figures(base), Figures(own), None, seed) if base else None
    right = len(pair.right_in_base()) if pair else 0
    if pair is None or not right:
        return Criterion(name=name, bar=bar, why=f"no question that {BASELINE} gets right")
    again = pair.asked_again()
    low, high = wilson(again / right, right)
    return Criterion(
        name=name,
        bar=bar,
        value=again / right,
        low=low,
        high=high,
        n=right,
        met=again / right <= AGAIN,
        why=f"{again} of the {right} questions that {BASELINE} gets right were asked again",
    )
