"""What a reader is worth, and the calibration that ships with it.

export SECONDLOOK_DATA=...                            the folder with the evaluation sets
python -m benchmarks.reader_quality prepare           index the sets and search them (once)
python -m benchmarks.reader_quality read [--readers shipped=FOLDER other=FOLDER] [--minutes 40]
python -m benchmarks.reader_quality report            figures from what was read so far
python -m benchmarks.reader_quality fit               the calibration that ships

Every reader sees the same candidates, in the product's order, and is decoded in the same way
(`benchmarks/readings.py` keeps what was read; `read` may be cut and goes on where it was). `report`
tells of each reader its answers to all answerable questions, how well it tells questions without an
answer, what its probabilities and promises of risk are worth on questions that they were not made
from, and its ranking on other sets; a second reader is compared question by question. Writes
benchmarks/results/reader_quality.json. `fit` makes which span to answer with, how likely it is
right, when to withhold it, when to search again and when to ask the web, from `squad2-dev`, from
everyday files that no reader was trained on and from `hotpot-train`. Writes
src/secondlook/reading/calibration.json and results/calibration.json.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.common import RESULTS, ROOT, machine, parser
from benchmarks.readings import (
    CHOICE,
    FILES,
    FIRST_LOOK,
    QUESTIONS,
    Competitor,
    Read,
    Store,
    held,
    hybrid,
    lot,
    prepare,
    read_all,
)
from secondlook.evaluation.statistics import bootstrap, interval, paired
from secondlook.evaluation.summary import auroc
from secondlook.reading.calibration import (
    RISK_CONFIDENCE,
    Calibration,
    calibration_data,
    quality_features,
    save_calibration,
)
from secondlook.reading.logistic import Outcome, cross_fitted, fit_logistic
from secondlook.reading.reader import OnnxReader
from secondlook.reading.risk import risk_table
from secondlook.reading.weights import read_weights
from secondlook.settings.sections import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.readings import ByLabel, Case
    from secondlook.evaluation.statistics import Statistic
    from secondlook.reading.logistic import Logistic

    Floats = NDArray[np.float64]

SHIPPED = "shipped"
FILE = ROOT / "src" / "secondlook" / "reading" / "calibration.json"
MADE_FROM = ("squad2-dev", "hotpot-train")
ANSWERED = ("squad2-dev", FILES)
"""What is known of answers."""
ANSWER = ("margin", "answerable", "fusion")
"""Chosen among 21 sets by the log loss on half of the articles."""
SECOND = ("relevance", "margin", "answerable", "fusion", "together", "ahead")
YES_NO_FEATURES = ("margin", "fusion", "together", "lead", "ahead")
UNANSWERABLE = 1 / 6
"""Share of people's questions that their files do not answer, as in `benchmarks/worlds`."""
LIKELY, SURE, SEALED = 0.55, 0.9, 0.97
"""How likely right a given answer must be; share of right ones among the sure, the sealed."""
FEWEST = 30
QUALITY = ("relevance", "lead", "fusion", "agreement")
FALSE_ALARMS, FALSE_WEB_ALARMS = 0.10, 0.02
"""Share of good searches that may be followed by a second one, and by the web."""
PRECISION, RECALL = 0.80, 0.70
"""What a grader of passages must keep to."""
RISKS = (0.05, 0.10, 0.20, 0.25, 0.30)
SPLITS, FOLDS, BINS, SEED, BY_ARTICLE = 20, 5, 10, 6, "by article"


# Figures with how sure they are


