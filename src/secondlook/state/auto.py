"""A question on its way to the workflow that suits it: who is called, and what came back."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from secondlook.answer import EvidenceKind  # noqa: TC001  # langgraph reads annotations
from secondlook.state.evidence import Scope  # noqa: TC001


class CallData(TypedDict):
    """One call of another workflow."""

    workflow: str
    question: str
    """The whole question, or the part of it that this workflow is asked."""
    scope: Scope
    kind: EvidenceKind
    """What the answer is expected to rest on."""
    why: str


class Calls(TypedDict):
    calls: list[CallData]
    """In the order made; the first `len(answers)` of them are done."""
    answers: list[dict[str, Any]]
    """What each came to, as an `Answer`."""
    both: bool
    """Whether they are parts of one question; else a later one is a second try."""


def next_call(state: Calls) -> CallData | None:
    """The call that is to be made; None where all are done."""
    done = len(state["answers"])
    return state["calls"][done] if done < len(state["calls"]) else None
