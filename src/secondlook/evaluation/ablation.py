"""What each step of a workflow buys, and the cheapest configuration that loses nothing by it.

Against the reference, on the metric that decides, with the margin that is still acceptable:

- *non-inferior*: the lower 95 % bound of the paired difference is above minus the margin. A loss
  that is certain but smaller than the margin is non-inferior too: that is what a margin is for.
- *worse*: not that, the whole interval is below 0, and p, corrected for how many configurations
  were tried, is below .05.
- *undecided*: neither, with about how many more questions would tell.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from importlib.util import find_spec
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from secondlook.engine.request import AUTO
from secondlook.errors import SettingsError, UsageError
from secondlook.evaluation.comparison import (
    SIGNIFICANT,
    Pair,
    check_metric,
    compare,
    corrected,
    gained,
    primary_metric,
    significant,
)
from secondlook.evaluation.questions import Figures
from secondlook.evaluation.records import Ablation, Configuration, Verdict
from secondlook.evaluation.statistics import questions_needed
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.models.specs import Cast
from secondlook.settings import KEYS, load, preset_place
from secondlook.settings.sections import FIELDS, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Comparison, Results, Row
    from secondlook.models.chat import Role
    from secondlook.settings.sections import Settings

MARGIN = 0.02
_AS_FAST = 1.05
"""Within 5 % two configurations take as long: the same one twice differs by as much."""
_FEWEST = 2
"""Questions from which a spread can be told."""


def ablate(
    rows: Mapping[str, Sequence[Row]],
    *,
    reference: str,
    metric: str | None = None,
    margin: float = MARGIN,
    left_out: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Ablation:
    """Every configuration against the reference."""
    if reference not in rows:
        raise UsageError(
            f"there is no configuration {reference!r} to compare with",
            hint=f"there are {', '.join(map(repr, rows))}",
        )
    if margin < 0:
        raise UsageError(f"a margin of {margin!r} is no margin", hint="give 0 or more, such as .02")
    chosen = check_metric(metric or primary_metric(rows[reference]))
    figures = {name: Figures(found) for name, found in rows.items()}
    pairs = [
        Pair.of(figures[reference], figures[name], (reference, name), seed)
        for name in rows
        if name != reference
    ]
    comparisons = corrected(
        [
            compare(pair.base, pair.other, metric=chosen, seed=seed, names=pair.names)
            for pair in pairs
        ]
    )
    prices = _prices(figures)
    verdicts = [_of_reference(reference, prices[reference])]
    verdicts += [
        _verdict(one, list(pair.changes(chosen).values()), prices[one.other], margin, of=len(pairs))
        for one, pair in zip(comparisons, pairs, strict=True)
    ]
    return Ablation(
        reference=reference,
        metric=chosen,
        margin=margin,
        comparisons=comparisons,
        verdicts=tuple(verdicts),
        cheapest=_cheapest(verdicts, prices, reference),
        left_out=dict(left_out or {}),
    )


@dataclass(frozen=True, slots=True)
class _Price:
    dollars: float
    """Infinite where a price is not known: then it is not shown to be cheap."""
    calls: float
    seconds: float
    steps: float
    """Nodes that a question goes through."""

    @property
    def told(self) -> tuple[float | None, float, float]:
        return self.dollars if math.isfinite(self.dollars) else None, self.calls, self.seconds


def _prices(figures: Mapping[str, Figures]) -> dict[str, _Price]:
    """Over the questions that all have, so that none is cheap by having been asked less."""
    shared = set.intersection(*(one.cases for one in figures.values()))
    return {name: _price(one, shared or one.cases) for name, one in figures.items()}


def _price(found: Figures, cases: Collection[str]) -> _Price:
    cost = found.cost(cases)
    return _Price(
        dollars=math.inf if cost is None else cost,
        calls=found.mean("calls", cases),
        seconds=found.seconds(cases),
        steps=found.mean("steps", cases),
    )


def _of_reference(name: str, price: _Price) -> Verdict:
    return Verdict(
        configuration=name,
        verdict="reference",
        price=price.told,
        why="what the others are compared with",
    )


def _verdict(
    comparison: Comparison, changes: Sequence[float], price: _Price, margin: float, *, of: int
) -> Verdict:
    deciding = comparison.deciding
    _, low, high = gained(deciding)
    bounds = f"95 % interval {low:+.3f} to {high:+.3f}"
    if low > -margin:
        why = f"{bounds}: above the margin of {-margin:+.3f}"
        return _found(comparison, "non-inferior", price, why)
    if high < 0 and significant(deciding):
        why = f"{bounds}: below 0, and not above the margin of {-margin:+.3f}"
        return _found(comparison, "worse", price, why)
    more = _more_questions(changes, margin=margin, of=of)
    why = f"{bounds}: reaches below the margin of {-margin:+.3f}, yet is no certain loss"
    return _found(comparison, "undecided", price, why, more)


def _found(
    comparison: Comparison,
    verdict: Literal["non-inferior", "worse", "undecided"],
    price: _Price,
    why: str,
    more: int | None = None,
) -> Verdict:
    return Verdict(
        configuration=comparison.other,
        verdict=verdict,
        price=price.told,
        more_questions=more,
        why=why,
    )


def _more_questions(changes: Sequence[float], *, margin: float, of: int) -> int | None:
    """Until it is non-inferior or worse, whichever is first, if things stay as they look."""
    ways = [questions_needed(changes, margin=margin)]
    # With fewer losses than that, it is within the margin before it is certain to be a loss.
    if 2 * fmean(changes) <= -margin:
        ways.append(_until_certain_loss(changes, of=of))
    return min((more for more in ways if more), default=None)


def _until_certain_loss(changes: Sequence[float], *, of: int) -> int | None:
    mean = fmean(changes)
    if mean >= 0 or len(changes) < _FEWEST:
        return None
    z = NormalDist().inv_cdf(1 - SIGNIFICANT / (2 * of))
    return max(1, math.ceil((z * stdev(changes) / mean) ** 2) - len(changes))


def _cheapest(verdicts: Sequence[Verdict], prices: Mapping[str, _Price], reference: str) -> str:
    """Least money, then fewest model calls, then least time. Of those that take as long as each
    other the reference, for it needs no change; else the one of fewest steps."""
    names = [one.configuration for one in verdicts if one.verdict in {"reference", "non-inferior"}]
    names = _least(names, lambda name: prices[name].dollars)
    names = _least(names, lambda name: prices[name].calls)
    fastest = min(prices[name].seconds for name in names)
    names = [name for name in names if prices[name].seconds <= fastest * _AS_FAST]
    if reference in names:
        return reference
    return min(names, key=lambda name: (prices[name].steps, prices[name].seconds))


def _least(names: Sequence[str], price: Callable[[str], float]) -> list[str]:
    least = min(map(price, names))
    return [name for name in names if math.isclose(price(name), least, rel_tol=1e-9)]


# What must be there for a switch to make a difference: a model, the web, or a step that is on.

if TYPE_CHECKING:
    Value = bool | str
    SetTo = Callable[[str], Value]

SENTENCE_CHECK = "answer.enable_sentence_check"
WEB = "web.enable_web_search"
ANSWER_GRADING = "answer.enable_answer_grading"
REGENERATION = "corrective.enable_regeneration"
SYNTHESIS = "models.servers.synthesise"
EXPLAIN = "models.servers.explain"
NOT_FOR_QUESTIONS = frozenset({"summary"})
OVER_TABLES = frozenset({"analyst"})
"""What answers from tables is not compared with what answers from texts."""
VARIANTS: dict[str, tuple[str, ...]] = {
    "corrective": (
        "models.servers.grade",
        "models.servers.grounded",
        "models.servers.useful",
    ),
    "research": (
        "models.servers.screen",
        "models.servers.classify",
        SYNTHESIS,
        "research.evaluator",
    ),
    "analyst": (
        "models.servers.require",
        "models.servers.query",
        "models.servers.judge",
        "models.servers.remedy",
        EXPLAIN,
    ),
}
"""By workflow, settings that say who judges or how: each of their values is tried."""
_NEEDS_WRITER = frozenset(
    {
        SENTENCE_CHECK,
        ANSWER_GRADING,
        REGENERATION,
        SYNTHESIS,
    }
)
"""What does nothing to words that the reader took from a passage."""
_ASKS: dict[str, Role] = {
    ANSWER_GRADING: "grade",
    "models.servers.grade": "grade",
    "models.servers.grounded": "grade",
    "models.servers.useful": "grade",
    "models.servers.screen": "screen",
    "models.servers.classify": "plan",
    "analyst.enable_code_check": "code",
    "analyst.enable_remediation": "code",
    "models.servers.query": "code",
    "models.servers.judge": "judge",
    "models.servers.require": "require",
    "models.servers.remedy": "remedy",
    EXPLAIN: "explain",
}
"""Who is asked for it."""
_BY_OTHERS = frozenset({"reader", "similarity", "rules", "signs", "grammar", "checks", "template"})
"""Values for which no model is asked."""
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
_WROTE_NOTHING = (
    "without a model nothing is written that could be checked: an answer is a span of a passage "
    "(give one with --model)"
)
_ABLATION_NEEDS_CALLED: dict[Role, str] = {
    "grade": "judge",
    "screen": "screen",
    "plan": "plan",
    "choose": "choose",
    "code": "write code",
    "judge": "judge",
    "require": "say what a question needs",
    "remedy": "find a cause",
    "explain": "put a result into words",
}


def why_not(settings: Settings, workflow: str, key: str, to: Value, *, set_to: SetTo) -> str | None:
    """Why a setting cannot be tried with that value; None if it can."""
    if key == WEB and to:
        return no_web(settings)
    step = _PART_OF.get(key)
    if step is not None and not set_to(step):
        return f"{step} is off, so that it does nothing"
    if key in _NEEDS_WRITER and not _writes(settings, workflow):
        return _WROTE_NOTHING
    role = _ASKS.get(key)
    if role is not None and to not in _BY_OTHERS and not _serves(settings, role, workflow):
        return (
            f"there is no model that could {_ABLATION_NEEDS_CALLED[role]} (give one with --model)"
        )
    return None


def no_web(settings: Settings) -> str | None:
    """Why the web cannot be looked at, or must not be without being asked; None if it can."""
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


def _writes(settings: Settings, workflow: str) -> bool:
    """Whether a model writes what the workflow answers."""
    return _serves(settings, "summarise" if workflow in NOT_FOR_QUESTIONS else "answer", workflow)


def _serves(settings: Settings, role: Role, workflow: str) -> bool:
    return Cast(settings.models).part(role, workflow).spec.named


# Which configurations an ablation tries: every step of a workflow that can be switched, alone.

SECOND_SEARCH = "adaptive.enable_adaptive_retrieval"
_CALLED = {WEB: "web"}
"""Where the setting's own name would read badly."""
_THREE: tuple[tuple[str, dict[str, bool]], ...] = (
    ("linear", {}),
    ("adaptive", {SECOND_SEARCH: True, WEB: False}),
    ("adaptive", {SECOND_SEARCH: True, WEB: True}),
)
"""The three that are compared together: the baseline, a second search, and the web as well."""


