"""Judges a search by the reader's own scores and decides whether to search again. Asks no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes import ranking
from secondlook.state import Asked, Found, Quality, Trace, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.calibration import Calibration
    from secondlook.settings import Settings

Way = Literal["answer", "fall_back", "search_web"]


class Judged(Quality, Trace):
    pass


async def assess(state: Asked, runtime: Runtime[Context]) -> Judged:
    """After the first search: good enough, or look again?"""
    settings, calibration = runtime.context.settings, runtime.context.calibration
    quality = measured(state["found"], calibration)
    calibrated = settings.adaptive.check == "calibrated"
    value = quality if calibrated else _worst_of_the_best(state["found"])
    limit = min_quality(settings, calibration) if calibrated else settings.adaptive.min_rerank_score
    way: Way = "answer"
    # Where nothing could be read there is nothing to judge by, and a second search would not help.
    if settings.adaptive.enable_adaptive_retrieval and value is not None and value < limit:
        way = "fall_back"
    elif _web_wanted(quality, settings, calibration):
        way = "search_web"
    return _decided("assess", way, quality, value=value, limit=limit, check=settings.adaptive.check)


async def assess_again(state: Asked, runtime: Runtime[Context]) -> Judged:
    """After the second search: the web, if that is allowed and the library looks empty-handed."""
    settings, calibration = runtime.context.settings, runtime.context.calibration
    quality = measured(state["found"], calibration)
    way: Way = "search_web" if _web_wanted(quality, settings, calibration) else "answer"
    limit = min_web_quality(settings, calibration)
    return _decided("assess_again", way, quality, value=quality, limit=limit, check="web")


def measured(found: Sequence[Found], calibration: Calibration) -> float | None:
    """Probability that the passage which answers is among the best; None when nobody can tell."""
    read = ranking.candidates(found)
    return None if found and not read else calibration.retrieval_quality(read)


def min_quality(settings: Settings, calibration: Calibration) -> float:
    """Below it a search is worth another one."""
    chosen = settings.adaptive.min_quality
    return chosen if chosen >= 0 else calibration.min_quality


def min_web_quality(settings: Settings, calibration: Calibration) -> float:
    """Below it the library looks empty-handed."""
    chosen = settings.web.min_quality
    return chosen if chosen >= 0 else calibration.min_web_quality


def _web_wanted(quality: float | None, settings: Settings, calibration: Calibration) -> bool:
    """Never on a mere suspicion: what nobody could judge stays on this machine."""
    if not settings.web.enable_web_search or quality is None:
        return False
    return quality < min_web_quality(settings, calibration)


def _worst_of_the_best(found: Sequence[Found]) -> float | None:
    """Lowest relevance among the kept; None when nothing was read."""
    read = [item["relevance"] for item in ranking.kept(found) if item["relevance"] is not None]
    return min(read, default=None)


def _decided(
    node: str, way: Way, quality: float | None, *, value: float | None, limit: float, check: str
) -> Judged:
    if value is None:
        why = "nothing was read, so nothing can be judged"
    else:
        why = f"{check} is {value:.2f}, {'below' if value < limit else 'not below'} {limit:.2f}"
    said = {
        "answer": "The search looks good enough.",
        "fall_back": "The search looks poor: looking again, by words.",
        "search_web": "The library looks empty-handed: looking on the web.",
    }[way]
    told = step(
        node, said, route=(way, why), quality=quality, value=value, threshold=limit, check=check
    )
    return {"quality": quality, "route": way, "steps": [told], "warnings": []}
