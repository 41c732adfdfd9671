"""Looks whether the question was researched before, and takes up what was found.

Used only where both questions ask the same (`remembering.same_question`) and every passage that the
earlier answer cites still says what it said. An entry with one that does not is forgotten.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.answer import QueryType  # noqa: TC001
from secondlook.context import Context  # noqa: TC001
from secondlook.errors import SecondlookError
from secondlook.nodes.remembering.entries import KEPT, as_they_are, asking_of, is_readable
from secondlook.nodes.remembering.sameness import same_question
from secondlook.state import (
    Choices,
    DraftData,
    Found,
    Question,
    RecalledData,
    StepData,
    Trace,
    step,
    trouble,
)

if TYPE_CHECKING:
    from secondlook.memory.answers import Alike, AnswerMemory, Entry

Way = Literal["hit", "miss"]
AFRESH = "--fresh asks afresh"
_MOST_QUOTED = 200


class ToRecall(Question, Choices):
    """A question; its choices tell whether they shaped the research, and go no further."""


class Recollection(Trace):
    recalled: RecalledData | None
    route: str
    plan: NotRequired[list[StepData]]
    found: NotRequired[list[Found]]
    draft: NotRequired[DraftData]
    query_type: NotRequired[QueryType]
    classified_by: NotRequired[str]
    escalated: NotRequired[bool]
    cycles: NotRequired[int]
    stopped: NotRequired[str]


@dataclass(slots=True)
class _Search:
    """What looking into the memory came to."""

    looked_at: int = 0
    nearest: float | None = None
    forgotten: int = 0
    why: str = "nothing like it is remembered"
    hit: Alike | None = None


async def recall(state: ToRecall, runtime: Runtime[Context]) -> Recollection:
    context = runtime.context
    research = context.settings.research
    if context.memory is None or not (research.enable_memory and research.enable_recall):
        return _missed(_Search(why="nothing is recalled, as the settings have it"), [])
    try:
        found = await asyncio.to_thread(_searched, context, context.memory, state)
    except (SecondlookError, OSError) as error:
        told = trouble("recall", error, "the question is researched afresh")
        return _missed(_Search(why="the memory could not be read"), [told])
    return _missed(found, []) if found.hit is None else _taken_up(found, found.hit)


def _searched(context: Context, memory: AnswerMemory, state: ToRecall) -> _Search:
    question = state["question"]
    vector = context.shelf.vectors([question])[0]
    asking = asking_of(context, state["scope"], state.get("choices", {}))
    found = _Search()
    for alike in memory.find(vector, asking=asking):
        if alike.entry.run == context.run:  # taken up again, a run does not recall itself
            continue
        found.looked_at += 1
        found.nearest = found.nearest or alike.similarity
        verdict = same_question(question, alike.entry.question, alike.similarity, context.settings)
        if found.looked_at == 1 or verdict.same:
            found.why = verdict.why
        if not verdict.same:
            continue
        if _still_holds(context, alike.entry):
            found.hit = alike
            return found
        memory.forget([alike.entry.id])
        found.forgotten += 1
        found.why = "what it rested on has changed since"
    return found


def _still_holds(context: Context, entry: Entry) -> bool:
    """Whether all that it cites is there and says the same."""
    if not is_readable(entry):
        return False
    now = as_they_are(context, [item.passage for item in entry.cited])
    return now == list(entry.cited)


def _taken_up(found: _Search, alike: Alike) -> Recollection:
    entry = alike.entry
    kept: dict[str, Any] = {name: entry.research[name] for name in KEPT if name in entry.research}
    said = (
        f"From memory: researched on {entry.created[:10]} for "
        f"{_shortened(entry.question)!r} (similarity {alike.similarity:.3f}). {AFRESH}."
    )
    told = _told(found, said, "hit", entry=entry.id, run=entry.run)
    recalled = RecalledData(
        entry=entry.id,
        question=entry.question,
        similarity=round(alike.similarity, 4),
        created=entry.created,
        run=entry.run,
    )
    taken: Recollection = {"recalled": recalled, "route": "hit", "steps": [told], "warnings": []}
    return cast("Recollection", {**taken, **kept})


def _missed(found: _Search, warnings: list[dict[str, Any]]) -> Recollection:
    said = "Nothing remembered answers this question."
    if found.forgotten:
        said = "What was remembered no longer holds and is forgotten."
    told = _told(found, said, "miss")
    return {"recalled": None, "route": "miss", "steps": [told], "warnings": warnings}


def _told(found: _Search, said: str, way: Way, **more: int | str) -> dict[str, Any]:
    return step(
        "recall",
        said,
        dict(more),
        route=(way, found.why),
        looked_at=found.looked_at,
        similarity=found.nearest,
        forgotten=found.forgotten,
    )


def _shortened(question: str) -> str:
    return question if len(question) <= _MOST_QUOTED else f"{question[: _MOST_QUOTED - 3]}..."