def ablation_plan(
    settings: Settings, workflows: Sequence[str]
) -> tuple[list[Configuration], dict[str, str]]:
    """What to run, the first workflow as it is configured first, and which flags cannot be tried.

    Each flag that is on is switched off and each that is off switched on, one at a time; who grades
    and judges is varied likewise. No two configurations come to the same.
    """
    plan = _Plan(settings)
    for name in dict.fromkeys(workflows):
        plan.add(name, {})
        for flag in workflow_named(name).flags:
            plan.try_out(name, flag)
        for key in VARIANTS.get(name, ()):
            plan.vary(name, key)
    if set(workflows) - NOT_FOR_QUESTIONS - OVER_TABLES:
        for name, flags in _THREE:
            plan.add(name, flags)
    return list(plan.found.values()), plan.left_out()


def short_name(flag: str) -> str:
    """`adaptive.enable_adaptive_retrieval` as `adaptive retrieval`."""
    own = flag.rpartition(".")[2].removeprefix("enable_").replace("_", " ")
    return _CALLED.get(flag, own)


@dataclass(slots=True)
class _Plan:
    settings: Settings
    found: dict[object, Configuration] = field(default_factory=dict)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)

    def try_out(self, workflow: str, flag: str) -> None:
        self.add(workflow, {flag: not self._set_to(flag)})

    def vary(self, workflow: str, key: str) -> None:
        """Everybody who can judge, beside the one who does."""
        for value in choices(key):
            why = self._why_not(workflow, key, value)
            if value == self._set_to(key):
                continue
            if why is None:
                self.add(workflow, {key: value})
            else:
                self.refused[workflow, f"{key} = {value}"] = why

    def add(self, workflow: str, wanted: Mapping[str, bool | str]) -> None:
        changes = {flag: to for flag, to in wanted.items() if to != self._set_to(flag)}
        reasons = {flag: self._why_not(workflow, flag, to) for flag, to in changes.items()}
        if any(reasons.values()):
            self.refused |= {(workflow, flag): why for flag, why in reasons.items() if why}
            return
        self.tried |= set(changes)
        read = (*workflow_named(workflow).flags, *VARIANTS.get(workflow, ()))
        comes_to = (workflow, tuple(changes.get(flag, self._set_to(flag)) for flag in read))
        self.found.setdefault(comes_to, _configuration(workflow, changes))

    def left_out(self) -> dict[str, str]:
        """By flag; with the workflow where another could try it."""
        return {
            f"{flag} of {workflow}" if flag in self.tried else flag: why
            for (workflow, flag), why in self.refused.items()
        }

    def _set_to(self, key: str) -> bool | str:
        return value_of(self.settings, key)  # type: ignore[return-value]

    def _why_not(self, workflow: str, key: str, to: bool | str) -> str | None:  # noqa: FBT001
        return why_not(self.settings, workflow, key, to, set_to=self._set_to)


