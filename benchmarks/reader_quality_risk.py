"""What probabilities are worth: fitted on one half of the questions, judged on the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.reader_quality_figures import calibration_error, log_loss, relative, rounded
from benchmarks.reader_quality_sets import lot
from secondlook.evaluation.summary import aurc, auroc
from secondlook.reading.logistic import Outcome, cross_fitted, fit_logistic
from secondlook.reading.risk import risk_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.reader_quality_cases import Case

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

SPLITS = 20
RISKS = (0.05, 0.10, 0.20, 0.25, 0.30)
CONFIDENCES = (0.90, 0.95, 0.98, 0.99)
_SEED = 6
_FOLDS = 5
BY_ARTICLE = "by article"

FEATURE_SETS: tuple[tuple[str, ...], ...] = (
    ("margin",),
    ("answerable",),
    ("relevance",),
    ("margin", "answerable"),
    ("margin", "relevance"),
    ("margin", "answerable", "relevance"),
    ("margin", "answerable", "lead"),
    ("margin", "answerable", "fusion"),
    ("margin", "answerable", "in_both"),
    ("margin", "answerable", "agreement"),
    ("margin", "answerable", "windows"),
    ("margin", "answerable", "lead", "agreement"),
    ("margin", "answerable", "lead", "in_both"),
    ("margin", "answerable", "lead", "fusion", "agreement"),
    ("margin", "answerable", "relevance", "lead", "agreement", "windows"),
    ("margin", "answerable", "relevance", "lead", "fusion", "agreement", "in_both", "windows"),
    ("margin", "shortfall"),
    ("margin", "shortfall", "answerable"),
    ("margin", "shortfall", "answerable", "lead"),
    ("margin", "shortfall", "answerable", "lead", "agreement"),
    ("margin", "shortfall", "answerable", "relevance", "lead", "agreement"),
)
_MUST_RISE = frozenset(
    (
        "margin",
        "answerable",
        "relevance",
        "lead",
        "fusion",
        "agreement",
        "in_both",
        "score",
        "shortfall",
    )
)
"""A probability that falls as one of them rises fits one kind of text and misleads on others."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The answers of one reader, none withheld."""

    outcomes: tuple[Outcome, ...]
    right: Floats
    articles: tuple[str, ...]

    @classmethod
    def of(cls, cases: Sequence[Case], choice: Mapping[str, float]) -> Sample:
        picked = [case.pick(choice) for case in cases]
        outcomes = tuple(Outcome(one.features, right=one.right) for one in picked)
        return cls(
            outcomes,
            np.array([one.right for one in picked], dtype=np.float64),
            tuple(case.question.article for case in cases),
        )

    def part(self, places: Sequence[int] | Places) -> Sample:
        return Sample(
            tuple(self.outcomes[at] for at in places),
            self.right[np.asarray(places, dtype=np.int64)],
            tuple(self.articles[at] for at in places),
        )

    @property
    def size(self) -> int:
        return len(self.outcomes)


def out_of_sample(sample: Sample, names: Sequence[str]) -> Floats:
    """Each answer's probability by a model made from the other articles."""
    found = cross_fitted(sample.outcomes, names, groups=sample.articles, folds=_FOLDS)
    return np.asarray(found, dtype=np.float64)


def compared_features(sample: Sample) -> dict[str, Any]:
    """What each set of features is worth, articles being judged by models made from others."""
    found = {}
    known = sample.outcomes[0].features.keys()
    for names in FEATURE_SETS:
        if not known >= set(names):
            continue
        p = out_of_sample(sample, names)
        weights = dict(fit_logistic(sample.outcomes, names).weights)
        found[" + ".join(names)] = {
            "log_loss": rounded(log_loss(p, sample.right)),
            "ece": rounded(calibration_error(p, sample.right)),
            "aurc": rounded(_once(aurc(p, sample.right), sample.size)),
            "auroc_right": rounded(_once(auroc(p, sample.right), sample.size)),
            "sound": all(weights[name] >= 0 for name in names if name in _MUST_RISE),
            "weights": {name: rounded(weight) for name, weight in weights.items()},
        }
    return found


