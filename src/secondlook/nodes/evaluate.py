"""Judges the step that was just made, and decides whether the research goes on. Asks no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.researching.shown import failed, standing
from secondlook.nodes.researching.weighing import Scale, stagnates
from secondlook.state import Cycles, Kind, Plan, Researched, StepData, Trace, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import QueryType

Way = Literal["replan", "aggregate"]


class Evaluated(Plan, Kind, Cycles, Trace):
    route: str


async def evaluate(state: Researched, runtime: Runtime[Context]) -> Evaluated:
    context, cycles = runtime.context, state.get("cycles", 0) + 1
    scale = Scale.of(context)
    judged = _judged(state["plan"][-1], scale)
    plan = [*state["plan"][:-1], judged]
    escalates = bool(state["found"]) and _escalates(context, state, judged)
    why = None if escalates else _enough(context, state, plan, cycles, scale)
    way: Way = "aggregate" if why else "replan"
    onward = "its only step failed" if escalates else "there may be more to find out"
    return {
        "plan": plan,
        "cycles": cycles,
        "stopped": why or "",
        "query_type": "multi_hop" if escalates else _kind(state),
        "classified_by": state.get("classified_by", "nobody"),
        "escalated": escalates or state.get("escalated", False),
        "route": way,
        "steps": [_told(judged, plan, scale, (way, why or onward))],
        "warnings": [],
    }


def _judged(done: StepData, scale: Scale) -> StepData:
    """A step without findings has failed, whatever its passages looked like. One whose reader
    quotes passages and is sure of no answer in them is weak at best."""
    draft = done["draft"]
    if draft is None or not draft["sentences"]:
        return {**done, "status": "failed"}
    status = scale.status(done["confidence"])
    unsure = draft["method"] == "extractive" and draft["short"] is None
    return {**done, "status": "weak" if unsure and status == "completed" else status}


def _kind(state: Researched) -> QueryType:
    """Where nobody has classified it, a question may take several steps."""
    return state.get("query_type", "multi_hop")


def _escalates(context: Context, state: Researched, judged: StepData) -> bool:
    """Whether what was taken for simple goes on in several steps."""
    chosen = context.settings.research
    return (
        _kind(state) == "simple"
        and judged["status"] == "failed"
        and chosen.enable_escalation
        and chosen.enable_replanning
        and not state.get("escalated", False)
        and chosen.max_cycles > 1
    )


def _enough(
    context: Context, state: Researched, plan: Sequence[StepData], cycles: int, scale: Scale
) -> str | None:
    """Why there is no further step; None where there may be one."""
    chosen = context.settings.research
    if not state["found"]:
        return "there is nothing to be found"
    if _kind(state) == "simple":
        return "a simple question takes one step"
    if not chosen.enable_replanning:
        return "planning on is switched off"
    if len(standing(plan)) >= chosen.max_steps:
        return f"{len(standing(plan))} steps are done, as many as may be"
    if cycles >= chosen.max_cycles:
        return f"{cycles} steps were tried, as many as may be"
    return stagnates(plan, scale.noise) if chosen.enable_stagnation else None


def _told(
    judged: StepData, plan: Sequence[StepData], scale: Scale, route: tuple[str, str]
) -> dict[str, Any]:
    done, lost = len(standing(plan)), len(failed(plan))
    said = f"Step {judged['id']} ({judged['phase']}) is {judged['status']}: {done} of {len(plan)}"
    return step(
        "evaluate",
        f"{said} {'stands' if done == 1 else 'stand'}, {lost} failed.",
        route=route,
        step=judged["id"],
        phase=judged["phase"],
        question=judged["question"],
        status=judged["status"],
        confidence=judged["confidence"],
        threshold=scale.threshold,
        attempt=judged["attempt"],
        model=judged["draft"]["model"] if judged["draft"] else None,
        completed=sum(one["status"] == "completed" for one in plan),
        weak=sum(one["status"] == "weak" for one in plan),
        failed=lost,
    )
