"""What may still be tried: another search, another draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context
    from secondlook.settings import Settings
    from secondlook.state import DraftData, Search

HOTTER = 0.4
"""By how much the temperature rises with each of the first two new drafts."""
_FULL_STEPS = 2
_SMALL_STEP = 0.1
_HOTTEST = 2.0


def may_regenerate(context: Context, draft: DraftData, regenerations: int) -> bool:
    """Whether a model wrote the draft and may write another. What the reader took from a passage
    would be taken again."""
    settings = context.settings.corrective
    return (
        settings.enable_regeneration
        and regenerations < settings.max_regenerations
        and draft["model"] is not None
        and context.models.serves("answer")
    )


def rewrites(queries: Sequence[str], assumed: str | None) -> int:
    """How often the question was put in other words. The question as it was understood, where a
    reading was assumed, is a query too, and none of these."""
    return len(queries) - 1 - (assumed is not None)


def may_search_again(
    queries: Sequence[str],
    searches: Sequence[Search],
    settings: Settings,
    *,
    assumed: str | None = None,
) -> bool:
    """Whether the question may be put in other words: attempts remain, and the last time it was,
    that brought something new."""
    corrective = settings.corrective
    if not corrective.enable_rewriting or rewrites(queries, assumed) >= corrective.max_rewrites:
        return False
    return len(searches) <= 1 or searches[-1]["new"] > 0


def rewriting_may_help(draft: DraftData) -> bool:
    """Whether a draft that is not useful is a reason to search again. Where the reader withheld
    its own answer it is none: the same scores have said already what was found."""
    return bool(draft["sentences"]) or draft["model"] is not None


def hotter(temperature: float, regenerations: int) -> float:
    """The temperature of a new draft: 0.4 and 0.8 above the role's own, then slowly more."""
    full = min(regenerations, _FULL_STEPS)
    raised = temperature + HOTTER * full + _SMALL_STEP * (regenerations - full)
    return round(min(raised, _HOTTEST), 2)
