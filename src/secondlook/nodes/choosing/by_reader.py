"""The choice without a model: how far the research supports each option as the answer, and how
much of it stands in what the reader would answer. Close ones are not told apart."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from secondlook.nodes.choosing.full_form import cited_by
from secondlook.nodes.choosing.task import NODE, Choosing, Task
from secondlook.nodes.choosing.weighing import confidence
from secondlook.nodes.choosing.words import shared_words
from secondlook.nodes.places import sentence_bounds
from secondlook.reading.support import CoverageSupport
from secondlook.state import ChoiceData, ElementData, OptionData, VerdictData, trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Met
    from secondlook.context import Context

LEAST_MARGIN: Final = 0.1
"""By so much the best option must be ahead of the next: docs/answers.md."""
_CARRIED: Final = 0.5
"""Support, or share of the reader's answer, from which on an option counts as met."""


@dataclass(frozen=True, slots=True)
class OptionScore:
    support: float
    """That the research carries the question with this answer."""
    overlap: float
    """With the words that the reader would answer."""

    @property
    def total(self) -> float:
        return self.support + self.overlap

    @property
    def is_carried(self) -> bool:
        return max(self.support, self.overlap) >= _CARRIED


async def chosen_by_reader(
    context: Context, task: Task, warnings: Sequence[dict[str, Any]] = ()
) -> Choosing:
    told = list(warnings)
    scores: dict[str, OptionScore] = {}
    try:
        scores = await asyncio.to_thread(option_scores, context, task)
    except Exception as error:  # noqa: BLE001 - whatever a reader does, there is an answer
        told.append(trouble(NODE, error, "no option was chosen"))
    return _choosing(task, scores, told)


def option_scores(context: Context, task: Task) -> dict[str, OptionScore]:
    asked = _last_sentence(task.stem)
    text = " ".join(one["text"] for one in task.research)
    reading = context.shelf.read_text(asked, text)
    span = text[reading.start : reading.end]
    claims = [(f"{asked} {option}", text) for option in task.options.values()]
    supports = context.support.support(claims)
    return {
        letter: OptionScore(_finite(support), shared_words(span, option))
        for (letter, option), support in zip(task.options.items(), supports, strict=True)
    }


def _choosing(
    task: Task, scores: dict[str, OptionScore], warnings: list[dict[str, Any]]
) -> Choosing:
    totals = sorted((one.total for one in scores.values()), reverse=True)
    margin = totals[0] - totals[1] if len(totals) > 1 else 0.0
    letter = _best(scores) if margin >= LEAST_MARGIN else None
    elements, options = _weighed(task, scores)
    choice = ChoiceData(
        letter=letter,
        options=options,
        elements=elements,
        model=None,
        grounded=True,
        agreed=None,
        confidence=confidence(task.confidence, 0.5 + margin / 4) if letter else None,
        why=_why(letter, scores),
    )
    return Choosing(choice, {"form": "reader", "calls": 0, "margin": margin}, warnings)


def _best(scores: dict[str, OptionScore]) -> str | None:
    """None where the best of them is no good either: the right one may not be among them."""
    best = max(scores, key=lambda one: scores[one].total)
    return best if scores[best].is_carried else None


def _why(letter: str | None, scores: dict[str, OptionScore]) -> str:
    if not scores:
        return "nobody could weigh the options"
    if letter is None and not any(one.is_carried for one in scores.values()):
        return "no model weighed the options, and to the reader the research speaks for none"
    if letter is None:
        return "no model weighed the options, and the reader cannot tell the best two apart"
    return f"no model weighed the options; to the reader the research speaks for {letter}"


def _weighed(
    task: Task, scores: dict[str, OptionScore]
) -> tuple[list[ElementData], list[OptionData]]:
    """The sentence of the research that speaks most for each option is what must hold for it."""
    elements: dict[int, int] = {}
    options: list[OptionData] = []
    for letter, text in task.options.items():
        score = scores.get(letter)
        verdicts: list[VerdictData] = []
        if score is not None:
            at = elements.setdefault(_nearest(task, text), len(elements) + 1)
            met: Met = "met" if score.is_carried else "unknown"
            verdicts = [VerdictData(element=at, met=met, fact=None)]
        options.append(
            OptionData(letter=letter, text=text, verdicts=verdicts, reason=_reason(score))
        )
    made = [
        ElementData(text=task.research[at]["text"], cited=cited_by([at + 1], task))
        for at in elements
    ]
    return made, options


def _reason(score: OptionScore | None) -> str:
    if score is None:
        return ""
    like, carried = f"{score.overlap:.2f}", f"{score.support:.2f}"
    return f"Like what the reader would answer: {like}; carried by the research: {carried}."


def _nearest(task: Task, option: str) -> int:
    """Which sentence of the research has most of the option's words."""
    claim = f"{_last_sentence(task.stem)} {option}"
    values = CoverageSupport().support([(claim, one["text"]) for one in task.research])
    return max(range(len(values)), key=values.__getitem__)


def _last_sentence(stem: str) -> str:
    """What is asked: facts come before it."""
    bounds = sentence_bounds(stem)
    return stem[bounds[-1][0] : bounds[-1][1]].strip() if bounds else stem


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0