def rounded(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else round(float(value), 4)


def side_by_side(values: Mapping[str, Sequence[float]], *, yes_no: bool = False) -> dict[str, Any]:
    """The mean of each reader with its interval, and how the first differs from the second on the
    same questions."""
    told: dict[str, Any] = {}
    for label, these in values.items():
        mean = interval(these, yes_no=yes_no)
        told[label] = {key: rounded(getattr(mean, key)) for key in ("value", "low", "high")}
    if len(values) > 1:
        other, base = list(values.values())[:2]
        change = paired(base, other, yes_no=yes_no)
        told["difference"] = {
            "difference": rounded(change.difference),
            "low": rounded(change.low),
            "high": rounded(change.high),
            "p": rounded(change.p),
            "improved": change.improved,
            "degraded": change.degraded,
        }
    return told


def bounded(statistic: Statistic, n: int) -> dict[str, Any]:
    """A figure over so many questions with its 95 % interval."""
    value = once(statistic, n)
    low, high = (bootstrap(statistic, n) if np.isfinite(value) else None) or (None, None)
    return {"value": rounded(value), "low": rounded(low), "high": rounded(high)}


def once(statistic: Statistic, n: int) -> float:
    return float(statistic(np.ones((1, n)))[0])


def apart(scores: Mapping[str, Any], positive: Mapping[str, Any]) -> dict[str, Any]:
    """AUROC of each reader; of two also the difference, both meeting the same questions in every
    draw of the bootstrap."""
    curves = {
        label: auroc(
            np.asarray(scores[label], dtype=np.float64), np.asarray(positive[label], np.float64)
        )
        for label in scores
    }
    told: dict[str, Any] = {
        label: bounded(one, len(scores[label])) for label, one in curves.items()
    }
    if len(curves) > 1:
        other, base = list(curves.values())[:2]
        n = len(next(iter(scores.values())))
        told["difference"] = bounded(lambda draws: other(draws) - base(draws), n)
    return told


def calibration_error(probability: Floats, right: Floats) -> float:
    """Expected calibration error over ten bins that hold as many questions each."""
    places = np.argsort(probability, kind="stable")
    parts = np.array_split(places, min(BINS, len(places)))
    gaps = [abs(float(probability[part].sum() - right[part].sum())) for part in parts]
    return sum(gaps) / len(probability)


# What probabilities are worth


@dataclass(frozen=True, slots=True)
class Sample:
    """The answers of one reader, none withheld."""

    outcomes: tuple[Outcome, ...]
    articles: tuple[str, ...]

    @classmethod
    def of(cls, cases: Sequence[Case]) -> Sample:
        picked = [case.picked for case in cases]
        return cls(
            tuple(Outcome(one.features, right=one.right > 0) for one in picked),
            tuple(case.question.article for case in cases),
        )

    @property
    def right(self) -> Floats:
        return np.array([one.right for one in self.outcomes], dtype=np.float64)

    def out_of_sample(self) -> Floats:
        """Each answer's probability by a model made from the other articles."""
        found = cross_fitted(self.outcomes, SECOND, groups=self.articles, folds=FOLDS)
        return np.asarray(found, dtype=np.float64)


def chooses(article: str) -> bool:
    """Whole articles go to one of two halves; on this one rules are chosen."""
    return int(lot(article), 16) % 2 == 0


def judged(sample: Sample) -> dict[str, Any]:
    """Fitted on one half of the questions and judged on the other: 20 halves by chance, and one by
    articles. A split in which nothing could be promised breaks no promise."""
    splits = {name: _split(sample, *halves) for name, halves in _halves(sample)}
    drawn = [found for name, found in splits.items() if name != BY_ARTICLE]
    right = sample.right
    told: dict[str, Any] = {
        "questions": len(sample.outcomes),
        "right": rounded(float(right.mean())),
        "ece_mean": rounded(float(np.mean([one["ece"] for one in drawn]))),
        "ece_worst": rounded(max(one["ece"] for one in drawn)),
        "ece_by_article": rounded(splits[BY_ARTICLE]["ece"]),
        "auroc_right_mean": rounded(float(np.mean([one["auroc"] for one in drawn]))),
        "risk": {},
    }
    for most in RISKS:
        kept = {name: found["promises"][most] for name, found in splits.items()}
        coverages, realised = (np.array(column) for column in zip(*kept.values(), strict=True))
        told["risk"][str(most)] = {
            "coverage": rounded(float(coverages.mean())),
            "realised": rounded(float(realised.mean())),
            "exceeded": int((realised > most).sum()),
            "splits": len(kept),
        }
    return told


def _halves(sample: Sample) -> Iterator[tuple[str, tuple[Any, Any]]]:
    rng, size = np.random.default_rng(SEED), len(sample.outcomes)
    for number in range(SPLITS):
        drawn = rng.permutation(size)
        yield str(number), (np.sort(drawn[: size // 2]), np.sort(drawn[size // 2 :]))
    made = np.array([chooses(article) for article in sample.articles])
    yield BY_ARTICLE, (np.flatnonzero(made), np.flatnonzero(~made))


def _split(sample: Sample, made: Any, kept: Any) -> dict[str, Any]:
    fitted, checked = ([sample.outcomes[at] for at in places] for places in (made, kept))
    model = fit_logistic(fitted, SECOND)
    p = np.array([model.probability(one.features) for one in checked])
    right = np.array([one.right for one in checked], dtype=np.float64)
    inside = cross_fitted(fitted, SECOND, folds=FOLDS)
    table = risk_table(inside, [one.right for one in fitted])
    promises = {}
    for risk in RISKS:
        threshold = table.threshold(risk, confidence=RISK_CONFIDENCE)
        answered = p >= (np.inf if threshold is None else threshold)
        wrong = float(1 - right[answered].mean()) if answered.any() else 0.0
        promises[risk] = (float(answered.mean()), wrong)
    return {
        "ece": calibration_error(p, right),
        "auroc": once(auroc(p, right), len(p)),
        "promises": promises,
    }


# The report


def report(read: Read, file: Path = RESULTS / "reader_quality.json") -> dict[str, Any]:
    """All that can be computed from what is there; a set that nobody read is left out."""
    squad = read.mixed("squad2-dev")
    if not squad or not next(iter(squad.values())):
        raise SystemExit("no question of squad2-dev was read by all of these readers: read first")
    samples = {label: Sample.of(cases) for label, cases in squad.items()}
    probability = {label: one.out_of_sample() for label, one in samples.items()}
    names = read.store.readers()
    found: dict[str, Any] = {
        "made": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "readers": {label: names[label] for label in read.labels},
        "answers": answers(held(read.of("squad2-dev"))),
        "answerability": told_apart(squad, probability)
        | {"right": apart(probability, {k: one.right for k, one in samples.items()})},
        "calibration": {
            group: {label: judged(Sample.of(cases)) for label, cases in by_label.items()}
            for group, by_label in (("all", squad), ("answerable", held(read.of("squad2-dev"))))
        },
        "elsewhere": elsewhere(read),
    }
    file.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def answers(by_label: ByLabel) -> dict[str, Any]:
    """Exact match, F1 and recall over answerable questions, none withheld."""

    def each(metric: str) -> dict[str, list[float]]:
        return {label: [case.retrieval[metric] for case in by_label[label]] for label in by_label}

    picked = {label: [case.picked for case in cases] for label, cases in by_label.items()}
    exact = {label: [one.em for one in some] for label, some in picked.items()}
    return {
        "questions": len(next(iter(by_label.values()))),
        "em": side_by_side(exact, yes_no=True),
        "f1": side_by_side({label: [one.f1 for one in some] for label, some in picked.items()}),
        "recall@1": side_by_side(each("recall@1"), yes_no=True),
        "recall@5": side_by_side(each("recall@5"), yes_no=True),
    }


def told_apart(by_label: ByLabel, probability: Mapping[str, Any]) -> dict[str, Any]:
    """How well questions with an answer are told from those without."""
    can = {label: [case.answerable for case in cases] for label, cases in by_label.items()}

    def by(feature: str) -> dict[str, list[float]]:
        return {
            label: [case.picked.features[feature] for case in cases]
            for label, cases in by_label.items()
        }

    return {
        "questions": len(next(iter(can.values()))),
        "by_answerable": apart(by("answerable"), can),
        "by_margin": apart(by("margin"), can),
        "by_probability": apart(probability, can),
    }


def elsewhere(read: Read) -> dict[str, Any]:
    """Answers and ranking on other sets."""
    found: dict[str, Any] = {}
    if any((wiki := held(read.of("shift-new_wiki"))).values()):
        found["shift-new_wiki"] = answers(wiki)
    for name, metric in (("hotpot", "recall@5"), ("scifact", "ndcg@10")):
        if any((by_label := held(read.of(name))).values()):
            some = next(iter(by_label.values()))
            values = {
                label: [case.retrieval[metric] for case in cases]
                for label, cases in by_label.items()
            }
            alone = [hybrid(case.question)[metric] for case in some]
            beside = {
                label: side_by_side({label: these, "hybrid": alone})
                for label, these in values.items()
            }
            found[name] = {"questions": len(some), metric: side_by_side(values), "hybrid": beside}
    return found


def about_threshold(cases: Sequence[Case]) -> float:
    """The relevance, in tenths, above which a passage is about the question, as it leaves most
    room to both bounds among the best five of answerable questions."""
    gold, relevance = _pairs(cases)
    steps = np.quantile(relevance, np.linspace(0, 0.999, 400)).tolist()

    def room(step: float) -> float:
        precision, recall = _accepted(gold, relevance, step)
        return min(precision - PRECISION, recall - RECALL)

    return round(float(max(steps, key=room)), 1)


def _pairs(cases: Sequence[Case]) -> tuple[Floats, Floats]:
    pairs = [
        (named, one.relevance)
        for case in cases
        if case.answerable
        for named, one in zip(case.gold, case.best, strict=True)
    ]
    gold, relevance = zip(*pairs, strict=True)
    return np.array(gold, dtype=np.float64), np.array(relevance)


def _accepted(gold: Floats, relevance: Floats, threshold: float) -> tuple[float, float]:
    yes = relevance > threshold
    kept = float(gold[yes].sum())
    return kept / max(1, int(yes.sum())), kept / max(1.0, float(gold.sum()))


# The calibration that ships


def fit(
    read: Read, label: str, *, file: Path = FILE, results: Path = RESULTS / "calibration.json"
) -> dict[str, Any]:
    """Make, write and return the calibration of one reader."""
    every = {name: read.mixed(name)[label] for name in ANSWERED}
    cases = {name: as_people_ask(some) for name, some in every.items()}
    searches = {name: (held(read.of(name))[label], read.robbed(name, label)) for name in MADE_FROM}
    if lacking := [name for name, some in (cases | searches).items() if not some]:
        raise SystemExit(f"{label} has read nothing of {' or '.join(lacking)}: read first")
    spans = {name: [one for one in some if not one.asks_yes_or_no] for name, some in cases.items()}
    yes_no = [one for one in cases[FILES] if one.asks_yes_or_no]
    reader = read.store.readers()[label].partition("/")[0]
    calibration, p = with_tiers(weights_of(reader, every, spans, yes_no, searches), spans, yes_no)
    sizes = " and ".join(f"{name} ({len(some)})" for name, (some, _) in searches.items())
    answered = " and ".join(f"{name} ({len(some)})" for name, some in cases.items())
    told: dict[str, Any] = {
        "made": datetime.now(UTC).date().isoformat(),
        "by": "python -m benchmarks.reader_quality fit",
        "data": {
            "answer": f"questions of {answered}, one in six unanswerable; all sets weigh the same",
            "quality": f"answerable questions of {sizes}, each also without its gold passages",
            "questions": sum(map(len, spans.values())),
            "answerable": sum(case.answerable for some in spans.values() for case in some),
        },
    }
    save_calibration(file, calibration, **told)
    found = {
        "made": calibration_data(calibration, **told),
        "answers": {
            name: withheld(chosen_by(calibration, some), calibration, p.get(name))
            for name in (*ANSWERED, *MADE_FROM[1:], "hotpot", "shift-new_wiki")
            if (some := [o for o in as_people_ask(read.mixed(name)[label]) if not o.asks_yes_or_no])
        },
        "tiers": {n: tiers(some, calibration) for n, some in (spans | {"yes_no": yes_no}).items()},
        "searches": {
            name: searched(some, read.robbed(name, label), calibration)
            for name in (*MADE_FROM, "hotpot", "scifact", "shift-new_wiki")
            if (some := held(read.of(name))[label])
        },
    }
    results.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def as_people_ask(cases: Sequence[Case]) -> list[Case]:
    """With at most their share of questions that nothing answers."""
    left = round(sum(case.answerable for case in cases) * UNANSWERABLE / (1 - UNANSWERABLE))
    kept = [at for at, case in enumerate(cases) if not case.answerable][:left]
    return [case for at, case in enumerate(cases) if case.answerable or at in kept]


def weights_of(
    reader: str,
    cases: Mapping[str, Sequence[Case]],
    spans: Mapping[str, Sequence[Case]],
    yes_no: Sequence[Case],
    searches: Mapping[str, tuple[Sequence[Case], Sequence[Case]]],
) -> Calibration:
    # Every set weighs the same, and a question as much with its gold passage as without.
    groups = [group for both in searches.values() for group in both]
    total = sum(len(group) for group in groups)
    quality = rising(
        [
            Outcome(quality_features(case.best), case.found, total / (len(groups) * len(group)))
            for group in groups
            for case in group
            if case.best
        ],
        QUALITY,
    )
    good = [
        qualities(quality, [case for case in some if case.found]) for some, _ in searches.values()
    ]
    squad = [case for case in cases["squad2-dev"] if chooses(case.question.article)]
    return Calibration(
        reader=reader,
        label="calibrated",
        choice=CHOICE,
        answer=rising(weighed(chosen_by(FIRST_LOOK, some) for some in cases.values()), ANSWER),
        second=looked_twice(spans.values()),
        yes_no=looked_twice([yes_no], YES_NO_FEATURES),
        quality=quality,
        min_answer=LIKELY,
        min_quality=_alarm(good, FALSE_ALARMS),
        min_web_quality=_alarm(good, FALSE_WEB_ALARMS),
        min_about=about_threshold(squad),
    )


def with_tiers(
    made: Calibration, spans: Mapping[str, Sequence[Case]], yes_no: Sequence[Case]
) -> tuple[Calibration, dict[str, Floats]]:
    """With the limits of sure and sealed, and each answer's probability by the other articles."""
    chosen = {name: chosen_by(made, some) for name, some in spans.items()}
    unseen = {name: Sample.of(some) for name, some in chosen.items()}
    articles = [article for one in unseen.values() for article in one.articles]
    names = tuple(made.second.weights) if made.second else ()
    every = np.asarray(cross_fitted(weighed(chosen.values()), names, groups=articles, folds=FOLDS))
    ends = np.cumsum([len(some) for some in chosen.values()])
    p = dict(zip(chosen, np.split(every, ends[:-1]), strict=True))
    right = np.concatenate([one.right for one in unseen.values()])
    together = np.array([one.features["together"] for s in unseen.values() for one in s.outcomes])
    either = Sample.of(chosen_by(made, yes_no))
    names = tuple(made.yes_no.weights) if made.yes_no else ()
    q = cross_fitted(either.outcomes, names, groups=either.articles, folds=FOLDS)
    judged = {name: (p[name], unseen[name].right) for name in p}
    judged[FILES] = np.append(p[FILES], q), np.append(unseen[FILES].right, either.right)
    min_sure = max(surest(*both) for both in judged.values())
    sure = every >= min_sure
    seal = surest(together[sure], right[sure], SEALED) if sure.any() else 0.0
    risk = risk_table(every.tolist(), (right > 0).tolist())
    return replace(made, min_sure=min_sure, min_seal=max(0.0, seal), risk=risk), p


def chosen_by(calibration: Calibration, cases: Sequence[Case]) -> list[Case]:
    return [replace(case, chooser=calibration) for case in cases]


def weighed(sets: Iterable[Sequence[Case]]) -> list[Outcome]:
    """The answers of all of them, each set weighing the same."""
    groups = list(sets)
    most = max(map(len, groups))
    return [
        Outcome(one.features, one.right > 0, most / len(group))
        for group in groups
        for one in (case.picked for case in group)
    ]


def looked_twice(sets: Iterable[Sequence[Case]], names: Sequence[str] = SECOND) -> Logistic:
    """From the answers that would be given: those that a fit to all that were judged finds best."""
    groups = [list(group) for group in sets]
    judged = [Outcome(one.features, one.right > 0) for g in groups for c in g for one in c.judged]
    first = fit_logistic(judged, names)
    by = replace(FIRST_LOOK, second=first, yes_no=first)
    return rising(weighed([chosen_by(by, group) for group in groups]), names)


def surest(score: Floats, right: Floats, share: float = SURE) -> float:
    """The lowest score, in hundredths, from which on at least this share is right."""
    order = np.argsort(-score, kind="stable")
    kept = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    reached = np.flatnonzero((kept >= share) & (np.arange(len(order)) >= FEWEST - 1))
    return float(np.ceil(score[order][reached[-1]] * 100) / 100) if len(reached) else 1.0


def tiers(cases: Sequence[Case], calibration: Calibration) -> dict[str, Any]:
    """How many answers are sure, likely and sealed, and how many of those are right."""
    told: dict[str, list[bool]] = {"sure": [], "likely": [], "sealed": []}
    for case in cases:
        at = calibration.best_answer(case.best)
        p = None if at is None else calibration.answer_probability(case.best, at)
        if at is None or p is None or p < calibration.min_answer:
            continue
        right = case.scores[at][2] > 0
        told["sure" if p >= calibration.min_sure else "likely"].append(right)
        if calibration.is_sealed(case.best[at], p):
            told["sealed"].append(right)
    return {name: {"n": len(some), "right": _mean(some)} for name, some in told.items()}


def rising(outcomes: Sequence[Outcome], names: Sequence[str]) -> Logistic:
    """Without the features that would count against what they speak for: what is worse for being
    better in one respect fits one kind of text only."""
    model = fit_logistic(outcomes, names)
    while falls := [name for name, weight in model.weights.items() if weight < 0]:
        worst = min(falls, key=lambda name: model.weights[name])
        model = fit_logistic(outcomes, [name for name in model.weights if name != worst])
    return model


def qualities(model: Logistic, cases: Sequence[Case]) -> Floats:
    return np.array([model.probability(quality_features(case.best)) for case in cases if case.best])


def _alarm(good: Sequence[Floats], share: float) -> float:
    """The highest threshold, in thousandths, under which at most `share` of good searches fall;
    each set weighs the same, whatever its size."""
    size = max(len(values) for values in good)
    evenly = [np.quantile(values, np.linspace(0, 1, size)) for values in good]
    return float(np.floor(np.quantile(np.concatenate(evenly), share) * 1000) / 1000)


def withheld(
    cases: Sequence[Case], calibration: Calibration, p: Floats | None = None
) -> dict[str, Any]:
    """What is answered and withheld, by probabilities of models made from other articles where they
    are given; of other sets by the model that ships."""
    sample = Sample.of(cases)
    if p is None:
        model = calibration.second or calibration.answer
        p = np.array([model.probability(one.features) for one in sample.outcomes])
    right, can = sample.right > 0, np.array([case.answerable for case in cases])
    scores = np.array([case.picked.f1 for case in cases])
    given = p >= calibration.min_answer
    return {
        "questions": len(cases),
        "answerable": int(can.sum()),
        "auroc_right": bounded(auroc(p, sample.right), len(p)),
        "ece": rounded(calibration_error(p, sample.right)),
        "mean_probability": rounded(p.mean()),
        "right": rounded(right.mean()),
        "answered": _mean(given),
        "answered_of_answerable": _mean(given[can]),
        "answered_of_unanswerable": _mean(given[~can]),
        "wrong_of_answered": _mean(~right[given]),
        "wrong_of_answered_answerable": _mean(~right[given & can]),
        "squad2_f1": _mean(np.where(given, scores, ~can)),
    }


def searched(
    cases: Sequence[Case], robbed: Sequence[Case], calibration: Calibration
) -> dict[str, Any]:
    """How well good searches are told from bad ones, and how often another one would follow."""
    p, q = (qualities(calibration.quality, group) for group in (cases, robbed))
    found = np.array([case.found for case in cases if case.best])
    groups = {"found": p[found], "missed": p[~found], "taken_out": q}

    def told(group: str) -> float | None:
        both = np.concatenate([groups["found"], groups[group]])
        right = np.arange(len(both)) < len(groups["found"])
        return rounded(once(auroc(both, right.astype(np.float64)), len(both)))

    return {
        "questions": len(cases),
        "found": _mean(found),
        "auroc_missed": told("missed"),
        "auroc_taken_out": told("taken_out"),
        "again": {name: _mean(some < calibration.min_quality) for name, some in groups.items()},
        "web": {name: _mean(some < calibration.min_web_quality) for name, some in groups.items()},
    }


def _mean(values: Any) -> float | None:
    return rounded(float(np.mean(values))) if len(values) else None


def main() -> None:
    options = parser(__doc__)
    options.add_argument("step", choices=("prepare", "read", "report", "fit"))
    options.add_argument(
        "--readers",
        nargs="+",
        metavar="LABEL=FOLDER",
        default=[SHIPPED],
        help="by their folders; a label alone means the installed reader, or what it has read",
    )
    options.add_argument("--minutes", type=float, default=float("inf"), help="how long to read")
    options.add_argument("--questions", nargs="+", metavar="SET=N", default=[])
    given = options.parse_args()
    wanted = dict(QUESTIONS)
    for one in given.questions:
        name, _, number = one.partition("=")
        wanted[name] = int(number)
    readers = [one.partition("=")[::2] for one in given.readers]
    store = Store()
    try:
        if given.step == "prepare":
            prepare(store, wanted)
        elif given.step == "read":
            competitors = []
            for label, folder in readers:
                weights = read_weights(Path(folder)) if folder else None
                reader = OnnxReader(weights, remembered=0)  # what it remembers takes no time
                looks = Settings().search.looks if reader.glances else None
                competitors.append(Competitor(label, reader, looks))
            read_all(store, competitors, wanted, seconds=60 * given.minutes)
        elif given.step == "report":
            print(json.dumps(report(Read(store, tuple(label for label, _ in readers))), indent=1))
        else:
            found = fit(Read(store, (readers[0][0],)), readers[0][0])
            print(json.dumps({**found["made"], "risk": "..."}, indent=1))
    finally:
        store.close()


if __name__ == "__main__":
    main()
