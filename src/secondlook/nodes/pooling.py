"""A second search joined with what was there before, and read no further than it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.nodes import ranking
from secondlook.nodes.assess import measured, min_quality

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context
    from secondlook.state import Found

_AT_ONCE = 4
"""Passages read between two looks at whether the evidence is good enough by now."""


def pooled(known: dict[str, Found], again: Sequence[Found], *, replace: bool) -> list[Found]:
    """Each passage once, with the better of its two fusion scores; readings are kept."""
    merged = [_merged(known[item["id"]], item) if item["id"] in known else item for item in again]
    if replace:
        return merged
    ids = {item["id"] for item in again}
    return [*merged, *(item for item in known.values() if item["id"] not in ids)]


def _merged(read: Found, again: Found) -> Found:
    better = max(read["fusion_score"], again["fusion_score"])
    return {**read, "fusion_score": better}


async def read_on(
    context: Context, query: str, pool: list[Found], *, most: int
) -> tuple[list[Found], int]:
    """All of them, best first, and how many were read: what nobody has read yet, until the evidence
    looks good enough, at most `most`. What a glance does not put among the best of all that was
    read so far is not looked at."""
    search, k = context.settings.search, context.settings.answer.k
    calibration = context.calibration
    limit = min_quality(context.settings, calibration)
    unread = [item for item in pool if item["relevance"] is None]
    done = [item for item in pool if item["relevance"] is not None]
    unread.sort(key=lambda item: (-item["fusion_score"], item["id"]))
    if not search.rerank:
        return ranking.ranked(pool, blend=search.blend, k=k), 0
    read = 0
    while unread and read < most:
        batch, unread = unread[:_AT_ONCE], unread[_AT_ONCE:]
        done += await ranking.read(context, query, batch, looks=search.looks, rivals=done)
        read += len(batch)
        placed = ranking.ranked(done, blend=search.blend, k=k)
        if (measured(placed, calibration) or 0.0) >= limit:
            break
    return ranking.ranked([*done, *unread], blend=search.blend, k=k), read
