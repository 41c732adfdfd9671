"""What a model overlooked and the reader finds. Small models overlook much of what is there; one
that was measured to judge answers well is believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.nodes.extract import extract
from secondlook.nodes.grading.fit import fit_to_grade

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context
    from secondlook.state import DraftData, Found


async def read_instead(
    context: Context, question: str, found: Sequence[Found], draft: DraftData
) -> DraftData | None:
    """The reader's answer where a model has none; None where the model's word stands."""
    if draft["model"] is None or draft["sentences"]:
        return None
    fit = fit_to_grade(context, "answer")
    if fit and fit.judges_answers:
        return None
    own = await extract(context, question, found)
    if not own["sentences"]:
        return None
    return {**own, "reasons": [*own["reasons"], f"{draft['model']} gave no answer that stands"]}
