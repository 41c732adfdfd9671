"""One numeric setting at several values on the same questions: how often the fallback fires at
each, and what that does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from secondlook.errors import UsageError
from secondlook.evaluation.ablation import SECOND_SEARCH, WEB, no_web, workflow_evaluated
from secondlook.evaluation.comparison import check_metric, difference_of, primary_metric
from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.questions import Figures, fell_back
from secondlook.evaluation.records import Configuration, Sweep, SweepPoint
from secondlook.evaluation.statistics import holm, interval
from secondlook.settings import KEYS
from secondlook.settings.mistakes import in_plain_words, nearest
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
_NOT_OF_ANSWERS = frozenset({"library", "ingest", "runs"})
"""Sections that change no answer."""


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
    where that is clear. Only the rerank score has values of its own.
    """
    key = _key(param)
    section, name = key.partition(".")[0], key.rpartition(".")[2]
    switch = {"adaptive": SECOND_SEARCH, "web": WEB}.get(section)
    if switch == WEB and (why := no_web(settings)):
        raise UsageError(f"{key} cannot be tried: {why}")
    wanted = VALUES if values is None and key == PARAM else values
    if not wanted:
        raise UsageError(f"no value for {key}", hint="say which to try: --values 1,2,3")
    chosen = sorted({_checked(key, value) for value in wanted})
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
    rows: Mapping[str, Sequence[Row]],
    *,
    plan: SweepPlan,
    metric: str | None = None,
    seed: int = 0,
) -> Sweep:
    """What each value makes of the questions, against the reference."""
    for name in (plan.reference, *(name for _, name in plan.points)):
        if name not in rows:
            raise UsageError(f"nothing was asked with {name!r}", hint="run the whole sweep")
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
    """Thresholds at which about 10, 30, 50, 70 and 90 of 100 questions would be searched again.

    Readers score on scales of their own: with one of them the usual values mean never, with
    another always. `reference` are rows of the reference of `sweep_plan`; none that was judged,
    no values.
    """
    judged = sorted(row.trigger for row in reference if row.trigger is not None)
    places = (min(len(judged) - 1, round(share * len(judged))) for share in _SHARES)
    return tuple(sorted({round(judged[place], 2) for place in places})) if judged else ()


# Settings that are numbers: which one is meant, and what it may be.


def _key(given: str) -> str:
    """By its dotted key, or by its name alone where no two sections have it."""
    numbers = [
        key
        for key in KEYS
        if FIELDS[key].annotation in {int, float} and key.partition(".")[0] not in _NOT_OF_ANSWERS
    ]
    named = [key for key in numbers if given in {key, key.rpartition(".")[2]}]
    if len(named) == 1:
        return named[0]
    if named:
        raise UsageError(
            f"{given!r} is a setting of several sections", hint=f"Say which: {', '.join(named)}."
        )
    by_name = {key.rpartition(".")[2]: key for key in numbers}
    alike = nearest(given.rpartition(".")[2], by_name)  # the section may be missing or wrong
    meant = nearest(given, numbers) or (by_name[alike] if alike else None)
    why = "is no number that changes an answer" if given in KEYS else "is no setting"
    hint = f"Did you mean {meant!r}? " if meant else ""
    raise UsageError(f"{given!r} {why}", hint=f"{hint}docs/settings.md lists all settings.")


def _checked(key: str, value: float) -> float:
    field = FIELDS[key]
    typed = int(value) if field.annotation is int and float(value).is_integer() else value
    # Alone: what contradicts another setting is told when all of them are known.
    adapter: TypeAdapter[Any] = TypeAdapter(
        Annotated[field.annotation, field],  # type: ignore[arg-type]  # an annotation is a value here
        config=ConfigDict(strict=True),
    )
    try:
        adapter.validate_python(typed)
    except ValidationError as error:
        allowed = in_plain_words(error.errors()[0]["msg"])
        raise UsageError(f"{key} {allowed}, not {value!r}", hint="see --values") from error
    return typed
