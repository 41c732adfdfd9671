"""Drafts the answer: in a model's words where there is a model, else the reader's span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes import ranking
from secondlook.nodes.extract import extract, withheld
from secondlook.reading.calibration import CalibrationError
from secondlook.reading.support import SupportHeadError, stands_in
from secondlook.state import Asked, Draft, DraftData, Trace, step, trouble

if TYPE_CHECKING:
    from secondlook.answer import Scalar


class Drafted(Draft, Trace):
    pass


async def answer(state: Asked, runtime: Runtime[Context]) -> Drafted:
    context = runtime.context
    warnings: list[dict[str, Any]] = []
    numbers: dict[str, Scalar] = {}
    if not ranking.kept(state["found"]):
        draft = withheld("no_evidence", reasons=["nothing was found"])
    elif context.models.serves("answer"):
        from secondlook.nodes.write import write  # prompts and all: not needed without a model

        try:
            draft, numbers = await write(
                context, state["question"], state["found"], runtime.stream_writer
            )
        except (ModelError, BudgetExceeded) as error:
            warnings = [trouble("answer", error, "the reader's own answer was given instead")]
            draft = await _extracted(state, runtime)
    else:
        draft = await _extracted(state, runtime)
    warnings += [*_about_calibration(context), *_about_judge(context, draft)]
    told = step("answer", _said(draft), numbers, confidence=draft["confidence"])
    return {"draft": draft, "steps": [told], "warnings": warnings}


async def _extracted(state: Asked, runtime: Runtime[Context]) -> DraftData:
    draft = await extract(runtime.context, state["question"], state["found"])
    for sentence in draft["sentences"]:
        runtime.stream_writer({"token": sentence["text"]})
    return draft


def _about_calibration(context: Context) -> list[dict[str, Any]]:
    """That the library's own calibration is not the one that was used."""
    if context.calibration_file is None or not context.calibration_file.is_file():
        return []
    try:
        calibration = context.calibration
    except ModelError:  # no reader: there are no scores to calibrate, and others tell why
        return []
    if calibration.warning is None:
        return []
    used = calibration.label == "calibrated"
    consequence = "the shipped one was used" if used else "there are no probabilities"
    return [trouble("calibration", CalibrationError(calibration.warning), consequence)]


def _about_judge(context: Context, draft: DraftData) -> list[dict[str, Any]]:
    """That a model's sentences were not checked by the judge that was asked for."""
    why = stands_in(context.support) if draft["method"] == "generative" else None
    consequence = "the sentences were checked by words alone"
    return [trouble("support", SupportHeadError(why), consequence)] if why else []


def _said(draft: DraftData) -> str:
    if not draft["sentences"]:
        return f"Withheld: {'; '.join(draft['reasons']) or draft['stop']}."
    if draft["method"] == "extractive":
        return f"Took the answer from a passage: {draft['short']}"
    return f"{draft['model']} wrote {len(draft['sentences'])} sentences that stand."
