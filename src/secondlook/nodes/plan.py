"""Plans the first step of a research: by a model, or by the form of the question. One step, however
many a model would like: what comes after it depends on what it finds."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes.issues import Issues
from secondlook.nodes.planning.adopting import UNNAMED, Adopted, adopted, with_searches
from secondlook.nodes.planning.by_code import StepPlanned, first_step, joined_parts
from secondlook.nodes.planning.by_model import Aim, first_proposed, is_merged
from secondlook.nodes.planning.questions import tidy_phase
from secondlook.nodes.rewriting.wording import word_count
from secondlook.state import Cycles, Kind, Plan, Question, Trace, pending, step, trouble

if TYPE_CHECKING:
    from secondlook.nodes.planning.by_model import Proposal

_NODE: Final = "plan"
_PLAIN: Final = 25
"""Words up to which a simple question is its own step: nobody says better what it asks."""


class ToPlan(Question, Kind, Issues):
    """A question, how it was classified, and matters that may bear on it where there are some."""


class Planning(Plan, Cycles, Trace):
    pass


async def plan(state: ToPlan, runtime: Runtime[Context]) -> Planning:
    context = runtime.context
    empty = context.models.serves("plan") and await asyncio.to_thread(_is_empty, context)
    made = await _by_model(context, state) if _asks(context, state) and not empty else None
    planned = (made.planned if made else None) or _by_code(state)
    if empty:  # nor is a model asked for words to search with where there is nothing
        planned = replace(planned, queries=(planned.question,))
    first = pending(1, planned.question, phase=planned.phase, queries=planned.queries)
    by = "a model" if made and made.planned and made.refused is None else "code"
    told = step(
        _NODE,
        f"First: {planned.question}",
        made.numbers if made else {},
        step=1,
        phase=planned.phase,
        question=planned.question,
        by=by,
        refused=made.refused if made else None,
    )
    warnings = list(made.warnings) if made else []
    return {"plan": [first], "cycles": 0, "stopped": "", "steps": [told], "warnings": warnings}


def _is_plain(state: ToPlan) -> bool:
    return state.get("query_type") == "simple" and word_count(state["question"]) <= _PLAIN


def _asks(context: Context, state: ToPlan) -> bool:
    """Whether a model has something to say: a plain question only lacks its searches, and those
    have a call of their own where calls are separate. Questions that are only joined need none."""
    if not context.models.serves("plan"):
        return False
    return not _is_joined(state) if is_merged(context) else not _is_plain(state)


def _is_joined(state: ToPlan) -> bool:
    return state.get("query_type") != "simple" and bool(joined_parts(state["question"]))


def _is_empty(context: Context) -> bool:
    """Whether there is nothing to search: then no call is spent on how."""
    try:
        return not any(context.shelf.size())
    except Exception:  # noqa: BLE001 - the search will say what is wrong with the library
        return False


def _by_code(state: ToPlan) -> StepPlanned:
    return first_step(state["question"], state.get("query_type", "multi_hop"))


async def _by_model(context: Context, state: ToPlan) -> Adopted:
    aim = Aim(state["question"], tuple(state.get("issues") or ()))
    try:
        proposal = await first_proposed(context, aim)
    except (ModelError, BudgetExceeded) as error:
        told = trouble(_NODE, error, "the first step was planned by code")
        made = Adopted(_by_code(state), "no reply", warnings=(told,))
        return await with_searches(context, made, None, aim, scope=state["scope"])
    if _is_plain(state):
        phase = tidy_phase(proposal.phase, otherwise=UNNAMED)
        made = Adopted(StepPlanned(state["question"], phase))
    else:
        made = await _adopted(context, state, proposal, aim)
    return await with_searches(context, made, proposal, aim, scope=state["scope"])


async def _adopted(context: Context, state: ToPlan, proposal: Proposal, aim: Aim) -> Adopted:
    made = await adopted(context, proposal, aim)
    return made if made.planned else replace(made, planned=_by_code(state))
