"""What is known about the scores of one reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from secondlook.reading.calibration.candidates import (
    answer_features,
    choose,
    quality_features,
    sound,
)
from secondlook.reading.calibration.explanation import explained

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.reading.calibration.candidates import Candidate
    from secondlook.reading.calibration.logistic import Logistic
    from secondlook.reading.calibration.risk import RiskTable


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is known about the scores of one reader. Candidates are given best first."""

    reader: str
    label: Literal["calibrated", "uncalibrated"]
    choice: Mapping[str, float]
    """How much each feature of an answer counts when one is chosen; none, and the first is."""
    answer: Logistic
    quality: Logistic
    min_answer: float
    """An answer less likely to be right than this is withheld."""
    min_quality: float
    """A search less likely than this to have found what answers is worth another one."""
    min_web_quality: float
    """And below this the library looks empty-handed."""
    min_about: float = 0.0
    """A passage whose relevance is above it is about the question."""
    risk: RiskTable | None = None
    """How often answers were wrong above each probability; None where nobody has counted."""
    source: Literal["shipped", "library"] = "shipped"
    warning: str | None = None
    """Why the library's own calibration is not the one used."""

    def best_answer(self, candidates: Sequence[Candidate]) -> int | None:
        """Index of the passage whose span to answer with; None when there is none.

        An order needs no probabilities, so this holds for any reader. Ties go to the better ranked.
        """
        return choose(candidates, self.choice)

    def answer_probability(self, candidates: Sequence[Candidate], chosen: int) -> float | None:
        """How likely the span of the chosen passage is a right answer."""
        if self.label == "uncalibrated" or not candidates[chosen].is_finite:
            return None
        return self.answer.probability(answer_features(candidates, chosen))

    def retrieval_quality(self, candidates: Sequence[Candidate]) -> float | None:
        """How likely a passage that answers is among the first five; 0 when nothing was found."""
        if self.label == "uncalibrated":
            return None
        if not sound(candidates):
            return 0.0
        return self.quality.probability(quality_features(candidates))

    def risk_threshold(self, max_risk: float, *, confidence: float) -> float | None:
        """The probability from which on answers are wrong at most so often, which is true with
        this confidence; None where nothing can be promised."""
        if self.label == "uncalibrated" or self.risk is None:
            return None
        return self.risk.threshold(max_risk, confidence=confidence)

    def reasons(self, candidates: Sequence[Candidate], chosen: int) -> tuple[str, ...]:
        """What speaks for or against an answer from the chosen passage, in a few words each."""
        said = explained(candidates, chosen)
        if self.label == "calibrated":
            return said
        return (*said, f"no probability: the reader {self.reader!r} has not been calibrated")