def choices(key: str) -> tuple[str, ...]:
    """The values that a setting can have."""
    return get_args(FIELDS[key].annotation)


def _configuration(workflow: str, changes: Mapping[str, bool | str]) -> Configuration:
    off = [short_name(flag) for flag, to in changes.items() if to is False]
    on = [short_name(flag) for flag, to in changes.items() if to is True]
    on += [f"{short_name(key)} {to}" for key, to in changes.items() if isinstance(to, str)]
    parts = [workflow]
    parts += [f"without {' and '.join(off)}"] if off else []
    parts += [f"with {' and '.join(on)}"] if on else []
    scalars: dict[str, Scalar] = dict(changes)
    about = ", ".join(f"{key} {_SAID.get(to, to)}" for key, to in changes.items())
    return Configuration(" ".join(parts), workflow, scalars, about or "as configured")


_SAID: dict[bool | str, str] = {True: "on", False: "off"}


# Which workflow an evaluation is of where none is named.

BASELINE: Final = "linear"


def workflow_evaluated(settings: Settings) -> str:
    """The configured one. Who picks among workflows has no steps of its own to measure: then it is
    the baseline, and `auto` is evaluated where it is named."""
    configured = settings.answer.workflow
    return BASELINE if configured == AUTO else configured


# A configuration that an ablation found non-inferior, kept as a preset to answer with.

