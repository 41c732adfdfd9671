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
from secondlook.evaluation.questions import Figures
from secondlook.evaluation.records import Configuration, Sweep, SweepPoint
from secondlook.evaluation.statistics import holm, interval
from secondlook.settings import KEYS
from secondlook.settings.mistakes import in_plain_words, nearest
from secondlook.settings.sections import FIELDS, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Difference, Estimate, Row
    from secondlook.settings.sections import Settings

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


# Settings that are numbers: which one is meant, what it may be, and values worth trying.

_NOT_OF_ANSWERS = frozenset({"library", "ingest", "runs"})
"""Sections that change no answer."""
_AS_CALIBRATED = -1.0
_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
_EVENLY = (0.0, 0.25, 0.5, 0.75, 1.0)
_AROUND_ZERO = (-2.0, -1.0, 0.0, 1.0, 2.0)
_TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Numeric:
    """One setting that is a number."""

    key: str
    whole: bool
    default: float
    now: float
    low: float | None
    high: float | None
    between: bool = False
    """A bound itself is not allowed."""


def numeric_setting(given: str, settings: Settings) -> Numeric:
    """By its dotted key, or by its name alone where no two sections have it."""
    key = _key(given)
    field = FIELDS[key]
    now: float = value_of(settings, key)  # type: ignore[assignment]
    bounds = {kind: _bound(field.metadata, kind) for kind in ("ge", "gt", "le", "lt")}
    return Numeric(
        key=key,
        whole=field.annotation is int,
        default=field.default,
        now=now,
        low=bounds["ge"] if bounds["ge"] is not None else bounds["gt"],
        high=bounds["le"] if bounds["le"] is not None else bounds["lt"],
        between=bounds["gt"] is not None or bounds["lt"] is not None,
    )


def checked_values(setting: Numeric, values: Sequence[float] | None) -> tuple[float, ...]:
    """The given values, each once, in order; those worth trying where none are given."""
    if values is not None and not values:
        raise UsageError(f"no value for {setting.key}", hint="give --values 1,2,3")
    wanted = _worth_trying(setting) if values is None else values
    return tuple(sorted({_checked(setting, value) for value in wanted}))


def _key(given: str) -> str:
    numbers = list(_numeric_keys())
    if given in numbers:
        return given
    named = [key for key in numbers if key.partition(".")[2] == given]
    if len(named) == 1:
        return named[0]
    if named:
        raise UsageError(
            f"{given!r} is a setting of several sections", hint=f"Say which: {', '.join(named)}."
        )
    raise _no_number(given, numbers)


def _numeric_keys() -> Iterable[str]:
    for key in KEYS:
        number = FIELDS[key].annotation in {int, float}
        if number and key.partition(".")[0] not in _NOT_OF_ANSWERS:
            yield key


def _no_number(given: str, numbers: Sequence[str]) -> UsageError:
    meant = nearest(given, numbers) or _by_last_part(given, numbers)
    known = given in KEYS
    why = "is no number that changes an answer" if known else "is no setting"
    hint = f"Did you mean {meant!r}? " if meant else ""
    return UsageError(f"{given!r} {why}", hint=f"{hint}docs/settings.md lists all settings.")


def _by_last_part(given: str, numbers: Sequence[str]) -> str | None:
    """The section may be missing or wrong, and the name mistyped."""
    by_name = {key.partition(".")[2]: key for key in numbers}
    meant = nearest(given.rpartition(".")[2], by_name)
    return by_name[meant] if meant else None


def _bound(metadata: Iterable[Any], kind: str) -> float | None:
    return next((getattr(one, kind) for one in metadata if hasattr(one, kind)), None)


def _checked(setting: Numeric, value: float) -> float:
    typed = int(value) if setting.whole and float(value).is_integer() else value
    field = FIELDS[setting.key]
    # Alone: what contradicts another setting is told when all of them are known.
    adapter: TypeAdapter[Any] = TypeAdapter(
        Annotated[field.annotation, field],  # type: ignore[arg-type]  # an annotation is a value here
        config=ConfigDict(strict=True),
    )
    try:
        adapter.validate_python(typed)
    except ValidationError as error:
        allowed = in_plain_words(error.errors()[0]["msg"])
        raise UsageError(f"{setting.key} {allowed}, not {value!r}", hint="see --values") from error
    return typed


def _worth_trying(setting: Numeric) -> list[float]:
    """Around the default, within the bounds."""
    low, high, default = setting.low, setting.high, setting.default
    if low == _AS_CALIBRATED and default == _AS_CALIBRATED:
        return list(_SHARES)
    if low is not None and high is not None and not setting.whole:
        shares = _SHARES if setting.between else _EVENLY
        return sorted({*(low + share * (high - low) for share in shares), default})
    if default == 0 and low is None:
        return list(_AROUND_ZERO)
    if default == 0:
        raise UsageError(
            f"0 is no value to go by for {setting.key}", hint="say which to try: --values 1,2,3"
        )
    tried = [default * times for times in _TIMES]
    tried = [float(round(value)) if setting.whole else value for value in tried]
    return [value for value in tried if _within(value, low, high)]


def _within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)
