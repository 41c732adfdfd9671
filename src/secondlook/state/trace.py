"""What a run did, in the order done, and what came of it."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Annotated, Any

from typing_extensions import TypedDict

from secondlook.answer import Route, Scalar, Step, Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping


class Trace(TypedDict):
    steps: Annotated[list[dict[str, Any]], operator.add]
    warnings: Annotated[list[dict[str, Any]], operator.add]


class Outcome(TypedDict):
    answer: dict[str, Any]


def step(
    node: str,
    said: str,
    counted: Mapping[str, Scalar] | None = None,
    /,
    *,
    route: tuple[str, str] | None = None,
    **numbers: Scalar,
) -> dict[str, Any]:
    """What a node did, for people and for the record. `route` is where it leads, and why."""
    way = Route(to=route[0], why=route[1]) if route else None
    rounded = {
        name: _rounded(value) if isinstance(value, float) else value
        for name, value in {**(counted or {}), **numbers}.items()
    }
    return Step(node=node, said=said, numbers=rounded, route=way).model_dump()


def _rounded(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def trouble(node: str, error: BaseException, consequence: str) -> dict[str, Any]:
    """What went wrong in a node, and what the run did about it."""
    message = " ".join(str(error).split())[:500] or type(error).__name__
    return Trouble(
        node=node, error=type(error).__name__, message=message, consequence=consequence
    ).model_dump()
