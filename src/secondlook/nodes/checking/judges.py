"""Who judges whether a sentence stands on its evidence: the reader, likeness of meaning, or a
model where the reader is unsure."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes.checking.limits import GREY, MIN_LIKENESS
from secondlook.state import trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.context import Context
    from secondlook.nodes.checking.evidence import Backed

NODE = "check_grounded"


@dataclass(frozen=True, slots=True)
class Opinion:
    supported: bool | None
    """None where nobody could tell."""
    support: float | None
    absent: bool = False
    """It has a number or a name that its evidence lacks."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One opinion for each sentence, in order."""

    opinions: list[Opinion]
    numbers: dict[str, Scalar] = field(default_factory=dict)
    warnings: list[dict[str, Any]] = field(default_factory=list)


async def opinions(context: Context, question: str, ones: Sequence[Backed]) -> Heard:
    """By the judge that is set. One that fails is replaced by the reader, and that is told."""
    judge = context.settings.corrective.grounded_judge
    if not ones:
        return Heard([])
    if judge == "similarity":
        return await _by_likeness(context, ones)
    heard = await _by_reader(context, ones)
    return await _by_model(context, question, ones, heard) if judge == "llm" else heard


async def _by_reader(context: Context, ones: Sequence[Backed]) -> Heard:
    """As it was measured when the draft was written; measured now where that was not done, or
    where some of the evidence is gone since."""
    least = context.settings.answer.min_support
    known = [one.sentence["support"] if one.complete else None for one in ones]
    unknown = [
        (one.text, one.evidence) for one, value in zip(ones, known, strict=True) if value is None
    ]
    try:
        measured = iter(
            await asyncio.to_thread(context.support.support, unknown) if unknown else ()
        )
    except Exception as error:  # noqa: BLE001 - whatever a reader does, the draft stays
        told = trouble(NODE, error, "the sentences were not checked")
        return Heard([Opinion(None, value) for value in known], warnings=[told])
    supports = [next(measured) if value is None else value for value in known]
    return Heard([Opinion(value >= least, round(value, 4)) for value in supports])


async def _by_likeness(context: Context, ones: Sequence[Backed]) -> Heard:
    """By the place that is most like the sentence in meaning."""
    pairs = [(one.text, quote) for one in ones for _, quote in one.quotes]
    try:
        likes = await asyncio.to_thread(context.shelf.similarity, pairs)
        if not all(map(math.isfinite, likes)):
            raise ModelError("the embedder gave something that is no number")  # noqa: TRY301
    except Exception as error:  # noqa: BLE001 - whatever an embedder does
        heard = await _by_reader(context, ones)
        told = trouble(NODE, error, "the sentences were judged by the reader")
        return replace(heard, warnings=[*heard.warnings, told])
    values = iter(likes)
    best = [max(next(values) for _ in one.quotes) for one in ones]
    return Heard([Opinion(value >= MIN_LIKENESS, round(value, 4)) for value in best])


async def _by_model(context: Context, question: str, ones: Sequence[Backed], heard: Heard) -> Heard:
    """A model is asked about the sentences that the reader is unsure of, all in one call. Where it
    says nothing, the reader's opinion stands."""
    from secondlook.nodes.checking.asking import sentence_verdicts, unfit_judge

    least = context.settings.answer.min_support
    unsure = [at for at, opinion in enumerate(heard.opinions) if _is_grey(opinion.support, least)]
    if not unsure:
        return heard
    warnings = [*heard.warnings, *unfit_judge(context, NODE)]
    try:
        said = await sentence_verdicts(context, question, [ones[at] for at in unsure])
    except (ModelError, BudgetExceeded) as error:
        told = trouble(NODE, error, "the reader judged the sentences alone")
        return replace(heard, warnings=[*warnings, told])
    ruled = list(heard.opinions)
    for place, verdict in said.by_place.items():
        ruled[unsure[place]] = replace(ruled[unsure[place]], supported=verdict)
    numbers: dict[str, Scalar] = {
        "asked_of_model": len(unsure),
        "missing": len(unsure) - len(said.by_place),
        "unknown": said.unknown,
        "overruled": sum(
            one.supported != other.supported
            for one, other in zip(heard.opinions, ruled, strict=True)
        ),
    }
    return Heard(ruled, numbers, warnings)


def _is_grey(support: float | None, least: float) -> bool:
    return support is not None and abs(support - least) <= GREY
