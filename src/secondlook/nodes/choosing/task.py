"""What there is to choose from, and on what."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from secondlook.nodes.claims import standing
from secondlook.nodes.researching.shown import standing as steps_standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.state import ChoiceData, DraftData, Sentence, StepData

NODE = "choose"


@dataclass(frozen=True, slots=True)
class Task:
    stem: str
    """The question without its options."""
    options: dict[str, str]
    research: tuple[Sentence, ...]
    """What was found, in sentences that stand on their evidence."""
    confidence: float | None
    """How sure the research is."""


@dataclass(frozen=True, slots=True)
class Choosing:
    """A choice, and what is told of how it came about."""

    choice: ChoiceData
    numbers: dict[str, Scalar] = field(default_factory=dict)
    warnings: list[dict[str, Any]] = field(default_factory=list)


def task_of(
    stem: str, options: dict[str, str], draft: DraftData | None, plan: Sequence[StepData]
) -> Task:
    """Where every step failed there is nothing to choose on, whatever a draft says."""
    done = steps_standing(plan)
    sentences = standing(draft["sentences"]) if draft else []
    return Task(
        stem=stem,
        options=dict(options),
        research=tuple(sentences) if done or not plan else (),
        confidence=_mean([one["confidence"] for one in done])
        if done
        else (draft["confidence"] if draft else None),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
