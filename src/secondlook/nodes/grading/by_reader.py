"""Grades by the reader's own scores, which are there already: no model is asked, nothing is read.

A passage is *about* the question when its relevance lies above `calibration.min_about`, and
*answers* it when, alone, it would also be answered from: `calibration.min_answer`. At what the
reader only glanced it saw no answer, so that is about the question at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.nodes import ranking
from secondlook.nodes.grading.port import Verdicts
from secondlook.state import READER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.calibration import Calibration
    from secondlook.state import Found, Grade

GREY_RELEVANCE = 1.5
"""Points of relevance (a logit) on either side of `min_about` within which the reader is unsure."""
GREY_ANSWER = 0.15
"""The same of the probability that it answers, on either side of `min_answer`."""


@dataclass(frozen=True, slots=True)
class ReaderGrader:
    """`calibration` is None where there is no reader: then nothing is graded."""

    calibration: Calibration | None
    name: str = READER

    async def verdicts(self, question: str, items: Sequence[Found]) -> Verdicts:  # noqa: ARG002
        """By the scores in the items, which are of this question."""
        if self.calibration is None:
            return Verdicts()
        graded = {item["id"]: reader_grade(item, self.calibration) for item in items}
        return Verdicts({name: grade for name, grade in graded.items() if grade != "not graded"})

    def grey(self, items: Sequence[Found]) -> list[Found]:
        """Those of which the reader is unsure, or could not say anything."""
        known = self.calibration
        return [item for item in items if known is None or is_grey(item, known)]


def reader_grade(item: Found, calibration: Calibration) -> Grade:
    """`not graded` for what the reader has not seen."""
    if item["relevance"] is None:
        return "not graded"
    if not item["relevance"] > calibration.min_about:
        return "irrelevant"
    chance = answer_chance(item, calibration)
    return "answers" if chance is not None and chance >= calibration.min_answer else "about"


def is_grey(item: Found, calibration: Calibration) -> bool:
    """Whether a little more or less of a score would have changed the grade."""
    if item["relevance"] is None:
        return True
    distance = item["relevance"] - calibration.min_about
    if abs(distance) < GREY_RELEVANCE:
        return True
    chance = answer_chance(item, calibration)
    close = chance is not None and abs(chance - calibration.min_answer) < GREY_ANSWER
    return distance > 0 and close


def answer_chance(item: Found, calibration: Calibration) -> float | None:
    """How likely the passage, taken alone, holds a right answer; None when nobody can tell."""
    candidate = ranking.candidate(item)
    return None if candidate is None else calibration.answer_probability([candidate], 0)
