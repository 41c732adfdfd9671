"""Judges a search by the reader's own scores and decides whether to search again. Asks no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes import ranking
from secondlook.reading.calibration import load_calibration
from secondlook.state import Asked, Found, Quality, Trace, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.calibration import Candidate
    from secondlook.settings import Settings

Way = Literal["answer", "fall_back", "search_web"]


class Judged(Quality, Trace):
    pass


async def assess(state: Asked, runtime: Runtime[Context]) -> Judged:
    """After the first search: good enough, or look again?"""
    context = runtime.context
    settings = context.settings
    quality = measured(state["found"], context.shelf.reader_name)
    limit, value = _limit(settings, context.shelf.reader_name), _judged(state["found"], settings)
    value = quality if settings.adaptive.check == "calibrated" else value
    weak = value is None or value < limit
    way: Way = "answer"
    if weak and settings.adaptive.enable_adaptive_retrieval:
        way = "fall_back"
    elif web_wanted(quality, settings):
        way = "search_web"
    return _decided("assess", way, quality, value=value, limit=limit, check=settings.adaptive.check)


async def assess_again(state: Asked, runtime: Runtime[Context]) -> Judged:
    """After the second search: the web, if that is allowed and the library looks empty-handed."""
    settings = runtime.context.settings
    quality = measured(state["found"], runtime.context.shelf.reader_name)
    way: Way = "search_web" if web_wanted(quality, settings) else "answer"
    return _decided(
        "assess_again", way, quality, value=quality, limit=settings.web.min_quality, check="web"
    )


def measured(found: Sequence[Found], reader: str) -> float | None:
    """Probability that the passage which answers is among the best."""
    return load_calibration(reader).retrieval_quality(read_candidates(found))


def read_candidates(found: Sequence[Found]) -> list[Candidate]:
    return [one for item in found if (one := ranking.candidate(item)) is not None]


def web_wanted(quality: float | None, settings: Settings) -> bool:
    return settings.web.enable_web_search and (
        quality is None or quality < settings.web.min_quality
    )


def _limit(settings: Settings, reader: str) -> float:
    chosen = settings.adaptive
    if chosen.check == "min_rerank_score":
        return chosen.min_rerank_score
    return chosen.min_quality if chosen.min_quality >= 0 else load_calibration(reader).min_quality


def _judged(found: Sequence[Found], settings: Settings) -> float | None:
    """Lowest relevance among the kept; None when nothing was read."""
    kept = ranking.kept(found)[: settings.answer.k]
    return min((item["relevance"] for item in kept if item["relevance"] is not None), default=None)


def _decided(
    node: str, way: Way, quality: float | None, *, value: float | None, limit: float, check: str
) -> Judged:
    shown = "unknown" if value is None else f"{value:.2f}"
    relation = "below" if value is None or value < limit else "not below"
    why = f"{check} is {shown}, {relation} {limit:.2f}"
    said = {
        "answer": "The search looks good enough.",
        "fall_back": "The search looks poor: looking again, by words.",
        "search_web": "The library looks empty-handed: looking on the web.",
    }[way]
    told = step(
        node, said, route=(way, why), quality=quality, value=value, threshold=limit, check=check
    )
    return {"quality": quality, "route": way, "steps": [told], "warnings": []}
