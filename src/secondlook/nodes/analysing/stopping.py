"""What a person is told where no result could stand: what was tried, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.nodes.write_code import SAME, STOPPED

if TYPE_CHECKING:
    from secondlook.answer import StopReason
    from secondlook.context import Context
    from secondlook.state import Analysed, AttemptData

_TRIES = {1: "once", 2: "twice", 3: "three times"}


def given_up(context: Context, state: Analysed) -> tuple[StopReason, str | None]:
    """Why it ended, and what to ask the person."""
    last = state["attempts"][-1] if state["attempts"] else None
    if last is not None and last["status"] == STOPPED:
        return _stopped(context, last), None
    if context.ledger.refusal is not None:
        return context.ledger.refusal.reason, None
    if state["remedies"] and state["remedies"][-1]["action"] == "cannot_proceed":
        return "cannot_proceed", _question_back(state)
    if last is not None and last["error"] == SAME:
        return "no_progress", _question_back(state)
    return "attempts_exhausted", _question_back(state)


def _stopped(context: Context, last: AttemptData) -> StopReason:
    if not context.models.serves("code"):
        return "model_unavailable"
    return last.get("stop", "cannot_proceed")


def tried(state: Analysed) -> str:
    """An honest account."""
    last = state["attempts"][-1] if state["attempts"] else None
    if last is not None and last["status"] == STOPPED:
        return last["error"] or "Nothing could be run."
    parts = []
    codes = [one for one in state["attempts"] if one["code"]]
    if state["reading"]:
        parts.append(f"It was read as: {state['reading']}.")
    elif codes:
        count = len(codes)
        parts.append(f"Code was written {_TRIES.get(count, f'{count} times')}.")
    if state["issues"]:
        told = "; ".join(issue.rstrip(".") for issue in state["issues"])
        parts.append(f"The last result could not stand: {told}.")
    if state["remedies"]:
        causes = list(dict.fromkeys(one["cause"] for one in state["remedies"]))
        parts.append(f"Tried to mend: {'; '.join(causes)}.")
    return " ".join(parts)


def _question_back(state: Analysed) -> str:
    """One that whoever asked can answer. A model's guidance may be one already."""
    guidance = next((one["guidance"] for one in reversed(state["remedies"])), "")
    if guidance.rstrip().endswith("?"):
        return guidance.strip()
    columns = ", ".join(dict.fromkeys(one["column"] for one in state["resolved"]))
    if columns:
        return f"Which figure do you want to know of {columns}, and over which rows?"
    return "Which column holds what you want to know, and which figure of it do you need?"