MARK = "# Written by `secondlook eval --ablate --write`."
"""First line of a profile. What lacks it was written by somebody, and is left alone."""
_WORKFLOW = "answer.workflow"
_SHAPING = ("search", "answer", "adaptive", "corrective")
"""Sections that shape answers. Which model writes and where it is asked stays a person's own."""


def write_profile(results: Results, name: str, *, cwd: Path | None = None) -> Path:
    """The cheapest configuration that is not inferior, as the preset of that name or path."""
    ablation = results.ablation
    if ablation is None:
        raise UsageError("these results hold no ablation", hint="run it with --ablate")
    found = results.summaries[ablation.cheapest]
    return write_configuration(
        ablation,
        Configuration(ablation.cheapest, found.workflow, found.changes, found.about),
        preset_place(name, cwd=cwd),
        measured_on=_measured_on(results),
        shared=_shared(results.settings),
    )


def write_configuration(
    ablation: Ablation,
    configuration: Configuration,
    path: Path,
    *,
    measured_on: str = "",
    shared: Mapping[str, Scalar] | None = None,
) -> Path:
    """The configuration as a preset at `path`.

    `measured_on` names the set; `shared` are settings that all configurations were given beside
    their own. Only what was shown to lose no more than the margin is written.
    """
    verdict = _profile_verdict(ablation, configuration.name)
    if verdict.verdict not in {"non-inferior", "reference"}:
        raise UsageError(
            f"{configuration.name!r} is {verdict.verdict}, so no profile is made of it: "
            f"{verdict.why}",
            hint=_advice(ablation, verdict),
        )
    _refuse_foreign(path)
    values = {**(shared or {}), _WORKFLOW: configuration.workflow, **configuration.changes}
    lines = [MARK, *_measured(ablation, configuration, measured_on), *_as_toml(values)]
    _put(path, "\n".join(lines) + "\n")
    return path


