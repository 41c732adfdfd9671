"""Two configurations on the same questions: what changed, whether chance explains it, and what it
cost. Only questions that both were asked count; repeats of a question are averaged first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from secondlook.errors import UsageError
from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.questions import Each, Figures, by_configuration
from secondlook.evaluation.records import Case, Comparison, Difference, Split
from secondlook.evaluation.statistics import holm, paired
from secondlook.settings.mistakes import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from secondlook.evaluation.records import Results, Row

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


# Whether a change lost anything: two runs over the same set, configuration by configuration.

_MOST_TOLD = 10


@dataclass(frozen=True, slots=True)
class Gate:
    """What two runs come to."""

    lines: tuple[str, ...]
    """For a person: what differs between the runs beside their figures, then each verdict."""
    comparisons: tuple[Comparison, ...]
    lost: tuple[str, ...]
    """Configurations of the second run with a significant loss."""

    @property
    def failed(self) -> bool:
        return bool(self.lost)


def gate(a: Results, b: Results, *, metric: str | None = None, seed: int = 0) -> Gate:
    """Whether `b` is significantly worse than `a` in any configuration that both have."""
    _refuse_other_set(a, b)
    before, after = _rows(a), _rows(b)
    pairs = _pairs(before, after)
    chosen = check_metric(metric or primary_metric(before[pairs[0][0]]))
    comparisons = corrected(
        [
            compare(before[one], after[other], metric=chosen, seed=seed, names=(one, other))
            for one, other in pairs
        ]
    )
    lost = tuple(one.other for one in comparisons if _is_loss(one))
    lines = (
        *_unpaired(before, after, pairs),
        *_changed("setting", a.settings, b.settings),
        *_changed("version", a.versions, b.versions),
        *(line for pair in pairs for line in _missing(pair[1], before[pair[0]], after[pair[1]])),
        *map(_told, comparisons),
    )
    return Gate(lines, comparisons, lost)


def _refuse_other_set(a: Results, b: Results) -> None:
    documents = [one.data.get("fingerprint") for one in (a, b)]
    if documents[0] != documents[1]:
        names = [one.data.get("name", "?") for one in (a, b)]
        raise UsageError(
            f"the two runs searched different documents ({names[0]!r} and {names[1]!r})",
            hint="a loss can only be told on the same set: run both over the same folder",
        )
    asked = {row.case: row for row in a.rows}
    for row in b.rows:
        known = asked.get(row.case, row)
        if (known.question, known.expected) != (row.question, row.expected):
            raise UsageError(
                f"question {row.case!r} is not the same in both runs",
                hint="a loss can only be told on the same questions and answers",
            )


def _rows(results: Results) -> dict[str, list[Row]]:
    found = by_configuration(results.rows)
    if not found:
        raise UsageError("a run without rows cannot be compared", hint="run the evaluation again")
    return found


def _pairs(
    before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]]
) -> list[tuple[str, str]]:
    """By name; one with one whatever their names."""
    if len(before) == len(after) == 1:
        return [(next(iter(before)), next(iter(after)))]
    pairs = [(name, name) for name in before if name in after]
    if not pairs:
        raise UsageError(
            f"the runs have no configuration in common: {', '.join(map(repr, before))} in the "
            f"first, {', '.join(map(repr, after))} in the second",
            hint="run both with the same --workflow",
        )
    return pairs


def _is_loss(comparison: Comparison) -> bool:
    return gained(comparison.deciding)[2] < 0 and significant(comparison.deciding)


def _unpaired(
    before: Mapping[str, Sequence[Row]],
    after: Mapping[str, Sequence[Row]],
    pairs: Sequence[tuple[str, str]],
) -> Iterator[str]:
    for which, names, used in (
        ("first", before, {pair[0] for pair in pairs}),
        ("second", after, {pair[1] for pair in pairs}),
    ):
        if left := [name for name in names if name not in used]:
            yield f"only in the {which} run, not compared: {', '.join(left)}"


def _missing(name: str, before: Sequence[Row], after: Sequence[Row]) -> Iterator[str]:
    first, second = ({row.case for row in rows} for rows in (before, after))
    for which, only in (("first", first - second), ("second", second - first)):
        if only:
            yield f"{name}: {len(only)} questions only in the {which} run, not compared"


def _changed(what: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    before, after = dict(_flat(one)), dict(_flat(other))
    keys = [
        key
        for key in dict.fromkeys((*before, *after))
        if before.get(key, "not there") != after.get(key, "not there")
    ]
    told = [
        f"{what} {key}: {before.get(key, 'not there')!r} -> {after.get(key, 'not there')!r}"
        for key in keys[:_MOST_TOLD]
    ]
    return told + [f"{len(keys) - _MOST_TOLD} more {what}s differ"] * (len(keys) > _MOST_TOLD)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _told(comparison: Comparison) -> str:
    found = comparison.deciding
    if _is_loss(comparison):
        verdict = "a significant loss"
    elif gained(found)[1] > 0 and significant(found):
        verdict = "a significant gain"
    else:
        verdict = "no significant loss"
    names = dict.fromkeys((comparison.base, comparison.other))
    return (
        f"{' -> '.join(names)}: {found.metric} {found.base:.3f} -> {found.other:.3f}, "
        f"{found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}], "
        f"p = {found.p_holm if found.p_holm is not None else found.p:.3f}, "
        f"n = {found.n}: {verdict}"
    )
