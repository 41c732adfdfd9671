"""The reader as a grader of passages: which rule accepts gold passages and few others.

Rules are made on half of the articles and judged on the other half. Two things can be asked of a
grader: whether a passage answers the question, which nothing does where there is no answer, and
whether it is about it: then the passage that such a question was written for counts as gold too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.reader_quality_figures import rounded
from benchmarks.reader_quality_risk import chooses_features
from secondlook.reading.logistic import Outcome, fit_logistic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.reader_quality_cases import Case
    from secondlook.reading.calibration import Candidate

    Floats = NDArray[np.float64]

PRECISION, RECALL = 0.80, 0.70
DEPTHS = (5, 10)
SCORES: Mapping[str, Callable[[Candidate], float]] = {
    "relevance": lambda one: one.relevance,
    "answerable": lambda one: one.answerable,
    "margin": lambda one: one.margin,
    "the lower of relevance and answerable": lambda one: min(one.relevance, one.answerable),
    "relevance + answerable": lambda one: one.relevance + one.answerable,
}
FITTED = "logistic of relevance, answerable, margin, fusion"
_NAMES = ("relevance", "answerable", "margin", "fusion")


@dataclass(frozen=True, slots=True)
class Pairs:
    gold: Floats
    scores: dict[str, Floats]

    def accepted(self, rule: str, threshold: float) -> tuple[float, float]:
        """Precision and recall when everything above the threshold is accepted."""
        yes = self.scores[rule] > threshold
        kept = float(self.gold[yes].sum())
        return kept / max(1, int(yes.sum())), kept / max(1.0, float(self.gold.sum()))


def graded(cases: Sequence[Case]) -> dict[str, Any]:
    """By which questions count and what is asked, and how many passages of each are graded."""
    held = [case for case in cases if case.answerable]
    return {
        name: {f"best {depth}": _rules(group, depth, about=about) for depth in DEPTHS}
        for name, group, about in (
            ("answerable questions", held, False),
            ("all questions, answers it", cases, False),
            ("all questions, is about it", cases, True),
        )
    }


def about_threshold(cases: Sequence[Case]) -> float:
    """The relevance, in tenths, above which a passage is about the question, as it leaves most
    room to both bounds among the best five of answerable questions."""
    held = [case for case in cases if case.answerable]
    pairs = _pairs([pair for case in held for pair in _graded(case, DEPTHS[0], about=False)])
    return round(_threshold(pairs, "relevance"), 1)


def _rules(cases: Sequence[Case], depth: int, *, about: bool) -> dict[str, Any]:
    sides = [
        [
            pair
            for case in cases
            if chooses_features(case.question.article) == made
            for pair in _graded(case, depth, about=about)
        ]
        for made in (True, False)
    ]
    made, kept = (_pairs(side) for side in sides)
    model = fit_logistic(_outcomes(sides[0]), _NAMES)
    for side, pairs in zip(sides, (made, kept), strict=True):
        features = [one.features for one in _outcomes(side)]
        pairs.scores[FITTED] = np.array([model.probability(row) for row in features])
    found = {rule: _judged(made, kept, rule) for rule in made.scores}
    return {"pairs": len(kept.gold), "gold": int(kept.gold.sum()), "rules": found}


def _judged(made: Pairs, kept: Pairs, rule: str) -> dict[str, Any]:
    threshold = _threshold(made, rule)
    precision, recall = kept.accepted(rule, threshold)
    plain = kept.accepted(rule, 0.5 if rule == FITTED else 0.0)
    return {
        "threshold": rounded(threshold),
        "made": [rounded(value) for value in made.accepted(rule, threshold)],
        "precision": rounded(precision),
        "recall": rounded(recall),
        "met": precision >= PRECISION and recall >= RECALL,
        "precision_recall_above_0": [rounded(value) for value in plain],
    }


def _graded(case: Case, depth: int, *, about: bool) -> list[tuple[bool, Candidate]]:
    counts = case.answerable or about
    return [(counts and named, one) for named, one in case.graded[:depth]]


def _threshold(pairs: Pairs, rule: str) -> float:
    """The one that leaves most room to the nearer of the two bounds."""
    steps = np.quantile(pairs.scores[rule], np.linspace(0, 0.999, 400))

    def room(step: float) -> float:
        precision, recall = pairs.accepted(rule, step)
        return min(precision - PRECISION, recall - RECALL)

    return float(max(steps.tolist(), key=room))


def _pairs(rows: Sequence[tuple[bool, Candidate]]) -> Pairs:
    return Pairs(
        gold=np.array([gold for gold, _ in rows], dtype=np.float64),
        scores={name: np.array([score(one) for _, one in rows]) for name, score in SCORES.items()},
    )


def _outcomes(rows: Sequence[tuple[bool, Candidate]]) -> list[Outcome]:
    return [
        Outcome(
            {
                "relevance": one.relevance,
                "answerable": one.answerable,
                "margin": one.margin,
                "fusion": one.fusion_score,
            },
            right=gold,
        )
        for gold, one in rows
    ]
