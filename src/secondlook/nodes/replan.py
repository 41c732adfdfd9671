"""Decides what a research looks into next: a next step, a failed one in other words, or nothing.

What a model is told of the steps so far is taken from their records (`planning.summary`). What it
proposes is checked: a question must stand by itself and be new. Where it fails, the research ends
with what there is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes.issues import Issues
from secondlook.nodes.planning.adopting import Adopted, adopted, with_searches
from secondlook.nodes.planning.by_code import is_in_parts, next_step, unasked
from secondlook.nodes.planning.by_model import Aim, next_proposed
from secondlook.nodes.planning.summary import records
from secondlook.nodes.researching.shown import failed, standing
from secondlook.state import Plan, Researched, StepData, Trace, pending, step, trouble

if TYPE_CHECKING:
    from secondlook.answer import Scalar
    from secondlook.nodes.planning.by_code import StepPlanned
    from secondlook.nodes.planning.by_model import Proposal

_NODE: Final = "replan"
Way = Literal["search_step", "aggregate"]


class ToReplan(Researched, Issues):
    """A research as it stands, and matters that may bear on it where there are some."""


class Replanning(Plan, Trace):
    route: str
    stopped: str


@dataclass(frozen=True, slots=True)
class _Decision:
    """The step to make next; without one, `why` the research ends here."""

    planned: StepPlanned | None
    why: str
    by: str = "code"
    retry_of: StepData | None = None
    refused: str | None = None
    numbers: dict[str, Scalar] = field(default_factory=dict)
    warnings: tuple[dict[str, Any], ...] = ()


async def replan(state: ToReplan, runtime: Runtime[Context]) -> Replanning:
    made = await _decided(runtime.context, state)
    way: Way = "search_step" if made.planned else "aggregate"
    new = [_pending(state, made.planned, made.retry_of)] if made.planned else []
    return {
        "plan": [*state["plan"], *new],
        "route": way,
        "stopped": "" if new else made.why,
        "steps": [_told(made, new, way)],
        "warnings": list(made.warnings),
    }


async def _decided(context: Context, state: ToReplan) -> _Decision:
    if why := _used_up(context, state):
        return _Decision(None, why)
    over = context.ledger.must_end(_NODE)
    if over and (standing(state["plan"]) or context.ledger.remaining_seconds(final=False) == 0):
        return _Decision(None, "the budget or the time ran out")
    # Where nothing stands yet, what is set aside still pays for one more try.
    if over or not context.models.serves("plan") or is_in_parts(state["plan"]):
        return await _by_code(context, state)
    aim = Aim(state["question"], tuple(state.get("issues") or ()))
    told = records(state["plan"], {item["id"]: item["title"] for item in state["found"]})
    try:
        proposal = await next_proposed(context, aim, told)
    except (ModelError, BudgetExceeded) as error:
        trouble_of = trouble(_NODE, error, "the research ended with what there was")
        return _Decision(None, "no model could say what is missing", warnings=(trouble_of,))
    if proposal.action == "complete":
        itself = unasked(state) if len(state["plan"]) == 1 else None
        why = "a model finds nothing missing" + (", the question itself is tried" if itself else "")
        return _Decision(itself, why, by="code" if itself else "a model")
    return await _adopted(context, state, proposal, aim, " ".join(told))


def _used_up(context: Context, state: ToReplan) -> str | None:
    """`evaluate` sees to the caps; nothing may get past them here either."""
    chosen = context.settings.research
    if len(standing(state["plan"])) >= chosen.max_steps:
        return f"{chosen.max_steps} steps are done, as many as may be"
    if max(len(state["plan"]), state.get("cycles", 0)) >= chosen.max_cycles:
        return f"{chosen.max_cycles} steps were tried, as many as may be"
    return None


async def _by_code(context: Context, state: ToReplan) -> _Decision:
    try:
        planned = await next_step(context, state)
    except Exception as error:  # noqa: BLE001 - a library that is gone costs this step, no more
        told = trouble(_NODE, error, "the research ended with what there was")
        return _Decision(None, "nothing could be looked up", warnings=(told,))
    return _Decision(planned, "what was found leads on" if planned else "nothing is left to ask")


async def _adopted(
    context: Context, state: ToReplan, proposal: Proposal, aim: Aim, told: str
) -> _Decision:
    """What a model proposes, or else what code knows to ask next."""
    made = await adopted(context, proposal, aim, earlier=state["plan"], known=told)
    again = _retried(state, proposal, made)
    if made.planned is None:
        return await _instead(context, state, made, aim)
    made = await with_searches(context, made, proposal, aim, scope=state["scope"], known=told)
    why = "a failed step in other words" if again else "something is still missing"
    return _Decision(made.planned, why, "a model", again, None, made.numbers, made.warnings)


async def _instead(context: Context, state: ToReplan, made: Adopted, aim: Aim) -> _Decision:
    """What code asks, where a model's question is refused: its searches belong to that one."""
    other = await _by_code(context, state)
    new = Adopted(other.planned, warnings=(*made.warnings, *other.warnings))
    new = await with_searches(context, new, None, aim, scope=state["scope"])
    why = f"{other.why}; the model's question was refused ({made.refused})"
    return _Decision(new.planned, why, "code", None, made.refused, new.numbers, new.warnings)


def _retried(state: ToReplan, proposal: Proposal, made: Adopted) -> StepData | None:
    """The failed step that is asked anew, whatever the model called it."""
    if made.planned is None:
        return None
    if made.repeats is not None:
        return next(one for one in state["plan"] if one["id"] == made.repeats)
    lost = failed(state["plan"])
    return lost[-1] if lost and proposal.action == "retry" else None


def _pending(state: ToReplan, planned: StepPlanned, again: StepData | None) -> StepData:
    return pending(
        len(state["plan"]) + 1,
        planned.question,
        phase=planned.phase,
        queries=planned.queries,
        retry_of=again["id"] if again else None,
        attempt=again["attempt"] + 1 if again else 1,
    )


def _told(made: _Decision, new: list[StepData], way: Way) -> dict[str, Any]:
    action = "complete" if not new else "retry" if new[0]["retry_of"] else "next_step"
    numbers: dict[str, Scalar] = {"action": action, "by": made.by, "refused": made.refused}
    if new:
        one = new[0]
        numbers |= {"step": one["id"], "phase": one["phase"], "question": one["question"]}
        numbers |= {"attempt": one["attempt"], "retry_of": one["retry_of"]}
        said = f"{'Again' if action == 'retry' else 'Next'}: {one['question']}"
    else:
        said = f"The research is complete: {made.why}."
    return step(_NODE, said, {**numbers, **made.numbers}, route=(way, made.why))
