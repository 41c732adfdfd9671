"""Looks at the question and at what the library holds, and decides who answers. Asks no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import UsageError
from secondlook.nodes.considering import decided
from secondlook.nodes.considering.deciding import SUMMARY
from secondlook.state import Calls, Question, Trace, step, trouble

if TYPE_CHECKING:
    from secondlook.nodes.considering.deciding import Decision


class Considered(Calls, Trace):
    pass


async def consider(state: Question, runtime: Runtime[Context]) -> Considered:
    decision = await decided(state, runtime)
    return {
        "calls": list(decision.calls),
        "answers": [],
        "both": decision.both,
        "steps": [_told(decision)],
        "warnings": _about_risk(runtime.context, decision),
    }


def _told(decision: Decision) -> dict[str, Any]:
    first = decision.calls[0]
    numbers = {
        name: value
        for name, value in (
            ("likely_documents", decision.likely_documents),
            ("likely_tables", decision.likely_tables),
        )
        if value is not None
    }
    why = _why(decision)
    return step("consider", why, numbers, calls=len(decision.calls), route=(first["workflow"], why))


def _why(decision: Decision) -> str:
    if decision.both:
        used = " and ".join(call["workflow"] for call in decision.calls)
        return f"It needs documents and a table, so Secondlook used {used}."
    (call,) = decision.calls
    return f"{call['why']}, so Secondlook used {call['workflow']}."


def _about_risk(context: Context, decision: Decision) -> list[dict[str, Any]]:
    """A summary is no answer that is right or wrong: what was asked for does not apply to it."""
    if context.settings.answer.max_risk is None or decision.calls[0]["workflow"] != SUMMARY:
        return []
    return [summed_up_without_risk()]


def summed_up_without_risk() -> dict[str, Any]:
    return trouble(
        "summarise",
        UsageError("max_risk is about answers to questions"),
        "the summary comes without a bound on its risk",
    )
