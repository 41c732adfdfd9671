"""An answer that was cut short says so: by which cap, and what would allow more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from secondlook.nodes.finish import WHY

if TYPE_CHECKING:
    from secondlook.answer import Answer, Status, StopReason
    from secondlook.errors import BudgetExceeded, Cap
    from secondlook.settings import BudgetSettings

_OVER: Final[frozenset[StopReason]] = frozenset({"budget", "deadline"})
_OPEN: Final[frozenset[StopReason]] = frozenset(
    {"answered", "low_confidence", "no_evidence", "attempts_exhausted", "no_progress"}
)
"""Ends that would perhaps have been others had more been allowed."""
_MORE: Final[dict[Cap, tuple[str, str]]] = {
    "calls": ("{:,g} model calls", "--max-calls"),
    "tokens": ("{:,g} tokens", "--max-tokens"),
    "money": ("{:,g} US dollars", "--max-cost"),
    "seconds": ("{:,g} seconds", "--timeout"),
}


def told_of_cut(answer: Answer, refusal: BudgetExceeded | None, budget: BudgetSettings) -> Answer:
    """The answer, which says where a cap has cut it short and what to do about it."""
    if answer.stop_reason in _OVER:
        cap = refusal.cap if refusal else "seconds"
        return _noted(answer, note(cap, refusal, budget))
    if refusal is None or answer.stop_reason not in _OPEN:
        return answer
    if not answer.claims and not answer.passages and answer.analysis is None:
        return answer  # there was nothing to ask a model about
    said = note(refusal.cap, refusal, budget)
    if answer.claims:
        status: Status = "partial"
        update = {"status": status, "stop_reason": refusal.reason}
        return _noted(answer.model_copy(update=update), said)
    text = f"No answer: {WHY[refusal.reason]}. {said}\n\n{answer.text}"
    return answer.model_copy(
        update={"status": "failed", "stop_reason": refusal.reason, "text": text}
    )


def note(cap: Cap, refusal: BudgetExceeded | None, budget: BudgetSettings) -> str:
    if cap == "price" and refusal is not None:
        why = refusal.message.partition(": ")[2]
        return f"(Cut short: {why}. To allow more, {refusal.hint}.)"
    most, flag = _MORE[cap]
    most = most.format(getattr(budget, cap))
    return f"(Cut short: a question may take {most}. To allow more: {flag} or budget.{cap}.)"


def _noted(answer: Answer, said: str) -> Answer:
    if said in answer.text:
        return answer
    return answer.model_copy(update={"text": f"{answer.text}\n\n{said}"})
