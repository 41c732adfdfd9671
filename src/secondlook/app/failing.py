"""What becomes of a run that cannot go on: an answer that says so, with what was found so far."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, cast

from secondlook.answer import Answer
from secondlook.errors import BudgetExceeded, ModelUnavailable, SecondlookError
from secondlook.nodes.call import within
from secondlook.nodes.extract import withheld
from secondlook.nodes.finish import assembled
from secondlook.nodes.finish_auto import put_together
from secondlook.nodes.settle import best_of, cut
from secondlook.state import Finishing, trouble

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import StopReason
    from secondlook.app.running import Watched
    from secondlook.context import Context
    from secondlook.state import DraftData, Scope, StepData

log = logging.getLogger(__name__)
_SECONDS_TO_TELL = 2.0
"""To look up what stands behind the best answer so far."""


async def failed(watched: Watched, error: Exception, scope: Scope) -> Answer:
    """Where a workflow was called by another, what it had found; and what was called before it."""
    context, state, outer = watched.context, watched.state, watched.state
    if watched.called is not None:
        name, state = watched.called
        context = within(context, name)
    answer = await _failed(context, state, error, scope)
    if not outer.get("answers"):
        return answer
    done = [Answer.model_validate(one) for one in outer["answers"]]
    whole = put_together(
        outer["question"],
        watched.context.workflow,
        outer["calls"],
        [*done, answer][: len(outer["calls"])],
        both=outer["both"],
    )
    return whole.model_copy(update={"warnings": (*whole.warnings, *answer.warnings)})


async def _failed(
    context: Context, state: Mapping[str, Any], error: Exception, scope: Scope
) -> Answer:
    if not isinstance(error, SecondlookError | TimeoutError):
        log.error("a run failed", exc_info=error)
    whole: Finishing = {
        "question": state.get("question", context.question),
        "scope": scope,
        "queries": state.get("queries", [context.question]),
        "found": state.get("found", []),
        "steps": [],
        "warnings": [
            *state.get("warnings", []),
            trouble("run", error, "the run ended without an answer"),
        ],
        "draft": {**withheld(stop_reason(error)), "note": _note(error)},
    }
    if best := _best_so_far(state, error):
        # What broke the run may break its evidence too: then there is nothing to show for it.
        # And who is late already waits no longer for a library that does not come back.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_SECONDS_TO_TELL):
                return await _told(context, state, {**whole, "draft": best})
    return await _told(context, state, whole)


async def _told(context: Context, state: Mapping[str, Any], whole: Finishing) -> Answer:
    """A research that was cut short tells of its steps too."""
    if "remedies" in state:
        from secondlook.nodes.finish_analysis import Analysing, analysed

        return await analysed(cast("Analysing", {**state, **whole}), context)
    if "plan" not in state:
        return await assembled(whole, context)
    from secondlook.nodes.finish_research import Reported, researched

    return await researched(cast("Reported", {**state, **whole}), context)


def _best_so_far(state: Mapping[str, Any], error: Exception) -> DraftData | None:
    """What stood already when the run had to stop."""
    draft = _standing(state)
    if draft is None or not draft["sentences"]:
        return None
    note = "(The run stopped before this was finished.)"
    return {**draft, "stop": stop_reason(error), "note": note}


def _standing(state: Mapping[str, Any]) -> DraftData | None:
    if "plan" in state:
        return _researched(state["plan"])
    best = best_of(state.get("drafts", []))
    return None if best is None else cut(best)


def _researched(plan: Sequence[StepData]) -> DraftData | None:
    """What the steps came to that were done. Imported when used: few runs are a research."""
    from secondlook.nodes.aggregate import together
    from secondlook.nodes.researching.shown import standing

    done = standing(plan)
    return together(done) if done else None


def stop_reason(error: BaseException) -> StopReason:
    if isinstance(error, BudgetExceeded):
        return error.reason
    if isinstance(error, asyncio.TimeoutError):
        return "deadline"
    return "model_unavailable" if isinstance(error, ModelUnavailable) else "error"


def _note(error: BaseException) -> str | None:
    if isinstance(error, SecondlookError):
        return f"{error.message}; {error.hint}" if error.hint else error.message
    if isinstance(error, TimeoutError):
        return None
    return f"{type(error).__name__}: {error}"
