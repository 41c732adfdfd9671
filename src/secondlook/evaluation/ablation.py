"""What each step of a workflow buys, and the cheapest configuration that loses nothing by it.
Against the reference a configuration is *non-inferior* if the lower 95 % bound of the paired
difference is above minus the margin; else *worse* if the whole interval is below 0 and p, corrected
for how many were tried, is below .05; else *undecided*, with how many more questions would tell."""

from __future__ import annotations

import math
from importlib.util import find_spec
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from secondlook.engine.request import AUTO
from secondlook.errors import UsageError
from secondlook.evaluation.comparison import (
    SIGNIFICANT,
    changes,
    check_metric,
    compare_all,
    gained,
    primary_metric,
    significant,
)
from secondlook.evaluation.questions import Figures
from secondlook.evaluation.records import Ablation, Comparison, Configuration, Row, Verdict
from secondlook.evaluation.statistics import questions_needed
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.models.specs import Cast
from secondlook.settings import KEYS
from secondlook.settings.sections import FIELDS, Settings, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar

    Value = bool | str

BASELINE = "linear"
MARGIN = 0.02
_AS_FAST = 1.05  # within 5 % two configurations take as long: the same one twice differs by as much


def workflow_evaluated(settings: Settings) -> str:
    """The configured one. `auto` has no steps of its own to measure: then it is the baseline."""
    configured = settings.answer.workflow
    return BASELINE if configured == AUTO else configured


