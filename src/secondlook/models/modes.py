"""The ways to get an object out of a model, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.models.port import OutputMode
    from secondlook.models.specs import ModelSpec

_LADDER: tuple[OutputMode, ...] = ("json_schema", "tool", "prompted")
_GRAMMAR: tuple[OutputMode, ...] = ("json_schema", "prompted")
"""Of models that are decoded here under a grammar: a tool call would add nothing."""


def ladder(spec: ModelSpec) -> tuple[OutputMode, ...]:
    return _GRAMMAR if spec.provider == "gguf" else _LADDER
