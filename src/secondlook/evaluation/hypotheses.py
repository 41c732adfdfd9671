"""Three beliefs behind correcting agents, each with a test that can contradict it: that rewriting
a question helps where a search failed (H1), that a grader tells good passages from bad (H2), and
that every further retry gains less (H3). And the bars that the correcting workflow was given."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from secondlook.evaluation.comparison import SIGNIFICANT, difference_of
from secondlook.evaluation.questions import Figures, question_values, succeeded
from secondlook.evaluation.records import Configuration, Criterion, Estimate, Hypothesis
from secondlook.evaluation.statistics import paired, questions_needed, wilson
from secondlook.evaluation.summary import graded_only, grader_metrics, summarise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Row
    from secondlook.settings.sections import Settings

    Rows = Mapping[str, Sequence[Row]]

BASELINE, REWRITING = "linear", "corrective"
MIN_PRECISION, MIN_RECALL = 0.8, 0.7
MIN_GAIN = 0.02  # rewriting that gains less than that, for certain, does not help
MIN_DECLINE = 0.01  # smaller falls from one retry to the next do not diminish returns
POOR_F1, FEWEST, SHARE = 0.2, 20, 0.75
_SAME = 1e-9
_TWICE = 2
_MOST = 0.5
_NEVER_AGAIN = "no configuration asked again in other words: it takes a workflow that rewrites"

Told = Literal["supported", "not supported", "undecided", "not tested"]


def hypothesis_plan(settings: Settings) -> list[Configuration]:
    changes: dict[str, Scalar] = {} if settings.search.rerank else {"search.rerank": True}
    return [Configuration(name, name, changes) for name in (BASELINE, REWRITING)]


def judge(rows: Rows, *, seed: int = 0) -> tuple[Hypothesis, ...]:
    return (
        _rewriting_helps(rows, seed=seed),
        _rises_where_poor(rows),
        _grader_is_good(rows, by_reader=True, seed=seed),
        _grader_is_good(rows, by_reader=False, seed=seed),
        _returns_diminish(rows, seed=seed),
    )


def _that_retries(rows: Rows) -> str | None:
    found = (name for name, those in rows.items() if any(row.retries for row in those))
    return next(found, None)


def _rewriting_helps(rows: Rows, *, seed: int) -> Hypothesis:
    """H1, on the questions that were asked again. They are chosen by how the first search was
    judged, which both runs share: choosing those that failed without rewriting would make any
    second try look helpful, since it can only get better from there."""
    told: dict[str, Any] = {
        "name": "H1",
        "claim": "rewriting the question helps where the first search was judged insufficient",
        "test": "McNemar's exact test of success with and without rewriting, same questions",
    }
    again = _that_retries(rows)
    if again is None:
        return Hypothesis(**told, verdict="not tested", why=_NEVER_AGAIN)
    without = next((n for n, those in rows.items() if not any(r.retries for r in those)), None)
    retried = {row.case for row in rows[again] if row.retries}
    numbers: dict[str, Scalar] = {}
    found = {}
    for metric in ("success", "recall@5") if without else ():
        base = question_values(rows[without or ""], metric)
        values = question_values(rows[again], metric)
        other = {case: value for case, value in values.items() if case in retried}
        one = difference_of(metric, base, other, seed=seed)
        if one is None:
            break
        found[metric] = one
        parts = ("difference", "low", "high", "p", "n", "improved", "degraded")
        numbers |= {f"{metric}_without": one.base, f"{metric}_with": one.other}
        numbers |= {f"{metric}_{part}": getattr(one, part) for part in parts}
        if metric == "success":
            gains = [value - base[case] for case, value in other.items() if case in base]
    if "success" not in found:
        why = "no configuration answered the same questions without rewriting"
        return Hypothesis(**told, verdict="not tested", why=why)
    success = found["success"]
    verdict: Told = "not supported" if success.high < MIN_GAIN else "undecided"
    if success.low > 0 and success.p < SIGNIFICANT:
        verdict = "supported"
    numbers |= {"with": again, "without": without}
    if verdict == "undecided":
        numbers["more_questions"] = questions_needed(gains, margin=0.0)
    why = (
        f"of {success.n} questions that were asked again, {success.improved} succeed only with "
        f"rewriting and {success.degraded} only without: {success.difference:+.3f} "
        f"[{success.low:+.3f}, {success.high:+.3f}]"
    )
    return Hypothesis(**told, verdict=verdict, why=why, numbers=numbers)


def _rises_where_poor(rows: Rows) -> Hypothesis:
    """H1 as it was first stated. Questions chosen because one run failed on them do better in any
    other (regression to the mean), so this bar says less than the paired test."""
    told: dict[str, Any] = {
        "name": "H1 as first stated",
        "claim": f"where {BASELINE} has F1 < {POOR_F1}, recall@5 rises with rewriting on "
        f"{SHARE:.0%} or more",
        "test": "95 % interval of the share against the bar (Wilson)",
    }
    base, other = rows.get(BASELINE), rows.get(REWRITING)
    if base is None or other is None:
        why = f"it takes {BASELINE} and {REWRITING} on the same questions"
        return Hypothesis(**told, verdict="not tested", why=why)
    before, after = question_values(base, "recall@5"), question_values(other, "recall@5")
    f1 = question_values(base, "f1")
    poor = [case for case in f1 if f1[case] < POOR_F1 and case in before and case in after]
    if len(poor) < FEWEST:
        why = f"{len(poor)} questions have F1 < {POOR_F1} under {BASELINE}; it takes {FEWEST}"
        return Hypothesis(**told, verdict="not tested", why=why)
    rose = sum(after[case] > before[case] + _SAME for case in poor)
    fell = sum(after[case] < before[case] - _SAME for case in poor)
    could = sum(before[case] < 1 - _SAME for case in poor)
    share = rose / len(poor)
    low, high = wilson(share, len(poor))
    return Hypothesis(
        **told,
        verdict="supported" if low >= SHARE else "not supported" if high < SHARE else "undecided",
        why=(
            f"recall@5 rose on {rose} of {len(poor)} ({share:.1%} [{low:.1%}, {high:.1%}]) and "
            f"fell on {fell}; on {len(poor) - could} all gold was there already; questions that "
            "one run failed on do better in any other, so this says less than the paired test"
        ),
        numbers={"rose": rose, "fell": fell, "could_rise": could}
        | _estimated("share", Estimate(value=share, low=low, high=high, n=len(poor))),
    )


def _grader_is_good(rows: Rows, *, by_reader: bool, seed: int) -> Hypothesis:
    """H2, on passages whose relevance is known. Intervals are over questions."""
    who = "the reader" if by_reader else "a model"
    told: dict[str, Any] = {
        "name": "H2 reader" if by_reader else "H2 model",
        "claim": f"{who} grades with precision >= {MIN_PRECISION:.2f} and recall >= "
        f"{MIN_RECALL:.2f}",
        "test": "95 % intervals over questions against the two bounds",
    }
    # The first configuration that has judgements: others judge the same pairs again. What the
    # reader decided by comes before what it merely read.
    judged: list[Row] = []
    name = ""
    for name in sorted(rows, key=lambda one: not any(row.graded_by for row in rows[one])):
        judged = [graded_only(row, by_reader=by_reader) for row in rows[name] if row.answerable]
        if any(row.graded or row.judged for row in judged):
            break
    found = grader_metrics(judged, seed=seed)
    precision, recall = found.get("grading_precision"), found.get("grading_recall")
    if recall is None:
        why = "no passage of known relevance was read" if by_reader else "no model graded a passage"
        return Hypothesis(**told, verdict="not tested", why=why)
    bounds = [(recall, MIN_RECALL), *([(precision, MIN_PRECISION)] if precision else [])]
    verdict: Told = "undecided"
    if any(one.high is not None and one.high < least for one, least in bounds):
        verdict = "not supported"
    elif precision and all(one.low is not None and one.low >= least for one, least in bounds):
        verdict = "supported"
    pairs = sum(len(row.graded) + len(row.judged) for row in judged)
    numbers: dict[str, Scalar] = {"configuration": name, "pairs": pairs}
    numbers |= _estimated("recall", recall)
    numbers |= _estimated("precision", precision) if precision else {}
    why = (
        f"precision {_shown(precision)}, recall {_shown(recall)} of the gold passages that "
        "were read; a passage that the set does not name counts as bad, whatever it holds"
    )
    return Hypothesis(**told, verdict=verdict, why=why, numbers=numbers)


def _returns_diminish(rows: Rows, *, seed: int) -> Hypothesis:
    """H3. The gain of a retry is the share of all questions that succeed at it and not before."""
    told: dict[str, Any] = {
        "name": "H3",
        "claim": "each further retry gains less than the one before",
        "test": "trend of the gains over retry numbers, by flipping signs",
    }
    again = _that_retries(rows)
    judged = [(row, succeeded(row)) for row in rows[again]] if again else []
    runs = [(row.case, row.retries, won) for row, won in judged if won is not None]
    most = max((retries for _, retries, _ in runs), default=0)
    if again is None or most < _TWICE:
        why = _NEVER_AGAIN if again is None else "no question was asked again twice"
        return Hypothesis(**told, verdict="not tested", why=why)
    # What each question adds to the slope of the gains over retry 1, 2, ... (least squares): their
    # mean is the slope. If all retries gain alike they lie evenly around 0.
    middle = fmean(range(1, most + 1))
    spread = sum((number - middle) ** 2 for number in range(1, most + 1))
    by_case: dict[str, list[float]] = {}
    for case, retries, won in runs:
        own = (retries - middle) / spread if won and retries else 0.0
        by_case.setdefault(case, []).append(own)
    slopes = [fmean(values) for values in by_case.values()]
    found = paired([0.0] * len(slopes), slopes, yes_no=False, seed=seed)
    slope = Estimate(value=found.difference, low=found.low, high=found.high, n=len(slopes))
    gains = [fmean(bool(won) and at == k for _, at, won in runs) for k in range(most + 1)]
    numbers: dict[str, Scalar] = {"configuration": again, "p": found.p}
    numbers |= _estimated("change_per_retry", slope)
    for number, gain in enumerate(gains):
        numbers[f"gain_{number}"] = gain
        numbers[f"reached_{number}"] = sum(retries >= number for _, retries, _ in runs)
        numbers[f"cumulative_{number}"] = sum(gains[: number + 1])
    verdict: Told = "not supported" if found.low > -MIN_DECLINE else "undecided"
    if found.high < 0 and found.p < SIGNIFICANT:
        verdict = "supported"
    said = ", ".join(f"{100 * one:.1f} % at retry {at}" for at, one in enumerate(gains) if at)
    why = f"{100 * gains[0]:.1f} % succeed at once, {said}; {_shown(slope, '+.3f')} per retry"
    return Hypothesis(**told, verdict=verdict, why=why, numbers=numbers)


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


# The bars that the correcting workflow was given beforehand, each met or not met.

AT_LEAST = {"recall@5": 0.97, "faithfulness": 0.84, "success": 0.92}
SLOWER = 1.6  # how many times the 95th percentile of the baseline's seconds it may take
AGAIN = 0.15  # of the questions that the baseline gets right, the share that may be asked again


def criteria(rows: Rows, *, seed: int = 0) -> tuple[Criterion, ...]:
    judged, base = rows.get(REWRITING), rows.get(BASELINE, ())
    if not judged:
        return ()
    found, of_base = (
        summarise(those, configuration=Configuration("", ""), seed=seed).metrics if those else {}
        for those in (judged, base)
    )
    bars = []
    written = any(row.method == "generative" for row in judged)
    for name, least in AT_LEAST.items():
        own, bar = found.get(name), f">= {least:.2f}"
        if own is None or own.value is None:
            why = "the set does not name what it takes, or nothing was answered"
            bars.append(Criterion(name=name, bar=bar, why=why))
            continue
        why = f"mean of {REWRITING}"
        if name == "faithfulness" and not written:
            why = "no model wrote: extracted text is verbatim, so that this is 1 by construction"
        met = own.value >= least
        bars.append(Criterion(name=name, bar=bar, met=met, why=why, **own.model_dump()))
    slow, usual = (of.get("latency_p95") for of in (found, of_base))
    name, bar = "seconds, 95 of 100", f"<= {SLOWER:g} x {BASELINE}"
    if slow is None or usual is None or slow.value is None or not usual.value:
        why = f"it takes {BASELINE} on the same questions"
        bars.append(Criterion(name=name, bar=bar, why=why))
    else:
        ratio = slow.value / usual.value
        why = f"{slow.value:.2f} s against {usual.value:.2f} s of {BASELINE}, as a ratio"
        met = ratio <= SLOWER
        bars.append(Criterion(name=name, bar=bar, value=ratio, n=slow.n, met=met, why=why))
    name, bar = f"asked again though {BASELINE} is right", f"<= {AGAIN:.2f}"
    rights, agains = Figures(base).each("right"), Figures(judged).each("again")
    both = [case for case, share in rights.items() if share > _MOST and case in agains]
    if not both:
        why = f"no question that {BASELINE} gets right"
        return (*bars, Criterion(name=name, bar=bar, why=why))
    again, right = sum(agains[case] > _MOST for case in both), len(both)
    low, high = wilson(again / right, right)
    why = f"{again} of the {right} questions that {BASELINE} gets right were asked again"
    share = Estimate(value=again / right, low=low, high=high, n=right)
    met = again / right <= AGAIN
    return (*bars, Criterion(name=name, bar=bar, met=met, why=why, **share.model_dump()))