def _measured_on(results: Results) -> str:
    name, model = results.data.get("name", "a set"), results.versions.get("model", "none")
    return f"{name} with {'no model' if model == 'none' else model}"


def _shared(settings: Mapping[str, Any]) -> dict[str, Scalar]:
    """What was set for all, wherever it came from: the profile must not depend on that place."""
    return {
        f"{section}.{name}": value
        for section in _SHAPING
        for name, value in settings.get(section, {}).items()
        if f"{section}.{name}" in KEYS and value != FIELDS[f"{section}.{name}"].default
    }


def _profile_verdict(ablation: Ablation, name: str) -> Verdict:
    found = next((one for one in ablation.verdicts if one.configuration == name), None)
    if found is None:
        names = ", ".join(repr(one.configuration) for one in ablation.verdicts)
        raise UsageError(f"there is no configuration {name!r}", hint=f"there are {names}")
    return found


def _advice(ablation: Ablation, verdict: Verdict) -> str:
    if verdict.more_questions:
        return f"about {verdict.more_questions} more questions would decide it"
    return f"the cheapest that is not inferior is {ablation.cheapest!r}"


def _measured(ablation: Ablation, configuration: Configuration, measured_on: str) -> Iterator[str]:
    where = f" on {measured_on}" if measured_on else ""
    yield _comment(f"{configuration.name}: {configuration.about or 'as configured'}")
    found = next((one for one in ablation.comparisons if one.other == configuration.name), None)
    if found is None:
        yield _comment(f"The reference of an ablation{where}.")
        return
    yield _comment(_sentence(found, ablation.margin, where))


def _sentence(found: Comparison, margin: float, where: str) -> str:
    one = found.deciding
    return (
        f"Not inferior to {found.base}{where} ({one.n} questions, margin {margin:g}): "
        f"{one.metric} {one.other:.3f} against {one.base:.3f}, difference {one.difference:+.3f}, "
        f"95 % interval {one.low:+.3f} to {one.high:+.3f}."
    )


def _comment(text: str) -> str:
    """One line, whatever names it holds."""
    return f"# {' '.join(_printable(text).split())}"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _as_toml(values: Mapping[str, Scalar]) -> Iterator[str]:
    """Section by section, in the order in which settings are documented."""
    section = ""
    for key in KEYS:
        if key not in values or values[key] is None:  # None: not set, which a file says by silence
            continue
        own, _, name = key.rpartition(".")
        if own != section:
            yield from (["", f"[{own}]"] if section else [f"[{own}]"])
            section = own
        yield f"{name} = {_literal(values[key])}"


def _literal(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _refuse_foreign(path: Path) -> None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _cannot(path, error) from error
    if first.rstrip("\r\n") != MARK:
        raise UsageError(
            f"{str(path)!r} exists and was not written by an ablation",
            hint="take another name, or move it away",
        )


def _put(path: Path, text: str) -> None:
    """Whole or not at all, and only if it can be loaded again from where it will lie."""
    partial = path.with_name(f".{path.stem}.part.toml")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_text(text, encoding="utf-8")
            load(preset=str(partial.absolute()))
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except SettingsError as error:
        raise UsageError(
            f"the profile could not be used: {error.message}", hint=error.hint
        ) from error
    except OSError as error:
        raise _cannot(path, error) from error


def _cannot(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{str(path)!r} cannot be written: {error.strerror or error}",
        hint="name another place with --write",
    )
