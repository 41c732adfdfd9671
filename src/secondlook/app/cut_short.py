"""An answer that was cut short says so: by which cap, and what would allow more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from secondlook.nodes.cutting_short import cut_short_by
from secondlook.nodes.finish import WHY

if TYPE_CHECKING:
    from secondlook.answer import Answer, StopReason
    from secondlook.errors import BudgetExceeded
    from secondlook.settings import BudgetSettings

_OVER: Final[frozenset[StopReason]] = frozenset({"budget", "deadline"})
_OPEN: Final[frozenset[StopReason]] = frozenset(
    {"answered", "low_confidence", "no_evidence", "attempts_exhausted", "no_progress"}
)
"""Ends that would perhaps have been others had more been allowed."""


def told_of_cut(answer: Answer, refusal: BudgetExceeded | None, budget: BudgetSettings) -> Answer:
    """The answer, which says where a cap has cut it short and what to do about it."""
    cap = refusal.cap if refusal else None
    if answer.stop_reason in _OVER:
        return _noted(answer, cut_short_by(cap or "seconds", budget))
    if cap is None or answer.stop_reason not in _OPEN:
        return answer
    if not answer.claims and not answer.passages and answer.analysis is None:
        return answer  # there was nothing to ask a model about
    reason: StopReason = "deadline" if cap == "seconds" else "budget"
    said = cut_short_by(cap, budget)
    if answer.claims:
        return _noted(answer.model_copy(update={"status": "partial", "stop_reason": reason}), said)
    text = f"No answer: {WHY[reason]}. {answer.text}"
    update = {"status": "failed", "stop_reason": reason, "text": text}
    return _noted(answer.model_copy(update=update), said)


def _noted(answer: Answer, said: str) -> Answer:
    return answer.model_copy(update={"text": f"{answer.text}\n\n{said}"})
