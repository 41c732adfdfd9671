"""Two configurations on the same questions: what changed, whether chance explains it, and what it
cost. Only questions that both were asked count; repeats of a question are averaged first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from secondlook.errors import UsageError
from secondlook.evaluation.figures import Each, Figures
from secondlook.evaluation.metrics.catalogue import METRICS
from secondlook.evaluation.records import Case, Comparison, Difference, Split
from secondlook.evaluation.statistics import holm, paired
from secondlook.settings.mistakes import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.evaluation.records import Row

SIGNIFICANT = 0.05
_POINT = 0.01
_MOST = 0.5
"""What happens to a question in a larger share of its repeats happens to it."""
_SAME = 1e-9
"""Figures closer than that differ by rounding alone."""
_COMPARED = (
    "accuracy",
    "values_accuracy",
    "values_proportional",
    "f1",
    "f1_overall",
    "em",
    "contains",
    "f1_length_aware",
    "rouge_l",
    "faithfulness",
    "support",
    "recall@5",
    "ndcg@10",
    "citation_precision",
    "citation_recall",
    "answered",
    "success",
    "refused_unanswerable",
)

Part = Literal["all", "fallback", "no_fallback"]


def primary_metric(asked: Sequence[Case] | Sequence[Row]) -> str:
    """The metric that decides, by what the set knows about its questions."""
    if 2 * sum(map(_of_choices, asked)) > len(asked):
        return "accuracy"
    if any(map(_over_tables, asked)):
        return "values_accuracy"
    if any(not one.answerable for one in asked):
        return "f1_overall"
    return "f1" if any(one.scored for one in asked) else "ndcg@10"


def _of_choices(one: Case | Row) -> bool:
    return one.choice is not None if isinstance(one, Case) else "accuracy" in one.metrics


def _over_tables(one: Case | Row) -> bool:
    return (one.table if isinstance(one, Case) else one.analysed) is not None


def check_metric(name: str) -> str:
    """The name, if configurations can be compared by it."""
    metric = METRICS.get(name)
    if metric is not None and metric.per_question and metric.better != "neither":
        return name
    able = [one.name for one in METRICS.values() if one.per_question and one.better != "neither"]
    meant = nearest(name, able) if metric is None else None
    why = "is no metric" if metric is None else "does not say which of two is better"
    raise UsageError(
        f"{name!r} {why}",
        hint=f"Did you mean {meant!r}?" if meant else f"Use one of {', '.join(able)}.",
    )


def compare(
    base: Sequence[Row] | Figures,
    other: Sequence[Row] | Figures,
    *,
    metric: str | None = None,
    seed: int = 0,
    names: tuple[str, str] | None = None,
) -> Comparison:
    """`other` against `base`. The metric that decides is the set's usual one unless it is named.

    `names` is what to call the two where their own names do not tell them apart.
    """
    pair = Pair.of(Figures.of(base), Figures.of(other), names, seed)
    chosen = check_metric(metric or primary_metric(pair.base.rows))
    deciding = pair.difference(chosen)
    if deciding is None:
        raise UsageError(
            f"no question that {pair.names[0]!r} and {pair.names[1]!r} share has a figure for "
            f"{chosen!r}",
            hint="docs/metrics.md says which questions each metric is over; choose with --metric",
        )
    further = (pair.difference(name) for name in _COMPARED if name != chosen)
    bought = pair.bought(gained(deciding)[0])
    return Comparison(
        base=pair.names[0],
        other=pair.names[1],
        metric=chosen,
        differences=(deciding, *(one for one in further if one is not None)),
        splits=pair.splits(chosen),
        cost_difference=bought.cost,
        calls_difference=pair.change("calls"),
        tokens_difference=pair.change("tokens"),
        latency_ratio=bought.ratio,
        latency_difference=bought.seconds,
        cost_per_point=bought.cost_per_point,
        seconds_per_point=bought.seconds_per_point,
        right_withheld=pair.withheld("right"),
        wrong_withheld=pair.withheld("wrong"),
        right_in_base=len(pair.right_in_base()),
        asked_again=pair.asked_again(),
    )


def compare_all(
    rows: Mapping[str, Sequence[Row]], *, metric: str | None = None, seed: int = 0
) -> tuple[Comparison, ...]:
    """Every pair of configurations; the more pairs, the more it takes to call one different."""
    figures = {name: Figures(found) for name, found in rows.items()}
    found = [
        compare(figures[base], figures[other], metric=metric, seed=seed, names=(base, other))
        for base, other in combinations(rows, 2)
    ]
    return corrected(found)


def corrected(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """With the p of each deciding metric as it stands among all of them (Holm)."""
    ps = holm([one.deciding.p for one in comparisons])
    return tuple(
        one.model_copy(update={"differences": _with_p(one, p)})
        for one, p in zip(comparisons, ps, strict=True)
    )


def _with_p(comparison: Comparison, p: float) -> tuple[Difference, ...]:
    return tuple(
        item.model_copy(update={"p_holm": p}) if item.metric == comparison.metric else item
        for item in comparison.differences
    )


def gained(difference: Difference) -> tuple[float, float, float]:
    """Difference, lower and upper bound, so that more is better whatever the metric."""
    if METRICS[difference.metric].better == "lower":
        return -difference.difference, -difference.high, -difference.low
    return difference.difference, difference.low, difference.high


def significant(difference: Difference) -> bool:
    p = difference.p if difference.p_holm is None else difference.p_holm
    return p < SIGNIFICANT


def difference_of(
    metric: str, base: Mapping[str, float], other: Mapping[str, float], *, seed: int = 0
) -> Difference | None:
    """Over the questions that have a figure in both; None where there is none."""
    shared = [case for case in base if case in other]
    if not shared:
        return None
    before, after = [base[case] for case in shared], [other[case] for case in shared]
    yes_no = METRICS[metric].yes_no
    found = paired(before, after, yes_no=yes_no, seed=seed, better=METRICS[metric].better)
    return Difference(
        metric=metric,
        base=fmean(before),
        other=fmean(after),
        difference=found.difference,
        low=found.low,
        high=found.high,
        p=found.p,
        test=found.test,
        n=len(shared),
        improved=found.improved,
        same=found.same,
        degraded=found.degraded,
    )


@dataclass(frozen=True, slots=True)
class Bought:
    """What a difference costs, and what a point of it costs."""

    cost: float | None
    seconds: float
    ratio: float | None
    points: float
    """Gained; 0 or less when nothing was."""

    @property
    def cost_per_point(self) -> float | None:
        return None if self.cost is None else self._each(self.cost)

    @property
    def seconds_per_point(self) -> float | None:
        return self._each(self.seconds)

    def _each(self, spent: float) -> float | None:
        """What costs less than before, or as much, has its points for nothing."""
        return None if self.points <= 0 else max(0.0, spent) / self.points


@dataclass(frozen=True, slots=True)
class Pair:
    """The same questions under two configurations."""

    base: Figures
    other: Figures
    names: tuple[str, str]
    shared: tuple[str, ...]
    seed: int

    @classmethod
    def of(cls, base: Figures, other: Figures, names: tuple[str, str] | None, seed: int) -> Pair:
        called = names or (base.name, other.name)
        shared = tuple(sorted(base.cases & other.cases))
        if not shared:
            raise UsageError(
                f"{called[0]!r} and {called[1]!r} have no question in common",
                hint="compare runs over the same set, with the same --limit and --seed",
            )
        return cls(base, other, called, shared, seed)

    def difference(self, metric: str) -> Difference | None:
        before, after = self.base.metric(metric), self.other.metric(metric)
        return difference_of(metric, before, after, seed=self.seed)

    def change(self, figure: Each) -> float:
        return self.other.mean(figure, self.shared) - self.base.mean(figure, self.shared)

    def bought(self, gain: float) -> Bought:
        costs = self.base.cost(self.shared), self.other.cost(self.shared)
        before, after = self.base.seconds(self.shared), self.other.seconds(self.shared)
        return Bought(
            cost=None if costs[0] is None or costs[1] is None else costs[1] - costs[0],
            seconds=after - before,
            ratio=after / before if before > 0 else None,
            points=gain / _POINT if gain > _SAME else 0.0,
        )

    def withheld(self, judged: Literal["right", "wrong"]) -> int:
        """Questions that are so in most repeats of base, and withheld in most of other."""
        given, kept_back = self.base.each(judged), self.other.each("withheld")
        return sum(given[case] > _MOST and kept_back[case] > _MOST for case in self.shared)

    def right_in_base(self) -> list[str]:
        """Questions that base gets right in most repeats."""
        right = self.base.each("right")
        return [case for case in self.shared if right[case] > _MOST]

    def asked_again(self) -> int:
        """Of those, how many other asked again in other words, in most repeats."""
        again = self.other.each("again")
        return sum(again[case] > _MOST for case in self.right_in_base())

    def splits(self, deciding: str) -> tuple[Split, ...]:
        """By F1; by the metric that decides where the set has no answers to share words with."""
        changes = self.changes("f1")
        counted = changes or self.changes(deciding)
        faithful = self.changes("faithfulness")
        fired = self.base.fell_back() | self.other.fell_back()
        parts: dict[Part, Callable[[str], bool]] = {
            "all": lambda _: True,
            "fallback": lambda case: case in fired,
            "no_fallback": lambda case: case not in fired,
        }
        return tuple(
            _split(part, *(_only(found, inside) for found in (counted, changes, faithful)))
            for part, inside in parts.items()
        )

    def changes(self, metric: str) -> dict[str, float]:
        """Of each question that has the metric in both: how much better it got."""
        before, after = self.base.metric(metric), self.other.metric(metric)
        sign = -1.0 if METRICS[metric].better == "lower" else 1.0
        return {case: sign * (after[case] - before[case]) for case in before if case in after}


def _split(
    part: Part,
    counted: Mapping[str, float],
    f1: Mapping[str, float],
    faithfulness: Mapping[str, float],
) -> Split:
    changes = counted.values()
    improved = sum(change > _SAME for change in changes)
    degraded = sum(change < -_SAME for change in changes)
    return Split(
        part=part,
        n=len(changes),
        improved=improved,
        same=len(changes) - improved - degraded,
        degraded=degraded,
        f1=fmean(f1.values()) if f1 else None,
        faithfulness=fmean(faithfulness.values()) if faithfulness else None,
    )


def _only(values: Mapping[str, float], inside: Callable[[str], bool]) -> dict[str, float]:
    return {case: value for case, value in values.items() if inside(case)}
