"""From how often a run visits each node at most: how many questions it puts to models, and how many
calls that can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from secondlook.settings import Settings

_MODES = 3
"""Ways to demand a form of a reply: by a schema, by a tool, in words."""


def asked_over(visits: Mapping[str, int], asked_at: Callable[[str], int]) -> int:
    """Questions to models, where a visit of a node puts so many. A prompt that a model cannot see
    as a whole is not counted: half of it is asked in its place."""
    return sum(count * asked_at(node) for node, count in visits.items())


def calls_for(asked: int, settings: Settings) -> int:
    """A question is put once more where its reply cannot be used, in each way that there is to
    demand a form, and again where the model is away."""
    return asked * 2 * _MODES * (1 + settings.models.retries)
