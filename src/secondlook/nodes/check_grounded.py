"""Checks a draft against its evidence, and has it written anew where it does not stand on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.checking.attempts import may_regenerate
from secondlook.nodes.checking.grounded import grounded, share_grounded
from secondlook.state import Draft, Drafts, JudgedDraft, Question, Trace, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.state import DraftData

Way = Literal["answer", "check_useful", "settle"]


class ToCheck(Question, Draft, Drafts):
    """A draft, and what was cut from it already."""


class Checked(Draft, Drafts, Trace):
    route: str


async def check_grounded(state: ToCheck, runtime: Runtime[Context]) -> Checked:
    context, regenerations = runtime.context, state.get("regenerations", 0)
    cut = state.get("complaints", [])
    made = await grounded(context, state["question"], state["draft"], cut)
    share, stands = share_grounded(made.draft, made.complaints, context.settings)
    again = stands is False and may_regenerate(context, made.draft, regenerations)
    way = _way(context, again=again)
    judged = JudgedDraft(
        draft=made.draft, grounded=share, is_grounded=stands, useful=None, is_useful=None
    )
    told = step(
        "check_grounded",
        _said(made.draft, made.complaints, again=again),
        {**made.numbers, "judge": context.settings.corrective.grounded_judge},
        route=(way, _why(stands=stands, again=again)),
        grounded=share,
        regenerations=regenerations,
    )
    return {
        "draft": made.draft,
        "drafts": [] if way == "check_useful" else [judged],
        # Where the draft is final, whoever writes another one later has nothing to answer to.
        "complaints": [] if way == "settle" else list(made.complaints),
        "regenerations": regenerations + again,
        "route": way,
        "steps": [told],
        "warnings": made.warnings,
    }


def _way(context: Context, *, again: bool) -> Way:
    if again:
        return "answer"
    return "check_useful" if context.settings.corrective.enable_useful_check else "settle"


def _why(*, stands: bool | None, again: bool) -> str:
    if stands is None:
        return "there is nothing to check"
    if stands:
        return "the draft stands on its evidence"
    rest = "it is written anew" if again else "it is not written anew"
    return f"the draft does not stand on its evidence, and {rest}"


def _said(draft: DraftData, complaints: Sequence[str], *, again: bool) -> str:
    if not complaints:
        count = len(draft["sentences"])
        return f"Every sentence stands on its evidence ({count})." if count else "Nothing to check."
    named = f"The evidence does not carry: {' | '.join(complaints)}"
    return f"{named} Asking for the answer anew." if again else named