def best_features(compared: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The lowest log loss among those whose weights make sense."""
    sound = {name: row for name, row in compared.items() if row["sound"]}
    best = min(sound or compared, key=lambda name: compared[name]["log_loss"])
    return tuple(best.split(" + "))


def chooses_features(article: str) -> bool:
    """Whole articles go to one of two halves; on this one features and rules are chosen."""
    return int(lot(article), 16) % 2 == 0


def judged(sample: Sample, names: Sequence[str]) -> dict[str, Any]:
    """Every split, and what they come to."""
    splits = {name: _split(sample, names, *halves) for name, halves in _halves(sample)}
    random = [found for name, found in splits.items() if name != BY_ARTICLE]
    return {
        "questions": sample.size,
        "right": rounded(float(sample.right.mean())),
        "features": list(names),
        "ece_mean": rounded(float(np.mean([one["ece"] for one in random]))),
        "ece_worst": rounded(max(one["ece"] for one in random)),
        "ece_by_article": splits[BY_ARTICLE]["ece"],
        "aurc_mean": rounded(float(np.mean([one["aurc"] for one in random]))),
        "auroc_right_mean": rounded(float(np.mean([one["auroc"] for one in random]))),
        "risk": {
            str(confidence): {str(risk): _promise(splits, confidence, risk) for risk in RISKS}
            for confidence in CONFIDENCES
        },
        "coverage_at": _curve(out_of_sample(sample, names), sample.right),
    }


def below(base: Sample, other: Sample, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """By how much the area under the risk-coverage curve of `other` lies below that of `base`."""
    curves = [
        aurc(out_of_sample(sample, names[which]), sample.right)
        for which, sample in (("base", base), ("other", other))
    ]
    return {
        "base": rounded(_once(curves[0], base.size)),
        "other": rounded(_once(curves[1], other.size)),
        "below": relative(curves[0], curves[1], base.size),
    }


def _halves(sample: Sample) -> Iterator[tuple[str, tuple[Places, Places]]]:
    rng = np.random.default_rng(_SEED)
    for number in range(SPLITS):
        order = rng.permutation(sample.size)
        half = sample.size // 2
        yield str(number), (np.sort(order[:half]), np.sort(order[half:]))
    made = np.array([chooses_features(article) for article in sample.articles])
    yield BY_ARTICLE, (np.flatnonzero(made), np.flatnonzero(~made))


def _split(sample: Sample, names: Sequence[str], made: Places, kept: Places) -> dict[str, Any]:
    fitted_on, judged_on = sample.part(made), sample.part(kept)
    model = fit_logistic(fitted_on.outcomes, names)
    p = np.array([model.probability(one.features) for one in judged_on.outcomes])
    inside = cross_fitted(fitted_on.outcomes, names, folds=_FOLDS)
    table = risk_table(inside, [one.right for one in fitted_on.outcomes])
    promises = {}
    for confidence in CONFIDENCES:
        for risk in RISKS:
            threshold = table.threshold(risk, confidence=confidence)
            answered = p >= (np.inf if threshold is None else threshold)
            promises[confidence, risk] = (
                float(answered.mean()),
                float(1 - judged_on.right[answered].mean()) if answered.any() else 0.0,
            )
    return {
        "ece": rounded(calibration_error(p, judged_on.right)),
        "aurc": _once(aurc(p, judged_on.right), judged_on.size),
        "auroc": _once(auroc(p, judged_on.right), judged_on.size),
        "promises": promises,
    }


def _promise(splits: Mapping[str, Any], confidence: float, risk: float) -> dict[str, Any]:
    """How often it was broken. A split in which nothing could be promised breaks none."""
    kept = {name: found["promises"][confidence, risk] for name, found in splits.items()}
    coverages = [coverage for coverage, _ in kept.values()]
    return {
        "coverage": rounded(float(np.mean(coverages))),
        "coverage_least": rounded(min(coverages)),
        "realised": rounded(float(np.mean([realised for _, realised in kept.values()]))),
        "realised_most": rounded(max(realised for _, realised in kept.values())),
        "exceeded": sum(realised > risk for _, realised in kept.values()),
        "splits": len(kept),
        "by_article": [rounded(value) for value in kept[BY_ARTICLE]],
    }


def _curve(p: Floats, right: Floats) -> dict[str, Any]:
    """The largest share of the questions, surest first, that keeps each risk: what a threshold
    that knew the outcome could reach."""
    order = np.argsort(-p, kind="stable")
    risk = np.cumsum(1 - right[order]) / np.arange(1, len(p) + 1)
    reached = {most: np.flatnonzero(risk <= most) for most in RISKS}
    return {
        str(most): rounded((places[-1] + 1) / len(p) if len(places) else 0.0)
        for most, places in reached.items()
    }


def _once(statistic: Any, n: int) -> float:
    return float(statistic(np.ones((1, n)))[0])
