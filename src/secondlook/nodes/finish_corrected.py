"""Puts the answer of a run that corrected itself together, with all that it tells of the tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.answer import Check
from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.checking.attempts import rewrites
from secondlook.nodes.finish import Finished, assembled, finished
from secondlook.nodes.parts.telling import answer_parts
from secondlook.state import Drafts, Finishing, Parts, Readings, Settled

if TYPE_CHECKING:
    from secondlook.state import JudgedDraft


class Corrected(Finishing, Drafts, Settled, Parts, Readings):
    """All that goes into such an answer."""


async def finish_corrected(state: Corrected, runtime: Runtime[Context]) -> Finished:
    plain = await assembled(state, runtime.context)
    judged = state.get("settled") if plain.claims else None
    return finished(
        plain.model_copy(
            update={
                "useful": _useful(judged),
                "attempts": 1 + rewrites(state["queries"], state.get("assumed")),
                "regenerations": state.get("regenerations", 0),
                "needs_review": state.get("needs_review", False),
                "parts": answer_parts(state.get("parts", []), plain.citations),
                "assumed": state.get("assumed"),
                "asks_back": state.get("asks_back"),
            }
        )
    )


def _useful(judged: JudgedDraft | None) -> Check:
    if judged is None or judged["is_useful"] is None:
        return Check()
    return Check(value="yes" if judged["is_useful"] else "no", score=judged["useful"])
