"""Checks that a draft addresses the question, and has the search go on where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.checking.attempts import may_search_again, rewriting_may_help
from secondlook.nodes.checking.grounded import share_grounded
from secondlook.nodes.checking.useful import Usefulness, usefulness
from secondlook.nodes.claims import standing
from secondlook.state import (
    READER,
    Draft,
    Drafts,
    Evidence,
    JudgedDraft,
    Query,
    Readings,
    Searches,
    Trace,
    step,
)

if TYPE_CHECKING:
    from secondlook.state import DraftData

Way = Literal["rewrite", "settle"]
_NOTHING = Usefulness(0.0, is_useful=False)
"""No answer addresses no question."""


class ToWeigh(Query, Evidence, Searches, Readings, Draft, Drafts):
    """A draft, and what was tried for it."""


class Weighed(Trace):
    drafts: list[JudgedDraft]
    complaints: list[str]
    route: str


async def check_useful(state: ToWeigh, runtime: Runtime[Context]) -> Weighed:
    context, draft = runtime.context, state["draft"]
    # What the evidence does not carry does not count: it will be cut.
    text = " ".join(one["text"] for one in standing(draft["sentences"]))
    found = await usefulness(context, state["question"], text) if text else _NOTHING
    share, stands = share_grounded(draft, state.get("complaints", []), context.settings)
    judged = JudgedDraft(
        draft=draft,
        grounded=share,
        is_grounded=stands,
        useful=found.score,
        is_useful=found.is_useful,
    )
    way, why = _way(state, context, found)
    told = step(
        "check_useful",
        _said(found, draft),
        route=(way, why),
        useful=found.score,
        is_useful=found.is_useful,
        by="a model" if found.asked_model else "the reader",
    )
    return {
        "drafts": [judged],
        "complaints": [],
        "route": way,
        "steps": [told],
        "warnings": found.warnings,
    }


def _way(state: ToWeigh, context: Context, found: Usefulness) -> tuple[Way, str]:
    if found.is_useful is not False:
        return "settle", "nothing speaks against the draft"
    if not rewriting_may_help(state["draft"]):
        return "settle", "what was found has been weighed already"
    if not state["draft"]["sentences"] and _answers(state):
        return "settle", "a passage seems to answer it, whatever the model made of it"
    searches, stuck = state.get("searches", []), state.get("stuck", False)
    assumed = state.get("assumed")
    if not stuck and may_search_again(
        state["queries"], searches, context.settings, assumed=assumed
    ):
        return "rewrite", "another search may find more"
    return "settle", "no other search is allowed, or the last one brought nothing new"


def _answers(state: ToWeigh) -> bool:
    """Whether the reader sees an answer. A model that grades may say so of anything."""
    return any(
        item["grade"] == "answers" and item["graded_by"] == READER for item in state["found"]
    )


def _said(found: Usefulness, draft: DraftData) -> str:
    if not draft["sentences"]:
        return "There is no answer to the question yet."
    if found.is_useful is None:
        return "Nobody could tell whether the draft addresses the question."
    return f"The draft {'addresses' if found.is_useful else 'does not address'} the question."
