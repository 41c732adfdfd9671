"""Which configurations an ablation tries: every step of a workflow that can be switched, alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from secondlook.evaluation.ablation_needs import (
    NOT_FOR_QUESTIONS,
    OVER_TABLES,
    VARIANTS,
    WEB,
    why_not,
)
from secondlook.evaluation.records import Configuration
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.settings import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.settings import Settings

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
    own = flag.partition(".")[2].removeprefix("enable_").replace("_", " ")
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
        section, name = key.split(".")
        value: bool | str = getattr(getattr(self.settings, section), name)
        return value

    def _why_not(self, workflow: str, key: str, to: bool | str) -> str | None:  # noqa: FBT001
        return why_not(self.settings, workflow, key, to, set_to=self._set_to)


def choices(key: str) -> tuple[str, ...]:
    """The values that a setting can have."""
    section, name = key.split(".")
    return get_args(SECTIONS[section].model_fields[name].annotation)


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
