"""Which configurations an ablation tries: every step of a workflow that can be switched, alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from secondlook.evaluation.records import Configuration
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.models.roles import Cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.models.port import Role
    from secondlook.settings import Settings

SENTENCE_CHECK = "answer.enable_sentence_check"
SECOND_SEARCH = "adaptive.enable_adaptive_retrieval"
WEB = "web.enable_web_search"
_CALLED = {WEB: "web"}
"""Where the setting's own name would read badly."""
_NOT_FOR_QUESTIONS = frozenset({"summary"})
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

    Each flag that is on is switched off and each that is off switched on, one at a time. No two
    configurations come to the same.
    """
    plan = _Plan(settings)
    for name in dict.fromkeys(workflows):
        plan.add(name, {})
        for flag in workflow_named(name).flags:
            plan.try_out(name, flag)
    if set(workflows) - _NOT_FOR_QUESTIONS:
        for name, flags in _THREE:
            plan.add(name, flags)
    return list(plan.found.values()), plan.left_out()


def short_name(flag: str) -> str:
    """`adaptive.enable_adaptive_retrieval` as `adaptive retrieval`."""
    own = flag.partition(".")[2].removeprefix("enable_").replace("_", " ")
    return _CALLED.get(flag, own)


@dataclass(slots=True)
class _Plan:
    settings: Settings
    found: dict[object, Configuration] = field(default_factory=dict)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)

    def try_out(self, workflow: str, flag: str) -> None:
        self.add(workflow, {flag: not self._is_on(flag)})

    def add(self, workflow: str, wanted: Mapping[str, bool]) -> None:
        changes = {flag: on for flag, on in wanted.items() if on != self._is_on(flag)}
        reasons = {flag: self._why_not(workflow, flag, on=on) for flag, on in changes.items()}
        if any(reasons.values()):
            self.refused |= {(workflow, flag): why for flag, why in reasons.items() if why}
            return
        self.tried |= set(changes)
        read = workflow_named(workflow).flags
        comes_to = (workflow, tuple(changes.get(flag, self._is_on(flag)) for flag in read))
        self.found.setdefault(comes_to, _configuration(workflow, changes))

    def left_out(self) -> dict[str, str]:
        """By flag; with the workflow where another could try it."""
        return {
            f"{flag} of {workflow}" if flag in self.tried else flag: why
            for (workflow, flag), why in self.refused.items()
        }

    def _is_on(self, flag: str) -> bool:
        section, name = flag.split(".")
        return bool(getattr(getattr(self.settings, section), name))

    def _why_not(self, workflow: str, flag: str, *, on: bool) -> str | None:
        if flag == WEB and on:
            return no_web(self.settings)
        if flag == SENTENCE_CHECK and not _writes(self.settings, workflow):
            return (
                "without a model nothing is written that could be checked: an answer is a span "
                "of a passage (give one with --model)"
            )
        return None


def no_web(settings: Settings) -> str | None:
    """Why the web cannot be looked at, or must not be without being asked; None if it can."""
    web = settings.web
    if web.backend == "searxng":
        missing = "web.backend is 'searxng', but web.url does not say where the server is"
        return None if web.url else missing
    if find_spec("ddgs") is None:
        return "needs the package ddgs (pip install 'secondlook[web]') or a SearXNG server"
    if not web.enable_web_search:
        return (
            "would send the questions to DuckDuckGo: allow it with --web, or set web.backend "
            "and web.url to a SearXNG server of your own"
        )
    return None


def _writes(settings: Settings, workflow: str) -> bool:
    """Whether a model writes what the workflow answers."""
    role: Role = "summarise" if workflow in _NOT_FOR_QUESTIONS else "answer"
    return Cast(settings.models).part(role, workflow).spec.named


def _configuration(workflow: str, changes: Mapping[str, bool]) -> Configuration:
    off = [short_name(flag) for flag, on in changes.items() if not on]
    on = [short_name(flag) for flag, on in changes.items() if on]
    parts = [workflow]
    parts += [f"without {' and '.join(off)}"] if off else []
    parts += [f"with {' and '.join(on)}"] if on else []
    scalars: dict[str, Scalar] = dict(changes)
    about = ", ".join(f"{flag} {'on' if on else 'off'}" for flag, on in changes.items())
    return Configuration(" ".join(parts), workflow, scalars, about or "as configured")
