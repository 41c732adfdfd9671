"""What a calibration came to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.calibrating.fitting import Method
    from secondlook.calibrating.judging import Judgement
    from secondlook.reading.calibration import Calibration

_DIGITS = 4


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """All figures are of questions that the fit which gave their probability has not seen."""

    library: str
    reader: str
    source: str
    """Where the questions come from."""
    asked: Mapping[str, int]
    """How many questions, by kind: `own`, `made`, `swapped`, `left out`."""
    answered: int
    """Those of which right and wrong could be told."""
    method: Method
    before: Judgement | None
    """By the shipped calibration; None where the reader has none."""
    after: Judgement
    better: bool
    """Whether the Brier score is lower than before."""
    stored: str | None
    """The file that holds it now; None where it was not stored."""
    calibration: Calibration
    notes: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Plain values, as `--json` prints them."""
        return {
            "library": self.library,
            "reader": self.reader,
            "source": self.source,
            "asked": dict(self.asked),
            "answered": self.answered,
            "method": self.method,
            "before": judgement_data(self.before) if self.before else None,
            "after": judgement_data(self.after),
            "better": self.better,
            "stored": self.stored,
            "answer": {
                "bias": self.calibration.answer.bias,
                "weights": dict(self.calibration.answer.weights),
            },
            "notes": list(self.notes),
        }


def judgement_data(judgement: Judgement) -> dict[str, Any]:
    return {
        "questions": judgement.questions,
        "right": round(judgement.right, _DIGITS),
        "ece": round(judgement.ece, _DIGITS),
        "brier": round(judgement.brier, _DIGITS),
        "auroc": round(judgement.auroc, _DIGITS),
        "promises": [
            {name: _rounded(value) for name, value in asdict(promise).items()}
            for promise in judgement.promises
        ],
        "reliability": [
            [round(point.x, _DIGITS), round(point.y, _DIGITS), point.n]
            for point in judgement.reliability
        ],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
