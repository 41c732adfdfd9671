"""Which span to answer with, and whether to: the rule, the model, the threshold, their worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.calibrate_cases import cases, without_answer
from benchmarks.calibrate_fit import best_threshold, calibration_error, fit
from benchmarks.reading_answers import auroc
from secondlook.reading.calibration import answer_features, choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.calibrate_cases import Case
    from benchmarks.calibrate_read import Readings
    from secondlook.reading.calibration import Logistic

FEATURES = ("margin",)
"""Relevance and the answerable score add nothing beside it: they get weights about zero or below,
and a probability that falls with relevance would mislead on other kinds of text."""
COMPARED = (
    ("margin",),
    ("relevance",),
    ("answerable",),
    ("margin", "answerable"),
    ("margin", "relevance"),
    ("margin", "relevance", "answerable"),
)
RIGHT = 0.5
"""Least F1 with a reference answer for a span to count as right."""
COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CHOICES: dict[str, dict[str, float]] = {
    "ranked first": {},
    "highest relevance": {"relevance": 1.0},
    "highest answerable": {"answerable": 1.0},
    "highest margin": {"margin": 1.0},
    "relevance + margin": {"relevance": 1.0, "margin": 1.0},
    "relevance + margin / 4": {"relevance": 1.0, "margin": 0.25},
    "score + relevance / 50": {"score": 1.0, "relevance": 0.02},
    "score + margin / 50": {"score": 1.0, "margin": 0.02},
    "score + margin / 100": {"score": 1.0, "margin": 0.01},
}
_SEED, _RESAMPLES = 20, 400
ORACLE = "best of five (oracle)"
CALIBRATION, REPORT = "squad2-dev, calibration half", "squad2-dev, report half"
TAKEN_OUT = "squad2-dev, report half: answerable, and again with the gold passage taken out"


@dataclass(frozen=True, slots=True)
class Answers:
    """What the product loads, and the figures to report."""

    choice: dict[str, float]
    model: Logistic
    threshold: float
    figures: dict[str, Any]


def calibrate_answers(known: Readings) -> Answers:
    squad = [case for case in cases("squad2-dev", known) if case.scores]
    made = [case for case in squad if case.calibrates]
    held_out = [case for case in squad if not case.calibrates]
    hotpot_train = [case for case in cases("hotpot-train", known) if case.scores]
    hotpot = [case for case in cases("hotpot", known) if case.scores]
    chosen = {CALIBRATION: _choices(made), "hotpot-train": _choices(hotpot_train)}
    rule = _best_choice(chosen)
    choice = CHOICES[rule]
    rows = [answer_features(case.candidates, _at(case, choice)) for case in made]
    model = fit(rows, [_right(case, choice) for case in made], FEATURES)
    threshold = _threshold(model, choice, made)
    sets = {
        CALIBRATION: made,
        REPORT: held_out,
        TAKEN_OUT: _with_and_without(held_out, known),
        "hotpot-train": hotpot_train,
        "hotpot": hotpot,
    }
    figures = {
        "right": f"F1 of at least {RIGHT} with a reference answer",
        "rule": rule,
        "choice": chosen | {REPORT: _choices(held_out), "hotpot": _choices(hotpot)},
        "features": _compared(made, choice),
        "sets": {name: _figures(model, choice, threshold, sets[name]) for name in sets},
    }
    return Answers(choice, model, threshold, figures)


def _best_choice(chosen: dict[str, dict[str, dict[str, Any]]]) -> str:
    """The rule with the highest F1, the two calibration sets weighing the same."""

    def mean(rule: str) -> float:
        return float(np.mean([rules[rule]["f1"] for rules in chosen.values()]))

    return max(CHOICES, key=mean)


def _compared(made: Sequence[Case], choice: dict[str, float]) -> dict[str, Any]:
    """Log loss on each article by a model made from the other ones, and the weights from all."""
    rows = [answer_features(case.candidates, _at(case, choice)) for case in made]
    right = np.array([_right(case, choice) for case in made])
    articles = np.array([case.article for case in made])
    found = {}
    for names in COMPARED:
        p = np.zeros(len(made))
        for article in np.unique(articles):
            others, here = np.flatnonzero(articles != article), np.flatnonzero(articles == article)
            model = fit([rows[at] for at in others], right[others].tolist(), names)
            p[here] = [model.probability(rows[at]) for at in here]
        loss = -np.mean(np.log(np.where(right, p, 1 - p)))
        weights = dict(fit(rows, right.tolist(), names).weights)
        found[" + ".join(names)] = {"log_loss": round(float(loss), 4), "weights": weights}
    return found


def _with_and_without(held_out: list[Case], known: Readings) -> list[Case]:
    held = {case.id: case for case in held_out if case.answerable}
    robbed = [case for case in without_answer("squad2-dev", known) if case.id in held]
    return [*held.values(), *robbed]


def _at(case: Case, choice: dict[str, float]) -> int:
    return choose(case.candidates, choice) or 0


def _right(case: Case, choice: dict[str, float]) -> bool:
    return case.scores[_at(case, choice)][1] >= RIGHT


def _threshold(model: Logistic, choice: dict[str, float], group: Sequence[Case]) -> float:
    """The one with the highest F1 by the rules of SQuAD 2: an answer scores its F1, silence
    scores 1 where there is no answer and 0 where there is one."""
    return best_threshold(
        _probabilities(model, choice, group),
        [case.scores[_at(case, choice)][1] for case in group],
        [float(not case.answerable) for case in group],
    )


def _probabilities(model: Logistic, choice: dict[str, float], group: Sequence[Case]) -> list[float]:
    return [
        model.probability(answer_features(case.candidates, _at(case, choice))) for case in group
    ]


def _choices(group: Sequence[Case]) -> dict[str, dict[str, Any]]:
    held = [case for case in group if case.answerable]
    places = {name: [_at(case, choice) for case in held] for name, choice in CHOICES.items()}
    places[ORACLE] = [int(np.argmax([f1 for _, f1 in case.scores])) for case in held]
    found = {}
    for name, chosen in places.items():
        scores = np.array([case.scores[at] for case, at in zip(held, chosen, strict=True)])
        found[name] = {"n": len(held), "em": _mean(scores[:, 0]), "f1": _mean(scores[:, 1])}
    return found


def _figures(
    model: Logistic, choice: dict[str, float], threshold: float, group: Sequence[Case]
) -> dict[str, Any]:
    p = np.array(_probabilities(model, choice, group))
    right = np.array([_right(case, choice) for case in group])
    held = np.array([case.answerable for case in group])
    exact, f1 = np.array([case.scores[_at(case, choice)] for case in group]).T
    answered = p >= threshold
    return {
        "n": len(group),
        "answerable": int(held.sum()),
        "auroc_answerable": _auroc(p, held),
        "auroc_answerable_95": _interval(p, held),
        "auroc_right": _auroc(p, right),
        "ece": round(calibration_error(p.tolist(), right.tolist()), 4),
        "mean_probability": _mean(p),
        "right": _mean(right),
        "answered": _mean(answered),
        "answered_of_answerable": _mean(answered[held]),
        "answered_of_unanswerable": _mean(answered[~held]),
        "wrong_of_answered": _mean(~right[answered]),
        "wrong_of_answered_answerable": _mean(~right[answered & held]),
        "squad2_em": _mean(np.where(answered, exact, ~held)),
        "squad2_f1": _mean(np.where(answered, f1, ~held)),
        "squad2_f1_always_answering": _mean(f1),
        "risk": {str(share): _risk(p, right, share) for share in COVERAGES},
        "risk_answerable": {str(share): _risk(p[held], right[held], share) for share in COVERAGES},
    }


def _risk(p: Any, right: Any, coverage: float) -> float | None:
    """Wrong among the surest share of the questions."""
    surest = np.argsort(-p, kind="stable")[: max(1, round(coverage * len(p)))]
    return _mean(~right[surest])


def _auroc(p: Any, positive: Any) -> float | None:
    if positive.all() or not positive.any():
        return None
    return round(auroc(p[positive], p[~positive]), 4)


def _interval(p: Any, positive: Any) -> list[float] | None:
    """Bootstrap over the questions."""
    if _auroc(p, positive) is None:
        return None
    rng = np.random.default_rng(_SEED)
    samples = rng.integers(0, len(p), size=(_RESAMPLES, len(p)))
    values = [auroc(p[at][positive[at]], p[at][~positive[at]]) for at in samples]
    return [round(float(edge), 4) for edge in np.quantile(values, (0.025, 0.975))]


def _mean(values: Any) -> float | None:
    return round(float(np.mean(values)), 4) if len(values) else None
