"""Writes what the passages of a step say: in a model's words, each sentence cited and checked, or
word for word. Where the evidence fails, nothing is written."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes import ranking
from secondlook.nodes.checking.grounded import grounded
from secondlook.nodes.claims import cut_note, standing
from secondlook.nodes.extract import withheld
from secondlook.nodes.researching.quoting import quoted
from secondlook.nodes.researching.shown import of_step, records
from secondlook.nodes.researching.weighing import Scale, step_confidence
from secondlook.state import Found, Plan, Researched, StepData, Trace, step, trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.nodes.write import Asking
    from secondlook.settings import Settings
    from secondlook.state import DraftData

_NODE = "synthesise"


class Synthesised(Plan, Trace):
    pass


async def synthesise(state: Researched, runtime: Runtime[Context]) -> Synthesised:
    context, current = runtime.context, state["plan"][-1]
    items = of_step(state["found"], current)
    kept = ranking.kept(items)
    cosines, warnings = await _cosines(context, current, kept)
    confidence = step_confidence(context, kept, cosines)
    worth = Scale.of(context).status(confidence) != "failed"
    complaints: list[str] = []
    draft = withheld("low_confidence", reasons=["its passages do not seem to answer it"])
    if worth or context.settings.research.enable_synthesis_of_failed:
        emit = runtime.stream_writer if worth else _unheard
        draft, complaints, more = await _written(context, current, kept, emit)
        warnings += more
    done: StepData = {
        **current,
        "confidence": confidence,
        "evidence": records(items, cosines),
        "draft": draft,
        "complaints": complaints,
    }
    return {
        "plan": [*state["plan"][:-1], done],
        "steps": [_told(done, draft)],
        "warnings": warnings,
    }


async def _written(
    context: Context, current: StepData, kept: list[Found], emit: Callable[[Any], None]
) -> tuple[DraftData, list[str], list[dict[str, Any]]]:
    """The findings, what was cut from them, and what went wrong on the way."""
    question, by_model = current["question"], context.settings.research.synthesis == "model"
    if not (by_model and context.models.serves("answer") and kept):
        return await _quoted(context, question, kept, emit), [], []
    from secondlook.nodes.write import written  # prompts and all: not needed without a model

    try:
        made = await written(context, question, kept, emit, _asking(context.settings))
    except (ModelError, BudgetExceeded) as error:
        lost = trouble(_NODE, error, "the passages' own words were taken instead")
        return await _quoted(context, question, kept, emit), [], [lost]
    if not context.settings.research.enable_grounded_check:
        return made.draft, list(made.cut), []
    checked = await grounded(context, question, made.draft, made.cut)
    return cut(checked.draft, made.draft), list(checked.complaints), checked.warnings


def _asking(settings: Settings) -> Asking:
    from secondlook.nodes.write import Asking

    chosen = settings.research
    structure = ", then ".join(chosen.structure) or "what answers the question"
    return Asking("synthesise", {"structure": structure, "vocabulary": chosen.vocabulary})


def cut(checked: DraftData, made: DraftData) -> DraftData:
    """The draft without what its evidence does not carry."""
    left = standing(checked["sentences"])
    lost = len(checked["sentences"]) - len(left)
    if not left and made["sentences"]:
        reason = "the evidence supports no sentence that the model wrote"
        return withheld("no_evidence", reasons=[reason], model=made["model"])
    return {**checked, "sentences": left, "note": cut_note(lost) if lost else checked["note"]}


async def _quoted(
    context: Context, question: str, kept: Sequence[Found], emit: Callable[[Any], None]
) -> DraftData:
    draft = await quoted(context, question, kept)
    for sentence in draft["sentences"]:
        emit({"token": f"{sentence['text']} "})
    return draft


async def _cosines(
    context: Context, current: StepData, kept: Sequence[Found]
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """How like each passage is to the step's first query, where that is what counts."""
    if context.settings.research.evaluator != "cosine" or not kept:
        return {}, []
    try:
        return await _likes(context, current["queries"][0], kept), []
    except Exception as error:  # noqa: BLE001 - without likeness the step is kept with a caveat
        return {}, [trouble(_NODE, error, "the step could not be judged")]


async def _likes(context: Context, query: str, kept: Sequence[Found]) -> dict[str, float]:
    held = await ranking.texts(context, [item["id"] for item in kept])
    pairs = [(query, held[item["id"]].text) for item in kept if item["id"] in held]
    likes = await asyncio.to_thread(context.shelf.similarity, pairs)
    there = [item["id"] for item in kept if item["id"] in held]
    both = zip(there, likes, strict=True)
    return {name: round(like, 4) for name, like in both if math.isfinite(like)}


def _unheard(_: object) -> None:
    """Nothing of a step that failed is shown."""


def _told(done: StepData, draft: DraftData) -> dict[str, Any]:
    count = len(draft["sentences"])
    things = "1 thing" if count == 1 else f"{count} things"
    said = f"Found out {things}." if count else f"Found out nothing: {draft['reasons'][0]}."
    return step(
        _NODE,
        said,
        step=done["id"],
        phase=done["phase"],
        model=draft["model"],
        sentences=count,
        cut=len(done["complaints"]),
        confidence=done["confidence"],
    )
