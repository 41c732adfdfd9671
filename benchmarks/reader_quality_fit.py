"""The calibration that ships: which span to answer with, how likely it is right, when to withhold
it, when to search again; made from `squad2-dev` and `hotpot-train` for one reader."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.reader_quality_figures import auroc_of, calibration_error, mean_of, rounded
from benchmarks.reader_quality_grades import about_threshold
from benchmarks.reader_quality_risk import (
    Sample,
    best_features,
    chooses_features,
    compared_features,
    out_of_sample,
)
from secondlook.reading.calibration import (
    Calibration,
    calibration_data,
    quality_features,
    save_calibration,
)
from secondlook.reading.logistic import Outcome, fit_logistic
from secondlook.reading.risk import risk_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.reader_quality_cases import Case
    from benchmarks.reader_quality_compare import Read
    from secondlook.reading.logistic import Logistic

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "src" / "secondlook" / "reading" / "calibration.json"
RESULTS = ROOT / "benchmarks" / "results" / "calibration.json"
COMMAND = "python -m benchmarks.reader_quality fit"

CHOICES: dict[str, dict[str, float]] = {
    "ranked first": {},
    "highest relevance": {"relevance": 1.0},
    "highest answerable": {"answerable": 1.0},
    "highest margin": {"margin": 1.0},
    "relevance + answerable": {"relevance": 1.0, "answerable": 1.0},
    "relevance + margin": {"relevance": 1.0, "margin": 1.0},
    "relevance + margin / 4": {"relevance": 1.0, "margin": 0.25},
    "score + relevance / 50": {"score": 1.0, "relevance": 0.02},
    "score + margin / 50": {"score": 1.0, "margin": 0.02},
    "score + margin / 100": {"score": 1.0, "margin": 0.01},
}
ORACLE = "best of five (oracle)"
QUALITY = ("relevance", "lead", "fusion", "agreement")
MADE_FROM = ("squad2-dev", "hotpot-train")
REPORTED = ("squad2-dev", "hotpot-train", "hotpot", "scifact", "shift-new_wiki")
FALSE_ALARMS, FALSE_WEB_ALARMS = 0.10, 0.02
"""Share of good searches that may be followed by a second one, and by the web."""


def fit(read: Read, label: str, *, file: Path = FILE, results: Path = RESULTS) -> dict[str, Any]:
    """Make, write and return the calibration of one reader."""
    squad, hotpot = (read.mixed(name)[label] for name in MADE_FROM)
    if not squad or not hotpot:
        raise SystemExit(f"{label} has read nothing of {' or '.join(MADE_FROM)}: read first")
    choosing = [case for case in squad if chooses_features(case.question.article)]
    chosen = {"squad2-dev": _choices(choosing), "hotpot-train": _choices(hotpot)}
    rule = max(CHOICES, key=lambda name: np.mean([found[name]["f1"] for found in chosen.values()]))
    choice = CHOICES[rule]
    compared = compared_features(Sample.of(choosing, choice))
    sample = Sample.of(squad, choice)
    answer = _rising(sample.outcomes, best_features(compared))
    p = out_of_sample(sample, tuple(answer.weights))
    searches = {name: (_held(read.of(name)[label]), read.robbed(name, label)) for name in MADE_FROM}
    quality = _quality(searches)
    good = [_good(quality, held) for held, _ in searches.values()]
    calibration = Calibration(
        reader=read.store.readers()[label].partition("/")[0],
        label="calibrated",
        choice=choice,
        answer=answer,
        quality=quality,
        min_answer=best_threshold(p.tolist(), squad, choice),
        min_quality=_alarm(good, FALSE_ALARMS),
        min_web_quality=_alarm(good, FALSE_WEB_ALARMS),
        min_about=about_threshold(choosing),
        risk=risk_table(p.tolist(), [one.right for one in sample.outcomes]),
    )
    told: dict[str, Any] = {
        "made": datetime.now(UTC).date().isoformat(),
        "by": COMMAND,
        "data": _data(squad, {name: len(held) for name, (held, _) in searches.items()}),
    }
    save_calibration(file, calibration, **told)
    found = {
        "made": calibration_data(calibration, **told),
        "rule": rule,
        "choice": chosen,
        "features": compared,
        "answers": _answers(read, label, calibration),
        "searches": {name: _searched(read, label, name, calibration) for name in REPORTED},
    }
    results.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def best_threshold(
    probability: Sequence[float], cases: Sequence[Case], choice: Mapping[str, float]
) -> float:
    """The one, in hundredths, with the highest F1 by the rules of SQuAD 2: an answer scores its
    F1, silence scores 1 where there is no answer and 0 where there is one."""
    p = np.asarray(probability)
    answered = np.array([case.pick(choice).f1 for case in cases])
    withheld = np.array([float(not case.answerable) for case in cases])
    steps = np.arange(0, 101) / 100
    means = [np.where(p >= step, answered, withheld).mean() for step in steps]
    return float(steps[int(np.argmax(means))])


def _data(squad: Sequence[Case], searched: Mapping[str, int]) -> dict[str, Any]:
    held = len(_held(squad))
    sets = " and ".join(f"{name} ({size})" for name, size in searched.items())
    return {
        "answer": f"squad2-dev: {len(squad)} questions, {held} of them answerable",
        "quality": f"answerable questions of {sets}, each also with its gold passages taken out",
        "questions": len(squad),
        "answerable": held,
    }


def _held(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.answerable]


def _choices(cases: Sequence[Case]) -> dict[str, Any]:
    """Exact match and F1 over answerable questions, by the rule that picks the span."""
    held = [case for case in _held(cases) if case.scores]
    found: dict[str, Any] = {}
    for name, choice in CHOICES.items():
        picked = [case.pick(choice) for case in held]
        found[name] = {
            "em": rounded(float(np.mean([one.em for one in picked]))),
            "f1": rounded(float(np.mean([one.f1 for one in picked]))),
        }
    best = [max(case.scores, key=lambda score: score[1]) for case in held]
    em, f1 = np.array(best).mean(axis=0)
    return found | {ORACLE: {"em": rounded(em), "f1": rounded(f1)}, "questions": len(held)}


def _quality(searches: Mapping[str, tuple[list[Case], list[Case]]]) -> Logistic:
    """Every set weighs the same, and a question as much with its gold passage as without."""
    groups = [group for both in searches.values() for group in both]
    total = sum(len(group) for group in groups)
    outcomes = [
        Outcome(
            quality_features(case.best),
            right=case.found,
            weight=total / (len(groups) * len(group)),
        )
        for group in groups
        for case in group
        if case.best
    ]
    return _rising(outcomes, QUALITY)


def _rising(outcomes: Sequence[Outcome], names: Sequence[str]) -> Logistic:
    """Without the features that would count against what they speak for: what is worse for being
    better in one respect fits one kind of text only."""
    model = fit_logistic(outcomes, names)
    while falls := [name for name, weight in model.weights.items() if weight < 0]:
        worst = min(falls, key=lambda name: model.weights[name])
        model = fit_logistic(outcomes, [name for name in model.weights if name != worst])
    return model


def _probabilities(model: Logistic, cases: Sequence[Case]) -> np.ndarray[Any, Any]:
    return np.array([model.probability(quality_features(case.best)) for case in cases if case.best])


def _good(model: Logistic, held: Sequence[Case]) -> list[float]:
    found: list[float] = _probabilities(model, [case for case in held if case.found]).tolist()
    return found


def _alarm(good: Sequence[Sequence[float]], share: float) -> float:
    """The highest threshold, in thousandths, under which at most `share` of good searches fall;
    each set weighs the same, whatever its size."""
    size = max(len(values) for values in good)
    evenly = [np.quantile(values, np.linspace(0, 1, size)) for values in good]
    return float(np.floor(np.quantile(np.concatenate(evenly), share) * 1000) / 1000)


def _answers(read: Read, label: str, calibration: Calibration) -> dict[str, Any]:
    """What is answered and withheld. Probabilities of `squad2-dev` are by models made from other
    articles; those of other sets by the model that ships."""
    found = {}
    for name in ("squad2-dev", "hotpot-train", "hotpot", "shift-new_wiki"):
        cases = read.mixed(name)[label]
        if cases:
            found[name] = _withheld(cases, calibration, outside=name == "squad2-dev")
    return found


def _withheld(cases: Sequence[Case], calibration: Calibration, *, outside: bool) -> dict[str, Any]:
    sample = Sample.of(cases, calibration.choice)
    if outside:
        p = out_of_sample(sample, tuple(calibration.answer.weights))
    else:
        p = np.array([calibration.answer.probability(one.features) for one in sample.outcomes])
    right, held = sample.right > 0, np.array([case.answerable for case in cases])
    f1 = np.array([case.pick(calibration.choice).f1 for case in cases])
    answered = p >= calibration.min_answer
    return {
        "questions": len(cases),
        "answerable": int(held.sum()),
        "auroc_right": auroc_of(p.tolist(), right.tolist()),
        "ece": rounded(calibration_error(p, sample.right)),
        "mean_probability": rounded(p.mean()),
        "right": rounded(right.mean()),
        "answered": _mean(answered),
        "answered_of_answerable": _mean(answered[held]),
        "answered_of_unanswerable": _mean(answered[~held]),
        "wrong_of_answered": _mean(~right[answered]),
        "wrong_of_answered_answerable": _mean(~right[answered & held]),
        "squad2_f1": _mean(np.where(answered, f1, ~held)),
    }


def _searched(read: Read, label: str, name: str, calibration: Calibration) -> dict[str, Any]:
    """How well good searches are told from bad ones, and how often another one would follow."""
    held, robbed = _held(read.of(name)[label]), read.robbed(name, label)
    if not held:
        return {"questions": 0}
    p, q = (_probabilities(calibration.quality, group) for group in (held, robbed))
    found = np.array([case.found for case in held if case.best])
    again, web = calibration.min_quality, calibration.min_web_quality
    return {
        "questions": len(held),
        "found": mean_of(found.astype(float).tolist(), yes_no=True),
        "auroc_missed": _apart(p[found], p[~found]),
        "auroc_taken_out": _apart(p[found], q),
        "again": {"found": _mean(p[found] < again), "missed": _mean(p[~found] < again)}
        | {"taken_out": _mean(q < again)},
        "web": {"found": _mean(p[found] < web), "missed": _mean(p[~found] < web)}
        | {"taken_out": _mean(q < web)},
    }


def _apart(good: Any, bad: Any) -> float | None:
    if not len(good) or not len(bad):
        return None
    positive = [True] * len(good) + [False] * len(bad)
    value: float | None = auroc_of([*good, *bad], positive)["value"]
    return value


def _mean(values: Any) -> float | None:
    return rounded(float(np.mean(values))) if len(values) else None
