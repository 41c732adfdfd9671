"""Keeps research for the next time that the question is asked. Only what was found, was checked and
is sure: never a choice, a guess, or what a budget cut short."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations
from typing_extensions import TypedDict

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import SecondlookError
from secondlook.nodes.remembering.entries import (
    as_they_are,
    asking_of,
    cited_passages,
    remembered,
)
from secondlook.nodes.remembering.worth import why_not
from secondlook.state import (
    Choices,
    Chosen,
    Draft,
    Recall,
    Researched,
    Screened,
    Trace,
    step,
    trouble,
)

if TYPE_CHECKING:
    from typing import Any

    from secondlook.memory.answers import AnswerMemory


class ToRemember(Researched, Choices, Draft, Recall, Chosen, Screened, Trace):
    """A finished research, and what is known against it."""


class Remembered(TypedDict):
    remembered: bool


class Kept(Remembered, Trace):
    pass


async def remember(state: ToRemember, runtime: Runtime[Context]) -> Kept:
    context = runtime.context
    reason = why_not(state, context)
    if reason is not None or context.memory is None:
        return _told(kept=False, why=reason or "nothing is stored")
    try:
        lost = await asyncio.to_thread(_put, context, context.memory, state)
    except (SecondlookError, OSError) as error:
        told = _told(kept=False, why="the memory could not be written")
        told["warnings"].append(trouble("remember", error, "the research is not remembered"))
        return told
    return _told(kept=not lost, why=lost or "the same question is answered from memory")


def _put(context: Context, memory: AnswerMemory, state: ToRemember) -> str | None:
    """Why it was not done; None where it was."""
    wanted = cited_passages(state["draft"], state["plan"])
    cited = as_they_are(context, wanted)
    if len(cited) < len(wanted):
        return "a passage that it cites is gone by now, or is not of the library"
    memory.put(
        state["question"],
        context.shelf.vectors([state["question"]])[0],
        asking=asking_of(context, state["scope"], state.get("choices", {})),
        run=context.run,
        created=context.created,
        cited=cited,
        research=remembered(state, wanted),
    )
    return None


def _told(*, kept: bool, why: str) -> Kept:
    said = f"The research is {'remembered' if kept else 'not remembered'}: {why}."
    told: dict[str, Any] = step("remember", said, remembered=kept, why=why)
    return {"remembered": kept, "steps": [told], "warnings": []}
