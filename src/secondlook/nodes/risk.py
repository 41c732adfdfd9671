"""The risk dial: how sure an answer must be where only so many answers may be wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.context import Context

_DIGITS = range(2, 7)


@dataclass(frozen=True, slots=True)
class Dial:
    """The share of answers that may be wrong, and what keeps to it."""

    max_risk: float
    threshold: float | None
    """The probability that an answer needs; None when none would do."""
    counted: int
    """Answers that the promise rests on."""

    def objection(self, probability: float | None) -> str | None:
        """Why an answer with this probability must be withheld; None where it may be given."""
        allowed = f"the risk allowed is {100 * self.max_risk:g} %"
        if self.threshold is None:
            return (
                f"{allowed}: no answer can be promised to keep to it by the {self.counted} answers "
                "that the calibration counts; secondlook calibrate with more questions may help"
            )
        if probability is None:
            needed = _apart(self.threshold, 0.0)[0]
            return f"{allowed}: an answer needs a probability of {needed}, this one has none"
        if probability < self.threshold:
            needed, has = _apart(self.threshold, probability)
            return f"{allowed}: an answer needs a probability of {needed}, this one has {has}"
        return None


def dial(context: Context) -> Dial | None:
    """None where no risk was named."""
    settings = context.settings.answer
    if settings.max_risk is None:
        return None
    calibration = context.calibration
    return Dial(
        max_risk=settings.max_risk,
        threshold=calibration.risk_threshold(
            settings.max_risk, confidence=settings.risk_confidence
        ),
        counted=calibration.risk.questions if calibration.risk else 0,
    )


def _apart(needed: float, has: float) -> tuple[str, str]:
    """Both with as many digits as it takes to tell them apart: `.93`, `.71`."""
    for digits in _DIGITS:
        pair = (f"{needed:.{digits}f}".lstrip("0"), f"{has:.{digits}f}".lstrip("0"))
        if pair[0] != pair[1]:
            break
    return pair
