"""Drafts the answer: in a model's words where there is a model, else the reader's span."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes import ranking
from secondlook.nodes.checking.attempts import hotter
from secondlook.nodes.checking.limits import GREY
from secondlook.nodes.checking.refusal import AnswerGrades, is_refused
from secondlook.nodes.extract import extract, withheld
from secondlook.nodes.overlooked import read_instead
from secondlook.reading.calibration import CalibrationError
from secondlook.reading.support import SupportHeadError, stands_in
from secondlook.state import Asked, Draft, DraftData, Drafts, Trace, step, trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import Scalar
    from secondlook.nodes.write import Asking

    _Manner = Callable[[Context], Asking]


class Drafted(Draft, Trace):
    complaints: list[str]
    """What a model wrote and was cut; heard where somebody checks."""


class ToAnswerStrictly(Asked, AnswerGrades):
    """Evidence, and whether an answer from it was refused."""


class ToAnswerAnew(Asked, Drafts, AnswerGrades):
    """Evidence, and what is held against the answers so far."""


async def answer(state: Asked, runtime: Runtime[Context]) -> Drafted:
    return await _answered(state, runtime)


async def answer_strictly(state: ToAnswerStrictly, runtime: Runtime[Context]) -> Drafted:
    """The same, and once more in stricter terms where a model refused the answer."""
    if not is_refused(state.get("answer_grades", [])):
        return await _answered(state, runtime)
    runtime.stream_writer({"redraft": "the answer was refused"})
    return await _answered(state, runtime, _strict)


async def answer_anew(state: ToAnswerAnew, runtime: Runtime[Context]) -> Drafted:
    """The same, and again where a check complained, where more was found, or where a model
    refused the answer."""
    grades, complaints = state.get("answer_grades", []), state.get("complaints", [])
    drafts, regenerations = state.get("drafts", []), state.get("regenerations", 0)
    if regenerations and complaints:
        runtime.stream_writer({"redraft": "the evidence does not carry all of it"})
        return await _answered(
            state, runtime, partial(_again, complaints=complaints, regenerations=regenerations)
        )
    if is_refused(grades):
        runtime.stream_writer({"redraft": "the answer was refused"})
        return await _answered(state, runtime, _strict)
    if drafts:
        runtime.stream_writer({"redraft": "more was found"})
    return await _or_read(state, runtime, await _answered(state, runtime, _checked))


async def _or_read(state: Asked, runtime: Runtime[Context], drafted: Drafted) -> Drafted:
    """Where a model finds nothing and the reader does: the reader's. What a model wrote and was
    cut it may write anew."""
    if drafted["complaints"]:
        return drafted
    draft = drafted["draft"]
    own = await read_instead(runtime.context, state["question"], state["found"], draft)
    if own is None:
        return drafted
    for sentence in own["sentences"]:
        runtime.stream_writer({"token": sentence["text"]})
    said = f"{draft['model']} found no answer. {_said(own)}"
    told = step("answer", said, drafted["steps"][0]["numbers"], confidence=own["confidence"])
    return {**drafted, "draft": own, "steps": [told]}


async def _answered(
    state: Asked, runtime: Runtime[Context], manner: _Manner | None = None
) -> Drafted:
    context = runtime.context
    warnings: list[dict[str, Any]] = []
    numbers: dict[str, Scalar] = {}
    cut: list[str] = []
    if not ranking.kept(state["found"]):
        draft = withheld("no_evidence", reasons=["nothing was found"])
    elif context.models.serves("answer"):
        # prompts and all: not needed without a model
        from secondlook.nodes.write import PLAIN, written

        asking = manner(context) if manner else PLAIN
        try:
            made = await written(
                context, state["question"], state["found"], runtime.stream_writer, asking
            )
            draft, numbers, cut = made.draft, made.numbers, list(made.cut)
        except (ModelError, BudgetExceeded) as error:
            warnings = [trouble("answer", error, "the reader's own answer was given instead")]
            draft = await _extracted(state, runtime)
    else:
        draft = await _extracted(state, runtime)
    warnings += [*_about_calibration(context), *_about_judge(context, draft)]
    told = step("answer", _said(draft), numbers, confidence=draft["confidence"])
    return {"draft": draft, "complaints": cut, "steps": [told], "warnings": warnings}


def _strict(_context: Context) -> Asking:
    from secondlook.nodes.write import Asking

    return Asking("answer_strict")


def _checked(context: Context) -> Asking:
    """For a draft that a model will check where the reader is unsure."""
    from secondlook.nodes.write import Asking

    return Asking(doubted=_doubted(context))


def _again(context: Context, *, complaints: Sequence[str], regenerations: int) -> Asking:
    from secondlook.nodes.write import Asking

    listed = "\n".join(f"- {' '.join(complaint.split())}" for complaint in complaints)
    temperature = hotter(context.models.temperature("answer"), regenerations)
    return Asking("answer_again", {"complaints": listed}, temperature, _doubted(context))


def _doubted(context: Context) -> float:
    settings = context.settings.corrective
    asks = settings.enable_grounded_check and settings.grounded_judge == "llm"
    return GREY if asks and context.models.serves("grade") else 0.0


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
