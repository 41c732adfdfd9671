"""How sure a result is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.context import Context
    from secondlook.state import Analysed


def confidence(context: Context, state: Analysed) -> tuple[float | None, list[str]]:  # noqa: ARG001
    """The probability that it is right, and what speaks for and against."""
    reasons = []
    if state["resolved"]:
        worst = min(state["resolved"], key=lambda one: one["score"])
        reasons.append(
            f"{worst['asked']!r} was taken for {worst['column']!r} ({worst['score']:.2f})"
        )
    passed = sum(one["passed"] for one in state["checks"])
    if state["checks"]:
        reasons.append(f"{passed} of {len(state['checks'])} checks passed")
    if len(state["attempts"]) > 1:
        reasons.append(f"code was written {len(state['attempts'])} times")
    return None, reasons
