"""Readers side by side on the questions that all of them have read."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.reader_quality_cases import cases, hybrid, without_answer
from benchmarks.reader_quality_figures import (
    auroc_difference,
    auroc_of,
    difference,
    mean_of,
    rounded,
)
from benchmarks.reader_quality_risk import Sample, out_of_sample
from secondlook.reading.logistic import fit_logistic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.reader_quality_cases import Case
    from benchmarks.reader_quality_store import Passage, Store

SHIPPED, REFERENCE = "shipped", "reader-12"
_KINDS = (True, False)


@dataclass(slots=True)
class Read:
    """The readings of the store as questions through readers, made once per set."""

    store: Store
    labels: tuple[str, ...]
    texts: Mapping[str, Passage] = field(init=False)
    _made: dict[str, dict[str, list[Case]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.texts = self.store.texts()

    def of(self, data: str) -> dict[str, list[Case]]:
        """By label, the same questions for all."""
        if data not in self._made:
            readers = self.store.readers()
            read = {label: self.store.read(readers[label], data) for label in self.labels}
            common = set.intersection(*(set(found) for found in read.values()))
            asked = [one for one in self.store.questions(data) if one.id in common]
            self._made[data] = {
                label: list(cases(asked, found, self.texts)) for label, found in read.items()
            }
        return self._made[data]

    def mixed(self, data: str) -> dict[str, list[Case]]:
        """The same, with as many without an answer as the set has: where reading was cut, or one
        kind was read first, the kind that is further along is cut to the share of the other."""
        found = self.of(data)
        one = next(iter(found.values()))
        asked = self.store.questions(data)
        kinds = {
            kind: [at for at, case in enumerate(one) if case.answerable == kind] for kind in _KINDS
        }
        sizes = {kind: sum(one.answerable == kind for one in asked) for kind in _KINDS}
        share = min((len(kinds[kind]) / sizes[kind] for kind in _KINDS if sizes[kind]), default=0.0)
        kept = sorted(at for kind in _KINDS for at in kinds[kind][: round(share * sizes[kind])])
        return {label: [cases[at] for at in kept] for label, cases in found.items()}

    def robbed(self, data: str, label: str) -> list[Case]:
        """What one reader makes of the answerable questions when the library lacks the answer."""
        read = self.store.read(self.store.readers()[label], data)
        return list(without_answer(self.store.questions(data), read, self.texts))


def answerable(by_label: Mapping[str, list[Case]]) -> dict[str, list[Case]]:
    return {label: [case for case in found if case.answerable] for label, found in by_label.items()}


def answers(by_label: Mapping[str, list[Case]], choice: Mapping[str, float]) -> dict[str, Any]:
    """Exact match, F1 and recall over answerable questions, none withheld."""
    held = answerable(by_label)
    picked = {label: [case.pick(choice) for case in found] for label, found in held.items()}
    return {
        "questions": len(next(iter(held.values()))),
        "em": side_by_side({k: [one.em for one in v] for k, v in picked.items()}, yes_no=True),
        "f1": side_by_side({k: [one.f1 for one in v] for k, v in picked.items()}),
        "recall@1": retrieval(held, "recall@1", yes_no=True),
        "recall@5": retrieval(held, "recall@5", yes_no=True),
    }


def retrieval(
    held: Mapping[str, list[Case]], metric: str, *, yes_no: bool = False
) -> dict[str, Any]:
    values = {label: [case.retrieval[metric] for case in found] for label, found in held.items()}
    return side_by_side(values, yes_no=yes_no)


def against_hybrid(held: Mapping[str, list[Case]], metric: str) -> dict[str, Any]:
    """The order of each reader beside that of the searches alone."""
    alone = [hybrid(case.question)[metric] for case in next(iter(held.values()))]
    found: dict[str, Any] = {"hybrid": mean_of(alone)}
    for label, these in held.items():
        values = [case.retrieval[metric] for case in these]
        found[label] = mean_of(values)
        found[f"{label} - hybrid"] = difference(alone, values, yes_no=False)
    return found


def times(by_label: Mapping[str, list[Case]]) -> dict[str, Any]:
    """Seconds of reading per question, where every reader read it in the same moment."""
    rows = list(zip(*by_label.values(), strict=True))
    timed = [row for row in rows if all(case.seconds is not None for case in row)]
    found: dict[str, Any] = {"questions": len(timed)}
    seconds = {
        label: [row[at].seconds or 0.0 for row in timed] for at, label in enumerate(by_label)
    }
    if timed:
        found["median"] = {label: rounded(median(values)) for label, values in seconds.items()}
        found["mean"] = {
            label: rounded(sum(values) / len(values)) for label, values in seconds.items()
        }
        if compares(seconds):
            ratios = [a / b for a, b in zip(seconds[SHIPPED], seconds[REFERENCE], strict=True)]
            found["ratio_of_medians"] = rounded(
                median(seconds[SHIPPED]) / median(seconds[REFERENCE])
            )
            found["median_of_ratios"] = rounded(median(ratios))
    return found


def answerability(
    by_label: Mapping[str, list[Case]],
    choice: Mapping[str, float],
    names: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """How well questions with an answer are told from those without, and right from wrong."""
    samples = {label: Sample.of(found, choice) for label, found in by_label.items()}
    p = {label: out_of_sample(sample, names[label]).tolist() for label, sample in samples.items()}
    return _told_apart(by_label, choice, p) | {
        "right": _aurocs(p, {k: (v.right > 0).tolist() for k, v in samples.items()})
    }


def elsewhere(
    by_label: Mapping[str, list[Case]],
    made_from: Mapping[str, list[Case]],
    choice: Mapping[str, float],
    names: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """The same on a set whose passages are given, with probabilities fitted on another set."""
    p = {}
    for label, found in by_label.items():
        model = fit_logistic(Sample.of(made_from[label], choice).outcomes, names[label])
        p[label] = [model.probability(case.pick(choice).features) for case in found]
    return _told_apart(by_label, choice, p)


def _told_apart(
    by_label: Mapping[str, list[Case]],
    choice: Mapping[str, float],
    probability: Mapping[str, Sequence[float]],
) -> dict[str, Any]:
    held = {label: [case.answerable for case in found] for label, found in by_label.items()}

    def by(feature: str) -> dict[str, list[float]]:
        return {
            label: [case.pick(choice).features[feature] for case in found]
            for label, found in by_label.items()
        }

    return {
        "questions": len(next(iter(held.values()))),
        "by_answerable": _aurocs(by("answerable"), held),
        "by_margin": _aurocs(by("margin"), held),
        "by_probability": _aurocs(probability, held),
    }


def _aurocs(
    scores: Mapping[str, Sequence[float]], positive: Mapping[str, Sequence[bool]]
) -> dict[str, Any]:
    found: dict[str, Any] = {label: auroc_of(scores[label], positive[label]) for label in scores}
    if compares(scores) and list(positive[SHIPPED]) == list(positive[REFERENCE]):
        found["difference"] = auroc_difference(
            scores[REFERENCE], scores[SHIPPED], positive[SHIPPED]
        )
    return found


def side_by_side(values: Mapping[str, Sequence[float]], *, yes_no: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {
        label: mean_of(these, yes_no=yes_no) for label, these in values.items()
    }
    if compares(values):
        found["difference"] = difference(values[REFERENCE], values[SHIPPED], yes_no=yes_no)
    return found


def compares(by_label: Mapping[str, Any]) -> bool:
    return SHIPPED in by_label and REFERENCE in by_label
