"""One numeric setting at several values on the same questions: how often the fallback fires at
each, and what that does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.errors import UsageError
from secondlook.evaluation.ablation_needs import WEB, no_web
from secondlook.evaluation.ablation_plan import SECOND_SEARCH
from secondlook.evaluation.comparison import (
    check_metric,
    difference_of,
    primary_metric,
)
from secondlook.evaluation.evaluated_workflow import workflow_evaluated
from secondlook.evaluation.figures import Figures
from secondlook.evaluation.metrics.catalogue import METRICS
from secondlook.evaluation.numeric import checked_values, numeric_setting
from secondlook.evaluation.records import Configuration, Sweep, SweepPoint
from secondlook.evaluation.statistics import holm, interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Difference, Estimate, Row
    from secondlook.settings import Settings

PARAM = "adaptive.min_rerank_score"
VALUES = (-2.0, -1.0, 0.0, 1.0, 2.0)
_CHECKS = {PARAM: "min_rerank_score", "adaptive.min_quality": "calibrated"}
"""Thresholds of one way to judge a search mean nothing to the other."""
_SHARES_SEEN = (0.1, 0.3, 0.5, 0.7, 0.9)
_TOLD = (
    "f1",
    "em",
    "accuracy",
    "values_accuracy",
    "f1_overall",
    "faithfulness",
    "ndcg@10",
    "recall@5",
    "answered",
    "success",
    "llm_calls",
)


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What to run, and which of it is what."""

    param: str
    reference: str
    configurations: tuple[Configuration, ...]
    """The reference first."""
    points: tuple[tuple[float, str], ...]
    """Each value and the configuration that has it."""


def sweep_plan(
    settings: Settings,
    *,
    param: str = PARAM,
    values: Sequence[float] | None = None,
    workflow: str | None = None,
) -> SweepPlan:
    """The setting at each value, and a reference.

    The reference of a setting of the second search, or of the web, is the workflow without it; of
    any other setting it is the workflow as configured. `param` may be given without its section
    where that is clear. Without `values`, those that the setting's own bounds and default suggest.
    """
    setting = numeric_setting(param, settings)
    if _switch(setting.key) == WEB and (why := no_web(settings)):
        raise UsageError(f"{setting.key} cannot be tried: {why}")
    wanted = VALUES if values is None and setting.key == PARAM else values
    chosen = checked_values(setting, wanted)
    flow = workflow or ("adaptive" if _switch(setting.key) else workflow_evaluated(settings))
    reference = _reference(setting.key, flow)
    points: list[tuple[float, str]] = []
    found = [reference]
    for value in chosen:
        one = _at(setting.key, value, flow)
        if not _switch(setting.key) and value == setting.now:
            points.append((value, reference.name))  # as configured: nothing new to run
            continue
        found.append(one)
        points.append((value, one.name))
    return SweepPlan(setting.key, reference.name, tuple(found), tuple(points))


def sweep(
    rows: Mapping[str, Sequence[Row]],
    *,
    plan: SweepPlan,
    metric: str | None = None,
    seed: int = 0,
) -> Sweep:
    """What each value makes of the questions, against the reference."""
    missing = [
        name for name in (plan.reference, *(name for _, name in plan.points)) if name not in rows
    ]
    if missing:
        raise UsageError(f"nothing was asked with {missing[0]!r}", hint="run the whole sweep")
    chosen = check_metric(metric or primary_metric(rows[plan.reference]))
    figures = {name: Figures(found) for name, found in rows.items()}
    points = [
        _point(value, figures[name], figures[plan.reference], name, chosen, seed=seed)
        for value, name in plan.points
    ]
    return Sweep(
        param=plan.param,
        reference=plan.reference,
        metric=chosen,
        points=tuple(_corrected(points)),
    )


def values_seen(reference: Sequence[Row]) -> tuple[float, ...]:
    """Thresholds at which about 10, 30, 50, 70 and 90 of 100 questions would be searched again.

    Readers score on scales of their own: with one of them the usual values mean never, with
    another always. `reference` are rows of the reference of `sweep_plan`; none that was judged,
    no values.
    """
    judged = sorted(row.trigger for row in reference if row.trigger is not None)
    if not judged:
        return ()
    places = (min(len(judged) - 1, round(share * len(judged))) for share in _SHARES_SEEN)
    return tuple(sorted({round(judged[place], 2) for place in places}))


def _switch(param: str) -> str | None:
    """The flag of the step that the setting belongs to."""
    return {"adaptive": SECOND_SEARCH, "web": WEB}.get(param.partition(".")[0])


def _reference(param: str, workflow: str) -> Configuration:
    switch = _switch(param)
    if switch is None:
        return Configuration(workflow, workflow, about="as configured")
    changes: dict[str, Scalar] = {switch: False}
    if param in _CHECKS:  # so that its rows tell what the threshold would have been held against
        changes["adaptive.check"] = _CHECKS[param]
    without = "web" if switch == WEB else "fallback"
    return Configuration(f"{workflow} without {without}", workflow, changes, f"{switch} off")


def _at(param: str, value: float, workflow: str) -> Configuration:
    changes: dict[str, Scalar] = {param: value}
    if param in _CHECKS:
        changes["adaptive.check"] = _CHECKS[param]
    if switch := _switch(param):
        changes[switch] = True
    short = param.partition(".")[2].replace("_", " ")
    return Configuration(f"{workflow} {short} {value:g}", workflow, changes, f"{param} = {value:g}")


def _point(
    value: float, at: Figures, reference: Figures, name: str, metric: str, *, seed: int
) -> SweepPoint:
    base, other = reference.metric(metric), at.metric(metric)
    fired = at.fell_back()
    only = {case: figure for case, figure in other.items() if case in fired}
    same = at is reference
    return SweepPoint(
        value=value,
        configuration=name,
        fallback_rate=at.mean("fallback", at.cases),
        metrics=_metrics(at, metric, seed=seed),
        difference=None if same else difference_of(metric, base, other, seed=seed),
        on_fallback=None if same else difference_of(metric, base, only, seed=seed),
    )


def _metrics(at: Figures, metric: str, *, seed: int) -> dict[str, Estimate]:
    found = {}
    for name in dict.fromkeys((metric, *_TOLD)):
        if values := at.metric(name):
            yes_no = METRICS[name].yes_no
            found[name] = interval(list(values.values()), seed=seed, yes_no=yes_no)
    return found


def _corrected(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """Holm's correction, over the values."""
    compared = [one.difference for one in points if one.difference is not None]
    ps = iter(holm([one.p for one in compared]))
    return [
        one.model_copy(update={"difference": _with_p(one.difference, next(ps))})
        if one.difference is not None
        else one
        for one in points
    ]


def _with_p(difference: Difference, p: float) -> Difference:
    return difference.model_copy(update={"p_holm": p})
