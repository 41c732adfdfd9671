"""Found passages put in order, read, marked and judged. Asks no model."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.state import READER, Asked, Found, Quality, Trace, step
from secondlook.reading.calibration import Calibration, Candidate
from secondlook.retrieval.search import Fused, best_looks, blended, distinct, rerank
from secondlook.roles.screen import without_orders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.passage import Passage
    from secondlook.reading.port import Reading
    from secondlook.settings.sections import Settings

REPEATS = "repeats a better passage"
_SAID = {
    "answer": "The search looks good enough.",
    "fall_back": "The search looks poor: looking again, by words.",
    "search_web": "The library looks empty-handed: looking on the web.",
}


def ranked(found: Sequence[Found], *, blend: float, k: int) -> list[Found]:
    """Best first, the best `k` without repeats kept; what is pinned takes the last of their
    places."""
    by_id = {item["id"]: item for item in found}
    relevance = {item["id"]: item["relevance"] for item in found if item["relevance"] is not None}
    placed = sorted(found, key=lambda item: (-item["fusion_score"], item["id"]))
    if relevance:
        fused = [Fused(item["id"], item["fusion_score"]) for item in found]
        glanced = {item["id"] for item in found if glanced_at(item)}
        order = rerank(fused, relevance, blend=blend, glanced=glanced)
        placed = [{**by_id[entry.id], "score": score} for entry, score in order]
    unlike = distinct(placed, place=lambda item: (item["document"], item["start"], item["end"]))
    pinned = [item["id"] for item in unlike if item["pinned"]][:k]
    others = [item["id"] for item in unlike if not item["pinned"]]
    best = {*others[: k - len(pinned)], *pinned}
    shown = {item["id"] for item in unlike}
    marked: list[Found] = []
    for item in placed:
        why = "others fit better" if item["id"] in shown else REPEATS
        if item["id"] in best:
            why = "the best passage names it" if item["pinned"] else "among the best"
        marked.append({**item, "kept": item["id"] in best, "why": why})
    return kept_first(marked) if any(item["pinned"] for item in marked) else marked


def kept_first(found: Sequence[Found]) -> list[Found]:
    """What an answer may rest on before all else, each in its order."""
    return sorted(found, key=lambda item: not item["kept"])


def kept(found: Sequence[Found]) -> list[Found]:
    return [item for item in found if item["kept"]]


def glanced_at(item: Found) -> bool:
    """Its relevance is a first guess: the reader has not looked at it."""
    return item["relevance"] is not None and item["answerable"] is None


def graded_by_model(found: Sequence[Found]) -> bool:
    """Whether a model graded any of them."""
    return any(item["graded_by"] not in {None, READER} for item in found)


async def texts(context: Context, ids: Sequence[str]) -> dict[str, Passage]:
    """Passages by id, from the library or from the web pages that this run has read; without what
    gives a model orders in them, where the rest stands alone."""
    pages = context.pages.get(ids)
    rest = [name for name in ids if name not in pages]
    held = await asyncio.to_thread(context.shelf.passages, rest) if rest else {}
    held |= {name: page.as_passage() for name, page in pages.items()}
    chosen = context.settings.answer
    if not chosen.enable_quarantine:
        return held
    return {
        name: passage
        if passage.document in chosen.trusted
        else replace(passage, text=without_orders(passage.text))
        for name, passage in held.items()
    }


async def read(
    context: Context,
    query: str,
    found: Sequence[Found],
    *,
    looks: int | None = None,
    rivals: Sequence[Found] = (),
) -> list[Found]:
    """The same passages with what the reader makes of them; those that are gone are left out. All
    are looked at, or those that a glance puts among the best `looks`, rivals included."""
    held = await texts(context, [item["id"] for item in found])
    there = [item for item in found if item["id"] in held]
    choose, blend = None, context.settings.search.blend
    if looks is not None:
        others = [
            blended(item["fusion_score"], item["relevance"], blend)
            for item in rivals
            if item["relevance"] is not None and not glanced_at(item)
        ]
        scores = [item["fusion_score"] for item in there]
        choose = best_looks(scores, blend=blend, looks=looks, rivals=others)
    passages = [held[item["id"]] for item in there]
    readings = await asyncio.to_thread(context.shelf.read, query, passages, choose=choose)
    return [with_reading(item, reading) for item, reading in zip(there, readings, strict=True)]


def with_reading(item: Found, reading: Reading) -> Found:
    if not math.isfinite(reading.relevance):  # a model gone wrong: as if it had not been read
        return item
    scores = (reading.answerable, reading.span_score, reading.null_score)
    if not reading.looked or not all(map(math.isfinite, scores)):
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


def candidate(item: Found) -> Candidate | None:
    """The numbers that calibration goes by; None when the reader has not seen the passage."""
    relevance, answerable = item["relevance"], item["answerable"]
    span, null = item["span_score"], item["null_score"]
    if relevance is None or answerable is None or span is None or null is None:
        return None
    return Candidate(
        relevance=relevance,
        answerable=answerable,
        span_score=span,
        null_score=null,
        score=item["score"],
        fusion_score=item["fusion_score"],
        dense_rank=item["dense_rank"],
        lexical_rank=item["lexical_rank"],
    )


def candidates(found: Sequence[Found]) -> list[Candidate]:
    """The numbers of those that the reader has seen, in order."""
    return [one for item in found if (one := candidate(item)) is not None]


# Whether a search was good enough, by the reader's own scores.


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


class Judged(Quality, Trace):
    pass


async def assess(state: Asked, runtime: Runtime[Context]) -> Judged:
    """After the first search: good enough, or look again?"""
    settings = runtime.context.settings
    quality = value = measured(state["found"], runtime.context.calibration)
    limit = min_quality(settings, runtime.context.calibration)
    if settings.adaptive.check != "calibrated":  # the lowest relevance among the kept
        read = [item["relevance"] for item in kept(state["found"])]
        value = min((one for one in read if one is not None), default=None)
        limit = settings.adaptive.min_rerank_score
    # Where nothing could be read there is nothing to judge by, and a second search would not help.
    again = settings.adaptive.enable_adaptive_retrieval and value is not None and value < limit
    way = "fall_back" if again else _web_or_answer(quality, runtime.context)
    return _decided("assess", way, quality, value, limit=limit, check=settings.adaptive.check)


async def assess_again(state: Asked, runtime: Runtime[Context]) -> Judged:
    """After the second search: the web, if that is allowed and the library looks empty-handed."""
    quality = measured(state["found"], runtime.context.calibration)
    way = _web_or_answer(quality, runtime.context)
    limit = min_web_quality(runtime.context.settings, runtime.context.calibration)
    return _decided("assess_again", way, quality, quality, limit=limit, check="web")


def _web_or_answer(quality: float | None, context: Context) -> str:
    """Never the web on a mere suspicion: what nobody could judge stays on this machine."""
    if quality is None or not context.settings.web.enable_web_search:
        return "answer"
    poor = quality < min_web_quality(context.settings, context.calibration)
    return "search_web" if poor else "answer"


def _decided(
    node: str, way: str, quality: float | None, value: float | None, *, limit: float, check: str
) -> Judged:
    why = "nothing was read, so nothing can be judged"
    if value is not None:
        why = f"{check} is {value:.2f}, {'below' if value < limit else 'not below'} {limit:.2f}"
    numbers = {"quality": quality, "value": value, "threshold": limit, "check": check}
    told = step(node, _SAID[way], numbers, route=(way, why))
    return {"quality": quality, "route": way, "steps": [told], "warnings": []}