def ablate(
    rows: Mapping[str, Sequence[Row]],
    *,
    reference: str,
    metric: str | None = None,
    margin: float = MARGIN,
    left_out: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Ablation:
    if margin < 0:
        raise UsageError(f"a margin of {margin!r} is no margin", hint="give 0 or more, such as .02")
    chosen = check_metric(metric or primary_metric(rows[reference]))
    figures = {name: Figures(found) for name, found in rows.items()}
    comparisons = compare_all(rows, metric=chosen, seed=seed, reference=reference)
    # Over the questions that all have, so that none is cheap by having been asked less.
    shared = set.intersection(*(one.cases for one in figures.values()))
    prices = {}
    for name, one in figures.items():
        cases = shared or one.cases
        cost = math.inf if (known := one.cost(cases)) is None else known
        calls, steps = one.mean("calls", cases), one.mean("steps", cases)
        prices[name] = _Price(cost, calls, one.seconds(cases), steps)
    why = "what the others are compared with"
    first = Verdict(
        configuration=reference, verdict="reference", price=prices[reference].told, why=why
    )
    verdicts = [first]
    for pair in comparisons:
        moved = list(changes(figures[reference], figures[pair.other], chosen).values())
        verdicts.append(_verdict(pair, moved, prices[pair.other], margin, of=len(comparisons)))
    return Ablation(
        reference=reference,
        metric=chosen,
        margin=margin,
        comparisons=comparisons,
        verdicts=tuple(verdicts),
        cheapest=_cheapest(verdicts, prices, reference),
        left_out=dict(left_out or {}),
    )


class _Price(NamedTuple):
    dollars: float  # infinite where a price is not known: then it is not shown to be cheap
    calls: float
    seconds: float
    steps: float  # nodes that a question goes through

    @property
    def told(self) -> tuple[float | None, float, float]:
        return self.dollars if math.isfinite(self.dollars) else None, self.calls, self.seconds


def _verdict(
    comparison: Comparison, moved: Sequence[float], price: _Price, margin: float, *, of: int
) -> Verdict:
    _, low, high = gained(comparison.deciding)
    verdict: Literal["non-inferior", "worse", "undecided"] = "undecided"
    why, more = f"reaches below the margin of {-margin:+.3f}, yet is no certain loss", None
    if low > -margin:
        verdict, why = "non-inferior", f"above the margin of {-margin:+.3f}"
    elif high < 0 and significant(comparison.deciding):
        verdict, why = "worse", f"below 0, and not above the margin of {-margin:+.3f}"
    else:
        # Until it is non-inferior or worse, whichever is first, if things stay as they look.
        # With small losses it is within the margin before it is certain to be a loss.
        ways, mean = [questions_needed(moved, margin=margin)], fmean(moved)
        if 2 * mean <= -margin and mean < 0 and len(moved) > 1:
            z = NormalDist().inv_cdf(1 - SIGNIFICANT / (2 * of))
            ways.append(max(1, math.ceil((z * stdev(moved) / mean) ** 2) - len(moved)))
        more = min((found for found in ways if found), default=None)
    return Verdict(
        configuration=comparison.other,
        verdict=verdict,
        price=price.told,
        more_questions=more,
        why=f"95 % interval {low:+.3f} to {high:+.3f}: {why}",
    )


def _cheapest(verdicts: Sequence[Verdict], prices: Mapping[str, _Price], reference: str) -> str:
    """Least money, then calls, then time; of equally fast ones the reference, or fewest steps."""
    names = [one.configuration for one in verdicts if one.verdict in {"reference", "non-inferior"}]
    for part in ("dollars", "calls"):
        costs = {name: getattr(prices[name], part) for name in names}
        least = min(costs.values())
        names = [name for name in names if math.isclose(costs[name], least, rel_tol=1e-9)]
    fastest = min(prices[name].seconds for name in names)
    names = [name for name in names if prices[name].seconds <= fastest * _AS_FAST]
    if reference in names:
        return reference
    return min(names, key=lambda name: (prices[name].steps, prices[name].seconds))


# Which configurations an ablation tries: every step of a workflow that can be switched, alone.

SECOND_SEARCH = "adaptive.enable_adaptive_retrieval"
WEB = "web.enable_web_search"
_NOT_FOR_QUESTIONS = frozenset({"summary", "survey"})
_OVER_TABLES = frozenset({"analyst"})  # not compared with what answers from texts
_THREE: tuple[tuple[str, dict[str, bool]], ...] = (
    (BASELINE, {}),
    ("adaptive", {SECOND_SEARCH: True, WEB: False}),
    ("adaptive", {SECOND_SEARCH: True, WEB: True}),
)
"""The three that are compared together: the baseline, a second search, and the web as well."""
VARIANTS: dict[str, tuple[str, ...]] = {
    "corrective": ("models.servers.grade", "models.servers.grounded", "models.servers.useful"),
    "research": (
        *("models.servers.screen", "models.servers.classify", "models.servers.synthesise"),
        "research.evaluator",
    ),
    "analyst": (
        *("models.servers.require", "models.servers.query", "models.servers.judge"),
        *("models.servers.remedy", "models.servers.explain"),
    ),
}
"""By workflow, settings that say who judges or how: each of their values is tried."""
_PART_OF = {
    "models.servers.grounded": "answer.enable_grounded_check",
    "models.servers.useful": "corrective.enable_useful_check",
    "models.servers.grade": "corrective.enable_grading",
    "models.servers.screen": "research.enable_screen",
    "research.enable_recall": "research.enable_memory",
    "models.servers.classify": "research.enable_classification",
    "models.servers.remedy": "analyst.enable_remediation",
}
"""The step that a setting is a part of: where it is off, the setting does nothing."""
_NEEDS_MODEL = frozenset(
    (
        *("answer.enable_sentence_check", "answer.enable_answer_grading"),
        *("corrective.enable_regeneration", "models.servers.synthesise"),
        *("analyst.enable_code_check", "analyst.enable_remediation", "models.servers.explain"),
    )
)
"""What does nothing to words that the reader took from a passage, or asks a model itself."""
_NO_MODEL = "there is no language model to ask or to check (give one with --model)"


def ablation_plan(
    settings: Settings, workflows: Sequence[str]
) -> tuple[list[Configuration], dict[str, str]]:
    """What to run, as configured first, and which flags cannot be tried. Each flag is switched and
    each setting of a few values varied, one at a time; no two come to the same."""
    found: dict[object, Configuration] = {}
    refused: dict[tuple[str, str], str] = {}
    tried: set[str] = set()

    def add(workflow: str, wanted: Mapping[str, Value]) -> None:
        changed = {key: to for key, to in wanted.items() if to != value_of(settings, key)}
        reasons = {key: why for key, to in changed.items() if (why := _why_not(settings, key, to))}
        for key, why in reasons.items():
            value = changed[key]
            refused[workflow, f"{key} = {value}" if isinstance(value, str) else key] = why
        if not reasons:
            tried.update(changed)
            read = (*workflow_named(workflow).flags, *VARIANTS.get(workflow, ()))
            comes_to = (workflow, *(changed.get(key, value_of(settings, key)) for key in read))
            found.setdefault(comes_to, _configuration(workflow, changed))

    for name in dict.fromkeys(workflows):
        add(name, {})
        for flag in workflow_named(name).flags:
            add(name, {flag: not value_of(settings, flag)})
        for key in VARIANTS.get(name, ()):
            for value in get_args(FIELDS[key].annotation):
                add(name, {key: value})
    if set(workflows) - _NOT_FOR_QUESTIONS - _OVER_TABLES:
        for name, flags in _THREE:
            add(name, flags)
    left_out = {
        f"{key} of {workflow}" if key in tried else key: why
        for (workflow, key), why in refused.items()
    }
    return list(found.values()), left_out


def _why_not(settings: Settings, key: str, to: Value) -> str | None:
    """Why a setting cannot be tried with that value; None if it can."""
    if key == WEB and to:
        return no_web(settings)
    step = _PART_OF.get(key)
    if step is not None and not value_of(settings, step):
        return f"{step} is off, so that it does nothing"
    asks = isinstance(to, str) and to.startswith(("llm", "model", "auto"))
    served = any(spec.named for spec in Cast(settings.models).specs())
    return None if served or not (asks or key in _NEEDS_MODEL) else _NO_MODEL


def no_web(settings: Settings) -> str | None:
    """Why the web cannot be searched, or must not be without being asked; None if it can."""
    web = settings.web
    if web.url:
        return None
    if find_spec("ddgs") is None:
        return "needs the package ddgs (pip install ddgs) or a SearXNG server"
    if not web.enable_web_search:
        return (
            "would send the questions to DuckDuckGo: allow it with --web, or set web.url "
            "to a SearXNG server of your own"
        )
    return None


def _configuration(workflow: str, changed: Mapping[str, Value]) -> Configuration:
    """`adaptive without web`, `corrective with grader llm-each`."""
    parts: dict[str, list[str]] = {"without": [], "with": []}
    told = []
    for key, to in changed.items():
        own = key.rpartition(".")[2].removeprefix("enable_").replace("_", " ")
        short = "web" if key == WEB else own
        parts["with" if to else "without"].append(f"{short} {to}" if isinstance(to, str) else short)
        told.append(f"{key} {to if isinstance(to, str) else 'on' if to else 'off'}")
    name = [workflow, *(f"{word} {' and '.join(of)}" for word, of in parts.items() if of)]
    about = ", ".join(told) or "as configured"
    return Configuration(" ".join(name), workflow, dict(changed), about)


# One numeric setting at several values: how often the fallback fires, and what that does.

PARAM = "adaptive.min_rerank_score"
VALUES = (-2.0, -1.0, 0.0, 1.0, 2.0)
_CHECKS = {PARAM: "min_rerank_score", "adaptive.min_quality": "calibrated"}
"""Thresholds of one way to judge a search mean nothing to the other."""
_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


def sweep_plan(
    settings: Settings,
    *,
    param: str = PARAM,
    values: Sequence[float] | None = None,
    workflow: str | None = None,
) -> list[Configuration]:
    """A reference, and the setting at each value. The reference is the workflow without the second
    search or the web where the setting is of these, else as configured."""
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
    for value in chosen:
        if switch or value != value_of(settings, key):  # else as configured: nothing new to run
            changed = {key: value, **check, **({switch: True} if switch else {})}
            called = f"{flow} {name.replace('_', ' ')} {value:g}"
            found.append(Configuration(called, flow, changed, f"{key} = {value:g}"))
    return found


def values_seen(reference: Sequence[Row]) -> tuple[float, ...]:
    """Thresholds at which about 10, 30, 50, 70 and 90 of 100 questions would be searched again:
    readers score on scales of their own."""
    judged = sorted(row.trigger for row in reference if row.trigger is not None)
    places = (min(len(judged) - 1, round(share * len(judged))) for share in _SHARES)
    return tuple(sorted({round(judged[place], 2) for place in places})) if judged else ()
