"""One numeric setting at several values: how often the fallback fires, and what that does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.errors import UsageError
from secondlook.evaluation.ablation import SECOND_SEARCH, WEB, no_web, workflow_evaluated
from secondlook.evaluation.comparison import check_metric, difference_of, primary_metric
from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.questions import Figures, fell_back
from secondlook.evaluation.records import Configuration, Sweep, SweepPoint
from secondlook.evaluation.statistics import holm, interval
from secondlook.settings import KEYS
from secondlook.settings.sections import FIELDS, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Row
    from secondlook.settings.sections import Settings

PARAM = "adaptive.min_rerank_score"
VALUES = (-2.0, -1.0, 0.0, 1.0, 2.0)
_CHECKS = {PARAM: "min_rerank_score", "adaptive.min_quality": "calibrated"}
"""Thresholds of one way to judge a search mean nothing to the other."""
_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
_TOLD = (
    *("f1", "em", "accuracy", "values_accuracy", "f1_overall", "faithfulness", "ndcg@10"),
    *("recall@5", "answered", "success", "llm_calls"),
)


@dataclass(frozen=True, slots=True)
class SweepPlan:
    param: str
    reference: str
    configurations: tuple[Configuration, ...]  # the reference first
    points: tuple[tuple[float, str], ...]  # each value and the configuration that has it


def sweep_plan(
    settings: Settings,
    *,
    param: str = PARAM,
    values: Sequence[float] | None = None,
    workflow: str | None = None,
) -> SweepPlan:
    """The setting at each value, and a reference: the workflow without the second search or the web
    where the setting is of these, else as configured."""
    key = param
    if key not in KEYS or FIELDS[key].annotation not in {int, float}:
        raise UsageError(
            f"{key!r} is no setting that is a number", hint="docs/settings.md lists all settings"
        )
    section, name = key.partition(".")[0], key.rpartition(".")[2]
    switch = {"adaptive": SECOND_SEARCH, "web": WEB}.get(section)
    if switch == WEB and (why := no_web(settings)):
        raise UsageError(f"{key} cannot be tried: {why}")
    wanted = VALUES if values is None and key == PARAM else values
    if not wanted:
        raise UsageError(f"no value for {key}", hint="say which to try: --values 1,2,3")
    whole = FIELDS[key].annotation is int
    chosen = sorted({int(value) if whole else float(value) for value in wanted})
    flow = workflow or ("adaptive" if switch else workflow_evaluated(settings))
    # With the check of the threshold on, the reference's rows tell what it would be held against.
    check: dict[str, Scalar] = {"adaptive.check": _CHECKS[key]} if key in _CHECKS else {}
    if switch is None:
        found = [Configuration(flow, flow, about="as configured")]
    else:
        without = "web" if switch == WEB else "fallback"
        changed = {switch: False, **check}
        found = [Configuration(f"{flow} without {without}", flow, changed, f"{switch} off")]
    points: list[tuple[float, str]] = []
    for value in chosen:
        if not switch and value == value_of(settings, key):
            points.append((value, found[0].name))  # as configured: nothing new to run
            continue
        changed = {key: value, **check, **({switch: True} if switch else {})}
        called = f"{flow} {name.replace('_', ' ')} {value:g}"
        found.append(Configuration(called, flow, changed, f"{key} = {value:g}"))
        points.append((value, called))
    return SweepPlan(key, found[0].name, tuple(found), tuple(points))


def sweep(
    rows: Mapping[str, Sequence[Row]], *, plan: SweepPlan, metric: str | None = None, seed: int = 0
) -> Sweep:
    chosen = check_metric(metric or primary_metric(rows[plan.reference]))
    figures = {name: Figures(found) for name, found in rows.items()}
    base = figures[plan.reference].metric(chosen)
    points = []
    for value, name in plan.points:
        at, fired = figures[name], fell_back(rows[name])
        only = {case: figure for case, figure in at.metric(chosen).items() if case in fired}
        same = name == plan.reference
        told = {
            one: interval(list(found.values()), seed=seed, yes_no=METRICS[one].yes_no)
            for one in dict.fromkeys((chosen, *_TOLD))
            if (found := at.metric(one))
        }
        points.append(
            SweepPoint(
                value=value,
                configuration=name,
                fallback_rate=at.mean("fallback", at.cases),
                metrics=told,
                difference=None
                if same
                else difference_of(chosen, base, at.metric(chosen), seed=seed),
                on_fallback=None if same else difference_of(chosen, base, only, seed=seed),
            )
        )
    ps = iter(holm([one.difference.p for one in points if one.difference is not None]))
    for at_, one in enumerate(points):
        if one.difference is not None:
            with_p = one.difference.model_copy(update={"p_holm": next(ps)})
            points[at_] = one.model_copy(update={"difference": with_p})
    return Sweep(param=plan.param, reference=plan.reference, metric=chosen, points=tuple(points))


def values_seen(reference: Sequence[Row]) -> tuple[float, ...]:
    """Thresholds at which about 10, 30, 50, 70 and 90 of 100 questions would be searched again:
    readers score on scales of their own."""
    judged = sorted(row.trigger for row in reference if row.trigger is not None)
    places = (min(len(judged) - 1, round(share * len(judged))) for share in _SHARES)
    return tuple(sorted({round(judged[place], 2) for place in places})) if judged else ()
