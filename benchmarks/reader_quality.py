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
right, when to withhold it, when to search again and when to ask the web, from `squad2-dev` and
`hotpot-train`. Writes src/secondlook/reading/calibration.json and results/calibration.json.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.common import RESULTS, ROOT, machine, parser
from benchmarks.readings import (
    CHOICE,
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
from secondlook.evaluation.statistics import bootstrap, divided, interval, paired
from secondlook.evaluation.summary import Ties, auroc
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
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.readings import ByLabel, Case
    from secondlook.evaluation.statistics import Statistic
    from secondlook.reading.logistic import Logistic

    Floats = NDArray[np.float64]

SHIPPED = "shipped"
FILE = ROOT / "src" / "secondlook" / "reading" / "calibration.json"
MADE_FROM = ("squad2-dev", "hotpot-train")
ANSWER = ("margin", "answerable", "fusion")
"""Chosen among 21 sets by the log loss on half of the articles."""
QUALITY = ("relevance", "lead", "fusion", "agreement")
FALSE_ALARMS, FALSE_WEB_ALARMS = 0.10, 0.02
"""Share of good searches that may be followed by a second one, and by the web."""
PRECISION, RECALL = 0.80, 0.70
"""What a grader of passages must keep to."""
RIGHT = 0.5
"""Least F1 with a reference answer for a span to count as right."""
RISKS = (0.05, 0.10, 0.20, 0.25, 0.30)
CONFIDENCE = RISK_CONFIDENCE
SPLITS, FOLDS, BINS, SEED = 20, 5, 10, 6
BY_ARTICLE = "by article"
_ONE_SIDED = 1.6448536269514722


# Figures with how sure they are


def rounded(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else round(float(value), 4)


def side_by_side(values: Mapping[str, Sequence[float]], *, yes_no: bool = False) -> dict[str, Any]:
    """The mean of each reader with its interval, and how the first differs from the second on the
    same questions; `bound` is the lower end of a one-sided 95 % interval, for showing that the
    first is not worse by more than a margin."""
    told: dict[str, Any] = {}
    for label, these in values.items():
        mean = interval(these, yes_no=yes_no)
        told[label] = {key: rounded(getattr(mean, key)) for key in ("value", "low", "high")}
    if len(values) > 1:
        other, base = list(values.values())[:2]
        change = paired(base, other, yes_no=yes_no)
        gaps = np.asarray(other, dtype=np.float64) - np.asarray(base, dtype=np.float64)
        wide = float(gaps.std(ddof=1)) / np.sqrt(len(gaps)) if len(gaps) > 1 else float("inf")
        told["difference"] = {
            "difference": rounded(change.difference),
            "low": rounded(change.low),
            "high": rounded(change.high),
            "bound": rounded(change.difference - _ONE_SIDED * wide),
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
            tuple(Outcome(one.features, right=one.f1 >= RIGHT) for one in picked),
            tuple(case.question.article for case in cases),
        )

    @property
    def right(self) -> Floats:
        return np.array([one.right for one in self.outcomes], dtype=np.float64)

    def out_of_sample(self, names: Sequence[str] = ANSWER) -> Floats:
        """Each answer's probability by a model made from the other articles."""
        found = cross_fitted(self.outcomes, names, groups=self.articles, folds=FOLDS)
        return np.asarray(found, dtype=np.float64)


def chooses(article: str) -> bool:
    """Whole articles go to one of two halves; on this one rules are chosen."""
    return int(lot(article), 16) % 2 == 0


def judged(sample: Sample) -> dict[str, Any]:
    """Fitted on one half of the questions and judged on the other: 20 halves by chance, and one by
    articles. A split in which nothing could be promised breaks no promise."""
    splits = {name: _split(sample, *halves) for name, halves in _halves(sample)}
    drawn = [found for name, found in splits.items() if name != BY_ARTICLE]
    p, right = sample.out_of_sample(), sample.right
    ordered = np.argsort(-p, kind="stable")
    risk = np.cumsum(1 - right[ordered]) / np.arange(1, len(p) + 1)
    told: dict[str, Any] = {
        "questions": len(sample.outcomes),
        "right": rounded(float(right.mean())),
        "ece_mean": rounded(float(np.mean([one["ece"] for one in drawn]))),
        "ece_worst": rounded(max(one["ece"] for one in drawn)),
        "ece_by_article": rounded(splits[BY_ARTICLE]["ece"]),
        "aurc_mean": rounded(float(np.mean([one["aurc"] for one in drawn]))),
        "auroc_right_mean": rounded(float(np.mean([one["auroc"] for one in drawn]))),
        "risk": {},
    }
    for most in RISKS:
        kept = {name: found["promises"][most] for name, found in splits.items()}
        coverages, realised = (np.array(column) for column in zip(*kept.values(), strict=True))
        reached = np.flatnonzero(risk <= most)
        told["risk"][str(most)] = {
            "coverage": rounded(float(coverages.mean())),
            "coverage_least": rounded(coverages.min()),
            "realised": rounded(float(realised.mean())),
            "realised_most": rounded(realised.max()),
            "exceeded": int((realised > most).sum()),
            "splits": len(kept),
            "by_article": [rounded(value) for value in kept[BY_ARTICLE]],
            # What a threshold that knew the outcome could reach.
            "coverage_knowing": rounded((reached[-1] + 1) / len(p) if len(reached) else 0.0),
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
    model = fit_logistic(fitted, ANSWER)
    p = np.array([model.probability(one.features) for one in checked])
    right = np.array([one.right for one in checked], dtype=np.float64)
    inside = cross_fitted(fitted, ANSWER, folds=FOLDS)
    table = risk_table(inside, [one.right for one in fitted])
    promises = {}
    for risk in RISKS:
        threshold = table.threshold(risk, confidence=CONFIDENCE)
        answered = p >= (np.inf if threshold is None else threshold)
        wrong = float(1 - right[answered].mean()) if answered.any() else 0.0
        promises[risk] = (float(answered.mean()), wrong)
    return {
        "ece": calibration_error(p, right),
        "aurc": once(aurc(p, right), len(p)),
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
        "grading": {label: graded(cases) for label, cases in squad.items()},
        "elsewhere": elsewhere(read, samples),
    }
    if len(samples) > 1:
        other, base = (aurc(probability[label], samples[label].right) for label in [*samples][:2])
        n = len(next(iter(probability.values())))
        found["calibration"]["area below"] = bounded(
            lambda draws: 1 - divided(other(draws), base(draws)), n
        )
    file.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def aurc(confidence: Floats, right: Floats) -> Statistic:
    """The share of wrong ones among the k surest answers, averaged over every k (Geifman, Uziel
    and El-Yaniv, ICLR 2019). Equally sure answers are taken in every order, on average."""
    sums = Ties(-confidence)

    def statistic(weights: Floats) -> Floats:
        many, wrong = sums.of(weights), sums.of(weights * (1 - right))
        reached = np.cumsum(many, axis=1)
        before, wrong_before = reached - many, np.cumsum(wrong, axis=1) - wrong
        rate = np.nan_to_num(divided(wrong, many))
        # The sum over j = 1..many of (wrong_before + j rate) / (before + j).
        top = int(reached[:, -1].max(initial=0))
        harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, top + 1))])
        steps = harmonic[reached.astype(np.int64)] - harmonic[before.astype(np.int64)]
        risks = many * rate + (wrong_before - rate * before) * steps
        return divided(risks.sum(axis=1), reached[:, -1])

    return statistic


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


