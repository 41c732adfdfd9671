"""Who plays which role, and with what options: `models.default`, `models.roles`, `models.options`.

The most particular wins: `workflow.role`, then `role`, then the default.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from secondlook.errors import SettingsError
from secondlook.models.port import OutputMode, Role
from secondlook.models.specs import ModelSpec, parse_spec
from secondlook.settings.mistakes import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.settings import ModelSettings

ROLES: tuple[Role, ...] = get_args(Role)
_MODES: tuple[OutputMode, ...] = ("json_schema", "tool", "prompted")
_HOTTEST = 2.0


@dataclass(frozen=True, slots=True)
class RoleOptions:
    """How a model is asked in one role. Every role is asked at temperature 0 unless told."""

    temperature: float = 0.0
    max_tokens: int | None = None
    """Tokens of a reply, instead of what the step asks for."""
    seed: int | None = None
    timeout: float | None = None
    context_tokens: int | None = None
    mode: OutputMode | None = None
    """How a reply is given its form, instead of what was probed."""


@dataclass(frozen=True, slots=True)
class Part:
    """One role as it is cast."""

    role: Role
    spec: ModelSpec
    options: RoleOptions


class Cast:
    """The roles of one process. Made once, so that a mistake in any of them shows at once."""

    def __init__(self, settings: ModelSettings) -> None:
        self._default = parse_spec(settings.default)
        self._specs = dict(map(_role_line, settings.roles))
        self._options: dict[str, dict[str, Any]] = {}
        for line in settings.options:
            target, name, value = _option_line(line)
            self._options.setdefault(target, {})[name] = value

    def part(self, role: Role, workflow: str = "") -> Part:
        names = [f"{workflow}.{role}", role]
        spec = next((self._specs[name] for name in names if name in self._specs), self._default)
        options = RoleOptions()
        for name in reversed(names):
            options = replace(options, **self._options.get(name, {}))
        return Part(role, spec, options)

    def specs(self) -> tuple[ModelSpec, ...]:
        """Every model that some role is served by."""
        return (self._default, *self._specs.values())

    @property
    def own(self) -> tuple[str, ...]:
        """The roles, and roles of workflows, that have a model of their own."""
        return tuple(self._specs)


def _role_line(line: str) -> tuple[str, ModelSpec]:
    target, equals, spec = line.partition("=")
    if not equals:
        raise SettingsError(
            f"models.roles: {line!r} is not of the form role=provider:model",
            hint='For example: roles = ["grade=ollama:qwen2.5", "research.plan=openai:gpt-4o"].',
        )
    return _target(target, line), parse_spec(spec, place=f"models.roles, {target.strip()}")


def _target(target: str, line: str) -> str:
    """`role` or `workflow.role`, checked."""
    workflow, _, role = target.strip().rpartition(".")
    if role not in ROLES or "." in workflow:
        close = nearest(role, ROLES)
        meant = f"Did you mean {close!r}? " if close else ""
        raise SettingsError(
            f"models: {line!r} names no role that is known ({role!r})",
            hint=f"{meant}Roles: {', '.join(ROLES)}.",
        )
    return target.strip()


def _option_line(line: str) -> tuple[str, str, Any]:
    left, equals, text = line.partition("=")
    target, dot, name = left.strip().rpartition(".")
    if not equals or not dot:
        raise SettingsError(
            f"models.options: {line!r} is not of the form role.option=value",
            hint='For example: options = ["answer.temperature=0.3", "answer.max_tokens=800"].',
        )
    if name not in _READERS:
        close = nearest(name, _READERS)
        meant = f"Did you mean {close!r}? " if close else ""
        raise SettingsError(
            f"models.options: {line!r} names no option that is known ({name!r})",
            hint=f"{meant}Options: {', '.join(_READERS)}.",
        )
    return _target(target, line), name, _value(name, text.strip(), line)


def _value(name: str, text: str, line: str) -> Any:
    read, allowed = _READERS[name]
    try:
        return read(text)
    except ValueError as wrong:
        raise SettingsError(f"models.options: {line!r}: {name} must be {allowed}") from wrong


def _temperature(text: str) -> float:
    value = float(text)
    if not 0 <= value <= _HOTTEST:
        raise ValueError(text)
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(text)
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _mode(text: str) -> OutputMode:
    if text not in _MODES:
        raise ValueError(text)
    return text


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "temperature": (_temperature, "a number from 0 to 2"),
    "max_tokens": (_positive, "a whole number above 0"),
    "seed": (int, "a whole number"),
    "timeout": (_seconds, "a number of seconds above 0"),
    "context_tokens": (_positive, "a whole number above 0"),
    "mode": (_mode, "one of json_schema, tool, prompted"),
}
