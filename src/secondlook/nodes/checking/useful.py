"""Whether an answer addresses the question: how well the reader finds an answer in its text."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from secondlook.errors import BudgetExceeded, ModelError
from secondlook.reading.languages import foreign
from secondlook.state import trouble

if TYPE_CHECKING:
    from secondlook.context import Context

NODE = "check_useful"
_STEEPEST = 30.0


@dataclass(frozen=True, slots=True)
class UsefulHead:
    """What the reader's margin between an answer and none is worth, for one reader;
    `benchmarks/useful.py` measures it."""

    reader: str
    bias: float
    weight: float
    threshold: float
    """An answer that scores below it does not address its question."""
    grey: tuple[float, float]
    """Between these, answers to the question and to other ones mix."""

    def score(self, margin: float) -> float:
        logit = max(-_STEEPEST, min(_STEEPEST, self.bias + self.weight * margin))
        return round(1 / (1 + math.exp(-logit)), 4)


@dataclass(frozen=True, slots=True)
class Usefulness:
    score: float | None
    """From 0 to 1; None where the reader cannot tell."""
    is_useful: bool | None
    asked_model: bool = False
    warnings: list[dict[str, Any]] = field(default_factory=list)


UNKNOWN = Usefulness(None, None)


@cache
def shipped_head() -> UsefulHead:
    made = json.loads(files(__package__).joinpath("useful.json").read_text("utf-8"))
    return UsefulHead(
        made["reader"], made["bias"], made["weight"], made["threshold"], tuple(made["grey"])
    )


async def usefulness(context: Context, question: str, text: str) -> Usefulness:
    """By the reader; with `useful_judge = "llm"` by a model where the reader is unsure."""
    found = await asyncio.to_thread(_by_reader, context, question, text)
    judge, grey = context.settings.corrective.useful_judge, shipped_head().grey
    if judge == "reader" or found.score is None or not grey[0] <= found.score < grey[1]:
        return found
    from secondlook.nodes.checking.asking import unfit_judge, useful_verdict

    warnings = [*found.warnings, *unfit_judge(context, NODE)]
    try:
        said = await useful_verdict(context, question, text)
    except (ModelError, BudgetExceeded) as error:
        told = trouble(NODE, error, "the reader judged the answer alone")
        return replace(found, warnings=[*warnings, told])
    return replace(found, is_useful=said, asked_model=True, warnings=warnings)


def _by_reader(context: Context, question: str, text: str) -> Usefulness:
    """Nobody can tell with another reader, or in a language that it was not trained for."""
    head = shipped_head()
    try:
        known = context.shelf.reader_name == head.reader
        if not known or foreign(question, text, context.shelf.reader_languages):
            return UNKNOWN
        reading = context.shelf.read_text(question, text)
    except Exception as error:  # noqa: BLE001 - whatever a reader does, the draft stays
        return replace(UNKNOWN, warnings=[trouble(NODE, error, "the answer was not checked")])
    margin = reading.span_score - reading.null_score
    if not math.isfinite(margin):
        return UNKNOWN
    score = head.score(margin)
    return Usefulness(score, score >= head.threshold)