def elsewhere(read: Read, samples: Mapping[str, Sample]) -> dict[str, Any]:
    """Answers and ranking on other sets; `clapnq` by probabilities fitted on squad2-dev."""
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
            found[name] = {
                "questions": len(some),
                metric: side_by_side(values),
                "hybrid": beside,
            }
    if any((given := read.of("clapnq")).values()):
        models = {label: fit_logistic(one.outcomes, ANSWER) for label, one in samples.items()}
        p = {
            label: [models[label].probability(case.picked.features) for case in cases]
            for label, cases in given.items()
        }
        found["clapnq"] = told_apart(given, p)
    return found


def graded(cases: Sequence[Case]) -> dict[str, Any]:
    """The reader as a grader of the best five passages of answerable questions: precision and
    recall above a relevance that was chosen on half of the articles, judged on the other half."""
    threshold = about_threshold([case for case in cases if chooses(case.question.article)])
    others = [case for case in cases if not chooses(case.question.article)]
    gold, relevance = _pairs(others)
    precision, recall = _accepted(gold, relevance, threshold)
    figures = {"precision": rounded(precision), "recall": rounded(recall)}
    return {"pairs": len(gold), "gold": int(gold.sum()), "threshold": threshold, **figures}


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
    squad, hotpot = (read.mixed(name)[label] for name in MADE_FROM)
    if not squad or not hotpot:
        raise SystemExit(f"{label} has read nothing of {' or '.join(MADE_FROM)}: read first")
    sample = Sample.of(squad)
    answer = rising(sample.outcomes, ANSWER)
    p = sample.out_of_sample(tuple(answer.weights))
    searches = {name: (held(read.of(name))[label], read.robbed(name, label)) for name in MADE_FROM}
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
        qualities(quality, [case for case in cases if case.found]) for cases, _ in searches.values()
    ]
    calibration = Calibration(
        reader=read.store.readers()[label].partition("/")[0],
        label="calibrated",
        choice=CHOICE,
        answer=answer,
        quality=quality,
        min_answer=best_threshold(p, squad),
        min_quality=_alarm(good, FALSE_ALARMS),
        min_web_quality=_alarm(good, FALSE_WEB_ALARMS),
        min_about=about_threshold([case for case in squad if chooses(case.question.article)]),
        risk=risk_table(p.tolist(), [one.right for one in sample.outcomes]),
    )
    can = sum(case.answerable for case in squad)
    sizes = " and ".join(f"{name} ({len(cases)})" for name, (cases, _) in searches.items())
    told: dict[str, Any] = {
        "made": datetime.now(UTC).date().isoformat(),
        "by": "python -m benchmarks.reader_quality fit",
        "data": {
            "answer": f"squad2-dev: {len(squad)} questions, {can} of them answerable",
            "quality": f"answerable questions of {sizes}, each also with its gold passages taken "
            "out",
            "questions": len(squad),
            "answerable": can,
        },
    }
    save_calibration(file, calibration, **told)
    found = {
        "made": calibration_data(calibration, **told),
        "answers": {
            name: withheld(cases, calibration, outside=name == "squad2-dev")
            for name in (*MADE_FROM, "hotpot", "shift-new_wiki")
            if (cases := read.mixed(name)[label])
        },
        "searches": {
            name: searched(cases, read.robbed(name, label), calibration)
            for name in (*MADE_FROM, "hotpot", "scifact", "shift-new_wiki")
            if (cases := held(read.of(name))[label])
        },
    }
    results.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def rising(outcomes: Sequence[Outcome], names: Sequence[str]) -> Logistic:
    """Without the features that would count against what they speak for: what is worse for being
    better in one respect fits one kind of text only."""
    model = fit_logistic(outcomes, names)
    while falls := [name for name, weight in model.weights.items() if weight < 0]:
        worst = min(falls, key=lambda name: model.weights[name])
        model = fit_logistic(outcomes, [name for name in model.weights if name != worst])
    return model


