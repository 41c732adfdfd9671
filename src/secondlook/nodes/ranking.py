"""Found passages put in order, marked and handed on: pure functions that several nodes share."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Literal

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.state import READER, Asked, Found, Quality, Trace, step
from secondlook.reading.calibration import Candidate
from secondlook.retrieval.fusion import Fused, best_looks, blended, distinct, rerank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.passage import Passage
    from secondlook.reading.calibration import Calibration
    from secondlook.reading.port import Choose, Reading
    from secondlook.settings.sections import Settings

REPEATS = "repeats a better passage"


def ranked(found: Sequence[Found], *, blend: float, k: int) -> list[Found]:
    """Best first, the best `k` without repeats kept; what is pinned stands right behind them."""
    by_id = {item["id"]: item for item in found}
    relevance = {item["id"]: item["relevance"] for item in found if item["relevance"] is not None}
    fused = [Fused(item["id"], item["fusion_score"]) for item in found]
    if relevance:
        glanced = {item["id"] for item in found if glanced_at(item)}
        placed = [
            _at(by_id[entry.id], score)
            for entry, score in rerank(fused, relevance, blend=blend, glanced=glanced)
        ]
    else:
        placed = sorted(found, key=lambda item: (-item["fusion_score"], item["id"]))
    unlike = distinct(placed, place=lambda item: (item["document"], item["start"], item["end"]))
    kept = {item["id"] for item in _with_pinned(unlike, k)}
    shown = {item["id"] for item in unlike}
    marked = [_marked(item, kept, shown) for item in placed]
    pinned = any(item["pinned"] for item in marked)
    return kept_first(marked) if pinned else marked


def kept_first(found: Sequence[Found]) -> list[Found]:
    """What an answer may rest on before all else, each in its order."""
    return sorted(found, key=lambda item: not item["kept"])


def _with_pinned(placed: Sequence[Found], k: int) -> list[Found]:
    """The best `k`; those that are pinned take the last places of them."""
    pinned = [item for item in placed if item["pinned"]][:k]
    others = [item for item in placed if not item["pinned"]]
    return [*others[: k - len(pinned)], *pinned]


def with_reading(item: Found, reading: Reading) -> Found:
    if not math.isfinite(reading.relevance):  # a model gone wrong: as if it had not been read
        return item
    if not reading.looked or not all(
        map(math.isfinite, (reading.answerable, reading.span_score, reading.null_score))
    ):
        return {**item, "relevance": reading.relevance}
    return {
        **item,
        "relevance": reading.relevance,
        "answerable": reading.answerable,
        "span_start": reading.start,
        "span_end": reading.end,
        "span_score": reading.span_score,
        "null_score": reading.null_score,
        "windows": reading.windows,
    }


def glanced_at(item: Found) -> bool:
    """Its relevance is a first guess: the reader has not looked at it."""
    return item["relevance"] is not None and item["answerable"] is None


async def read(
    context: Context,
    query: str,
    found: Sequence[Found],
    *,
    looks: int | None = None,
    rivals: Sequence[Found] = (),
) -> list[Found]:
    """The same passages with what the reader makes of them; those that are gone are left out.

    All are looked at, or those that a glance puts among the best `looks`, rivals included.
    """
    held = await texts(context, [item["id"] for item in found])
    there = [item for item in found if item["id"] in held]
    passages = [held[item["id"]] for item in there]
    choose = None if looks is None else _choice(context, there, looks, rivals)
    readings = await asyncio.to_thread(context.shelf.read, query, passages, choose=choose)
    return [with_reading(item, reading) for item, reading in zip(there, readings, strict=True)]


def _choice(
    context: Context, found: Sequence[Found], looks: int, rivals: Sequence[Found]
) -> Choose:
    blend = context.settings.search.blend
    return best_looks(
        [item["fusion_score"] for item in found],
        blend=blend,
        looks=looks,
        rivals=[
            blended(item["fusion_score"], item["relevance"], blend)
            for item in rivals
            if item["relevance"] is not None and not glanced_at(item)
        ],
    )


async def texts(context: Context, ids: Sequence[str]) -> dict[str, Passage]:
    """Passages by id, from the library or from the web pages that this run has read."""
    pages = context.pages.get(ids)
    rest = [name for name in ids if name not in pages]
    held = await asyncio.to_thread(context.shelf.passages, rest) if rest else {}
    return held | {name: page.as_passage() for name, page in pages.items()}


def graded_by_model(found: Sequence[Found]) -> bool:
    """Whether somebody else than the reader graded any of them."""
    return any(item["graded_by"] not in {None, READER} for item in found)


def kept(found: Sequence[Found]) -> list[Found]:
    return [item for item in found if item["kept"]]


def candidate(item: Found) -> Candidate | None:
    """The numbers that calibration goes by; None when the reader has not seen the passage."""
    if (
        item["relevance"] is None
        or item["answerable"] is None
        or item["span_score"] is None
        or item["null_score"] is None
    ):
        return None
    return Candidate(
        relevance=item["relevance"],
        answerable=item["answerable"],
        span_score=item["span_score"],
        null_score=item["null_score"],
        score=item["score"],
        fusion_score=item["fusion_score"],
        dense_rank=item["dense_rank"],
        lexical_rank=item["lexical_rank"],
    )


def candidates(found: Sequence[Found]) -> list[Candidate]:
    """The numbers of those that the reader has seen, in order."""
    return [one for item in found if (one := candidate(item)) is not None]


def _at(item: Found, score: float) -> Found:
    return {**item, "score": score}


def _marked(item: Found, kept: set[str], shown: set[str]) -> Found:
    if item["id"] in kept:
        why = "the best passage names it" if item["pinned"] else "among the best"
    elif item["id"] not in shown:
        why = REPEATS
    else:
        why = "others fit better"
    return {**item, "kept": item["id"] in kept, "why": why}


# Judges a search by the reader's own scores and decides whether to search again. Asks no model.

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
    read = candidates(found)
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
    read = [item["relevance"] for item in kept(found) if item["relevance"] is not None]
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
