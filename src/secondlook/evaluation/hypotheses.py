"""Three beliefs behind correcting agents, each with a test that can contradict it: that rewriting
a question helps where a search failed (H1), that a grader tells good passages from bad (H2), and
that every further retry gains less (H3)."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from secondlook.evaluation.caps import REWRITING, capped_plan
from secondlook.evaluation.comparison import SIGNIFICANT, difference_of
from secondlook.evaluation.graders import graded_by_models, graded_by_reader, grader_metrics
from secondlook.evaluation.poor_answers import rises_where_poor
from secondlook.evaluation.questions import question_values, succeeded
from secondlook.evaluation.records import Configuration, Estimate, Hypothesis
from secondlook.evaluation.statistics import paired, questions_needed
from secondlook.graphs.registry import WORKFLOWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Difference, Row
    from secondlook.settings import Settings

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
