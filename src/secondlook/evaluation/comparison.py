"""Two configurations on the same questions: what changed, whether chance explains it, and what it
cost. Only questions that both were asked count; repeats of a question are averaged first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from secondlook.errors import UsageError
from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.questions import Figures, by_configuration
from secondlook.evaluation.records import Case, Comparison, Difference, Results, Row
from secondlook.evaluation.statistics import holm, paired

SIGNIFICANT = 0.05
_POINT = 0.01
_MOST = 0.5  # what happens to a question in a larger share of its repeats happens to it
_SAME = 1e-9  # figures closer than that differ by rounding alone
_COMPARED = (
    *("accuracy", "values_accuracy", "values_proportional", "f1", "f1_overall", "em", "contains"),
    *("rouge_l", "faithfulness", "support", "recall@5", "ndcg@10"),
    *("citation_precision", "citation_recall", "answered", "success", "refused_unanswerable"),
)


def primary_metric(asked: Sequence[Case] | Sequence[Row]) -> str:
    def of_choices(one: Case | Row) -> bool:
        return one.choice is not None if isinstance(one, Case) else "accuracy" in one.metrics

    if any((one.need if isinstance(one, Case) else one.outcome) is not None for one in asked):
        return "judged_right"
    if 2 * sum(map(of_choices, asked)) > len(asked):
        return "accuracy"
    if any((one.table if isinstance(one, Case) else one.analysed) is not None for one in asked):
        return "values_accuracy"
    if any(not one.answerable for one in asked):
        return "f1_overall"
    return "f1" if any(one.scored for one in asked) else "ndcg@10"


def check_metric(name: str) -> str:
    metric = METRICS.get(name)
    if metric is not None and metric.per_question and metric.better != "neither":
        return name
    able = [one.name for one in METRICS.values() if one.per_question and one.better != "neither"]
    raise UsageError(
        f"{name!r} is no metric by which one of two is better",
        hint=f"Use one of {', '.join(able)}.",
    )


def compare(
    base: Sequence[Row] | Figures,
    other: Sequence[Row] | Figures,
    *,
    metric: str | None = None,
    seed: int = 0,
    names: tuple[str, str] | None = None,
) -> Comparison:
    """`other` against `base`. `names` is what to call the two where their own are the same."""
    base = base if isinstance(base, Figures) else Figures(base)
    other = other if isinstance(other, Figures) else Figures(other)
    first, second = names or (base.name, other.name)
    shared = sorted(base.cases & other.cases)
    if not shared:
        raise UsageError(
            f"{first!r} and {second!r} have no question in common",
            hint="compare runs over the same set, with the same --limit and --seed",
        )
    chosen = check_metric(metric or primary_metric(base.rows))
    deciding = difference_of(chosen, base.metric(chosen), other.metric(chosen), seed=seed)
    if deciding is None:
        raise UsageError(
            f"no question that {first!r} and {second!r} share has a figure for {chosen!r}",
            hint="docs/metrics.md says which questions each metric is over; choose with --metric",
        )
    further = (
        difference_of(name, base.metric(name), other.metric(name), seed=seed)
        for name in _COMPARED
        if name != chosen
    )
    costs = base.cost(shared), other.cost(shared)
    cost = None if costs[0] is None or costs[1] is None else costs[1] - costs[0]
    before, after = base.seconds(shared), other.seconds(shared)
    gain = gained(deciding)[0]
    points = gain / _POINT if gain > _SAME else 0.0

    def per_point(spent: float | None) -> float | None:
        """What costs no more than before has its points for nothing."""
        return None if spent is None or points <= 0 else max(0.0, spent) / points

    right, wrong, withheld = base.each("right"), base.each("wrong"), other.each("withheld")
    return Comparison(
        base=first,
        other=second,
        metric=chosen,
        differences=(deciding, *(one for one in further if one is not None)),
        cost_difference=cost,
        calls_difference=other.mean("calls", shared) - base.mean("calls", shared),
        tokens_difference=other.mean("tokens", shared) - base.mean("tokens", shared),
        latency_ratio=after / before if before > 0 else None,
        latency_difference=after - before,
        cost_per_point=per_point(cost),
        seconds_per_point=per_point(after - before),
        right_withheld=sum(right[one] > _MOST and withheld[one] > _MOST for one in shared),
        wrong_withheld=sum(wrong[one] > _MOST and withheld[one] > _MOST for one in shared),
    )


def changes(base: Figures, other: Figures, metric: str) -> dict[str, float]:
    before, after = base.metric(metric), other.metric(metric)
    sign = -1.0 if METRICS[metric].better == "lower" else 1.0
    return {case: sign * (after[case] - before[case]) for case in before if case in after}


def compare_all(
    rows: Mapping[str, Sequence[Row]],
    *,
    metric: str | None = None,
    seed: int = 0,
    reference: str | None = None,
) -> tuple[Comparison, ...]:
    """Every pair; with a reference, each of the others against it."""
    pairs = [*combinations(rows, 2)]
    if reference is not None:
        pairs = [(reference, name) for name in rows if name != reference]
    figures = {name: Figures(found) for name, found in rows.items()}
    found = [
        compare(figures[base], figures[other], metric=metric, seed=seed, names=(base, other))
        for base, other in pairs
    ]
    return corrected(found)


def corrected(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """With the p of each deciding metric as it stands among all of them (Holm)."""
    found = []
    ps = holm([one.deciding.p for one in comparisons])
    for comparison, p in zip(comparisons, ps, strict=True):
        with_p = tuple(
            one.model_copy(update={"p_holm": p}) if one.metric == comparison.metric else one
            for one in comparison.differences
        )
        found.append(comparison.model_copy(update={"differences": with_p}))
    return tuple(found)


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
    shared = [case for case in base if case in other]
    if not shared:
        return None
    before, after = [base[case] for case in shared], [other[case] for case in shared]
    known = METRICS[metric]
    return paired(before, after, yes_no=known.yes_no, seed=seed, metric=metric, better=known.better)


# Whether a change lost anything: two runs over the same set, configuration by configuration.

_MOST_TOLD = 10


@dataclass(frozen=True, slots=True)
class Gate:
    lines: tuple[str, ...]  # what differs beside the figures, then each verdict
    comparisons: tuple[Comparison, ...]
    lost: tuple[str, ...]  # configurations of the second run with a significant loss

    @property
    def failed(self) -> bool:
        return bool(self.lost)


def gate(a: Results, b: Results, *, metric: str | None = None, seed: int = 0) -> Gate:
    _refuse_other_set(a, b)
    before, after = by_configuration(a.rows), by_configuration(b.rows)
    pairs = _pairs(before, after)
    chosen = check_metric(metric or primary_metric(before[pairs[0][0]]))
    comparisons = corrected(
        [
            compare(before[one], after[other], metric=chosen, seed=seed, names=(one, other))
            for one, other in pairs
        ]
    )
    used = {name for pair in pairs for name in pair}
    alone = [name for name in {**before, **after} if name not in used]
    lines = [f"in one run only, not compared: {', '.join(alone)}"] if alone else []
    lines += _changed("setting", a.settings, b.settings)
    lines += _changed("version", a.versions, b.versions)
    lost = []
    for one in comparisons:
        found = one.deciding
        _, low, high = gained(found)
        verdict = "no significant loss"
        if high < 0 and significant(found):
            verdict = "a significant loss"
            lost.append(one.other)
        elif low > 0 and significant(found):
            verdict = "a significant gain"
        lines.append(
            f"{' -> '.join(dict.fromkeys((one.base, one.other)))}: {found.metric} "
            f"{found.base:.3f} -> {found.other:.3f}, {found.difference:+.3f} "
            f"[{found.low:+.3f}, {found.high:+.3f}], "
            f"p = {found.p_holm if found.p_holm is not None else found.p:.3f}, "
            f"n = {found.n}: {verdict}"
        )
    return Gate(tuple(lines), comparisons, tuple(lost))


def _refuse_other_set(a: Results, b: Results) -> None:
    if a.data.get("fingerprint") != b.data.get("fingerprint"):
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


def _pairs(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str]]:
    if not before or not after:
        raise UsageError("a run without rows cannot be compared", hint="run the evaluation again")
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


def _changed(what: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
        for key, value in values.items():
            if isinstance(value, dict):
                yield from flat(value, f"{prefix}{key}.")
            else:
                yield f"{prefix}{key}", value

    before, after = dict(flat(one)), dict(flat(other))
    told = [
        f"{what} {key}: {first!r} -> {second!r}"
        for key in dict.fromkeys((*before, *after))
        if (first := before.get(key, "not there")) != (second := after.get(key, "not there"))
    ]
    more = len(told) - _MOST_TOLD
    return told[:_MOST_TOLD] + ([f"{more} more {what}s differ"] if more > 0 else [])
