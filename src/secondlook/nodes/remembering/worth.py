"""Whether a research is worth remembering: answered, checked, sure, and whole."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from secondlook.errors import BudgetExceeded
from secondlook.nodes.researching.shown import standing
from secondlook.nodes.researching.weighing import Scale

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from secondlook.context import Context

_CUT_SHORT = frozenset({BudgetExceeded.__name__, "ModelTimeout", "ModelUnavailable"})
"""Troubles after which a research is not what it would have been."""


def why_not(state: Mapping[str, Any], context: Context) -> str | None:
    """The first reason against remembering a research; None where there is none."""
    if context.memory is None or not context.settings.research.enable_memory:
        return "nothing is stored, as the settings have it"
    return next((reason for check in _CHECKS if (reason := check(state, context))), None)


def _from_memory(state: Mapping[str, Any], _: Context) -> str | None:
    return "it comes from memory itself" if state.get("recalled") else None


def _unanswered(state: Mapping[str, Any], _: Context) -> str | None:
    draft = state["draft"]
    if draft["stop"] != "answered" or not draft["sentences"]:
        return f"there is no answer ({draft['stop']})"
    return f"the answer has a caveat: {draft['note']}" if draft["note"] else None


def _unfounded(state: Mapping[str, Any], _: Context) -> str | None:
    sentences = state["draft"]["sentences"]
    if not all(one["cited"] for one in sentences):
        return "a sentence cites nothing"
    if not all(one["supported"] for one in sentences):
        return "a sentence was not found to be supported by what it cites"
    return None


def _cut(state: Mapping[str, Any], _: Context) -> str | None:
    """Sentences of a step that stands were cut: the answer is partial."""
    cut = any(step["complaints"] for step in standing(state["plan"]))
    return "sentences were cut" if cut else None


def _unsure(state: Mapping[str, Any], context: Context) -> str | None:
    done = [step["confidence"] for step in state["plan"] if step["status"] == "completed"]
    if not done:
        return "no step was completed"
    if any(value is None for value in done):
        return "nobody could tell how sure a step is"
    mean, threshold = math.fsum(done) / len(done), Scale.of(context).threshold
    if mean < threshold:
        return f"its steps are not sure enough ({mean:.2f}, below {threshold:.2f})"
    return None


def _badly_chosen(state: Mapping[str, Any], _: Context) -> str | None:
    choice = state.get("choice")
    if choice and choice["letter"] is None:
        return "no option could be chosen on it"
    return "the choice is a guess" if choice and not choice["grounded"] else None


def _doubtful(state: Mapping[str, Any], _: Context) -> str | None:
    screen = state.get("screen")
    if screen and screen["verdict"] not in {"safe", "not screened"}:
        return "the question could not be screened"
    return None


def _broken_off(state: Mapping[str, Any], _: Context) -> str | None:
    for warning in state.get("warnings", []):
        if warning["error"] in _CUT_SHORT:
            return f"the run was cut short ({warning['error']} in {warning['node']})"
    return None


_CHECKS: tuple[Callable[[Mapping[str, Any], Context], str | None], ...] = (
    _from_memory,
    _unanswered,
    _broken_off,
    _unfounded,
    _cut,
    _unsure,
    _badly_chosen,
    _doubtful,
)
