"""How sure a step of research is, and what that makes of it. The same evidence gets the same
verdict: nothing here asks a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.nodes.assess import measured
from secondlook.nodes.researching.shown import kept_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import StepStatus
    from secondlook.context import Context
    from secondlook.state import Found, StepData

WEAK_MARGIN = 0.15
"""How much the confidence of one question differs between two wordings, where it can be answered:
the median on `squad2-dev` and `hotpot` is 0.17 and 0.13. Nearer to the threshold than that, other
words would have turned the verdict as often as not."""
NOISE = 0.013
"""The same on `barexam`, where steps mostly fail: failures that differ by less are all the same.
Measured like the two others: docs/research.md."""
COSINE_NOISE = 0.0075
"""And that of the mean likeness, there."""
RUN_OF_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a step stands and falls, on the scale in use."""

    threshold: float
    margin: float
    noise: float

    @classmethod
    def of(cls, context: Context) -> Scale:
        chosen = context.settings.research
        cosine = chosen.evaluator == "cosine"
        threshold = chosen.min_cosine if cosine else chosen.min_confidence
        noise = COSINE_NOISE if cosine else NOISE
        return cls(
            threshold=context.calibration.min_quality if threshold < 0 else threshold,
            margin=WEAK_MARGIN if chosen.weak_margin < 0 else chosen.weak_margin,
            noise=noise if chosen.stagnation_spread < 0 else chosen.stagnation_spread,
        )

    def status(self, confidence: float | None) -> StepStatus:
        """Nobody can tell what an unknown reader's scores are worth: kept, with a caveat."""
        if confidence is None or abs(confidence - self.threshold) < self.margin:
            return "weak"
        return "completed" if confidence >= self.threshold else "failed"


def step_confidence(
    context: Context, kept: Sequence[Found], cosines: Mapping[str, float]
) -> float | None:
    """Probability that these passages answer the step's question, or their mean likeness to its
    query; 0 where there are none."""
    if not kept:
        return 0.0
    if context.settings.research.evaluator == "cosine":
        likes = [cosines[item["id"]] for item in kept if item["id"] in cosines]
        return round(sum(likes) / len(likes), 4) if likes else None
    quality = measured(kept, context.calibration)
    return None if quality is None else round(quality, 4)


def stagnates(plan: Sequence[StepData], noise: float) -> str | None:
    """Why another try would be no use; None where it might be."""
    last = plan[-RUN_OF_FAILURES:]
    if len(last) < RUN_OF_FAILURES or any(step["status"] != "failed" for step in last):
        return None
    seen = set(kept_of(plan[:-RUN_OF_FAILURES]))
    fresh = 0
    for step in last:
        fresh += len(set(kept_of([step])) - seen)
        seen |= set(kept_of([step]))
    if not fresh:
        return f"{RUN_OF_FAILURES} steps in a row failed and brought nothing new"
    scores = [step["confidence"] for step in last if step["confidence"] is not None]
    if len(scores) == RUN_OF_FAILURES and max(scores) - min(scores) < noise:
        return f"{RUN_OF_FAILURES} steps in a row failed alike: other words do not help"
    return None