def best_threshold(p: Floats, cases: Sequence[Case]) -> float:
    """The one, in hundredths, with the highest F1 by the rules of SQuAD 2: an answer scores its
    F1, silence scores 1 where there is no answer and 0 where there is one."""
    given = np.array([case.picked.f1 for case in cases])
    silent = np.array([float(not case.answerable) for case in cases])
    steps = np.arange(0, 101) / 100
    means = [np.where(p >= step, given, silent).mean() for step in steps]
    return float(steps[int(np.argmax(means))])


def qualities(model: Logistic, cases: Sequence[Case]) -> Floats:
    return np.array([model.probability(quality_features(case.best)) for case in cases if case.best])


def _alarm(good: Sequence[Floats], share: float) -> float:
    """The highest threshold, in thousandths, under which at most `share` of good searches fall;
    each set weighs the same, whatever its size."""
    size = max(len(values) for values in good)
    evenly = [np.quantile(values, np.linspace(0, 1, size)) for values in good]
    return float(np.floor(np.quantile(np.concatenate(evenly), share) * 1000) / 1000)


def withheld(cases: Sequence[Case], calibration: Calibration, *, outside: bool) -> dict[str, Any]:
    """What is answered and withheld. Probabilities of `squad2-dev` are by models made from other
    articles; those of other sets by the model that ships."""
    sample = Sample.of(cases)
    if outside:
        p = sample.out_of_sample(tuple(calibration.answer.weights))
    else:
        p = np.array([calibration.answer.probability(one.features) for one in sample.outcomes])
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
