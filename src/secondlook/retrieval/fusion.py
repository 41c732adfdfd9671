"""Weighted reciprocal rank fusion of a dense and a lexical result list."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from secondlook.reading.port import Choose
    from secondlook.retrieval.index.port import Scored


@dataclass(frozen=True, slots=True)
class Fused:
    id: str
    score: float  # 1.0 for what is first in every list that counts
    dense_rank: int | None = None  # 1 is best; None when the dense search did not return it
    dense_score: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None


def fuse(
    dense: Sequence[Scored],
    lexical: Sequence[Scored],
    *,
    dense_weight: float,
    lexical_weight: float,
    k: int = 60,
) -> list[Fused]:
    """The entries of both lists, best first, ties by id. Each scores weight / (k + rank) in a list,
    scaled so that the best possible sum is 1.0; a list of weight zero adds no entries."""
    if min(dense_weight, lexical_weight, k) < 0 or not 0 < dense_weight + lexical_weight < math.inf:
        raise UsageError(
            "search weights must not be negative or both 0, nor the rank constant negative: "
            f"dense {dense_weight!r}, lexical {lexical_weight!r}, k {k!r}",
            hint="use weights such as 0.5 and 0.5, or 0.9 and 0.1",
        )
    # Of an id that comes twice the better place counts.
    in_dense, in_lexical = (
        {hit.id: (rank, hit.score) for rank, hit in reversed([*enumerate(found, 1)])}
        for found in (dense, lexical)
    )
    fused = []
    for name in {*(in_dense if dense_weight else ()), *(in_lexical if lexical_weight else ())}:
        dense_rank, dense_score = in_dense.get(name, (None, None))
        lexical_rank, lexical_score = in_lexical.get(name, (None, None))
        score = dense_weight * ((k + 1) / (k + dense_rank)) if dense_rank else 0.0
        score += lexical_weight * ((k + 1) / (k + lexical_rank)) if lexical_rank else 0.0
        score /= dense_weight + lexical_weight
        fused.append(Fused(name, score, dense_rank, dense_score, lexical_rank, lexical_score))
    return sorted(fused, key=lambda entry: (-entry.score, entry.id))


# Blends what the reader thinks of a passage with what the two searches thought of it.

RELEVANCE_SCALE = 8.0  # logits of relevance are divided by this before the sigmoid
Place = tuple[str, int, int]  # document, first and last character
Item = TypeVar("Item")


def best_looks(
    fusion: Sequence[float], *, blend: float, looks: int, rivals: Sequence[float] = ()
) -> Choose:
    """Chooses, by a glance at each, which passages are among the best `looks`; `rivals` are the
    final scores of what was looked at before. Ties go to the first."""

    def choose(glances: Sequence[float]) -> list[int]:
        scored = [
            (blended(score, glance, blend), score)
            for score, glance in zip(fusion, glances, strict=True)
        ]
        places = sorted(range(len(scored)), key=lambda at: (-scored[at][0], -scored[at][1], at))
        better = [sum(rival >= scored[at][0] for rival in rivals) for at in places]
        return [at for rank, at in enumerate(places) if rank + better[rank] < looks]

    return choose


def rerank(
    fused: Sequence[Fused],
    relevance: Mapping[str, float],
    *,
    blend: float,
    glanced: Collection[str] = (),
) -> list[tuple[Fused, float]]:
    """The entries with their final scores, best first, ties by id, from the reader's logits. Those
    in `glanced` are first guesses and rank below what was looked at; unseen ones rank last."""
    if not 0 <= blend <= 1:
        raise UsageError(
            f"the share of the reranker must lie between 0 and 1: {blend!r}",
            hint="0 keeps the order of the searches, 1 takes that of the reader",
        )
    floors: list[list[tuple[Fused, float]]] = [[], [], []]
    for entry in fused:
        floor = 2 if entry.id not in relevance else 1 if entry.id in glanced else 0
        score = blended(entry.score, relevance.get(entry.id, -math.inf), blend)
        floors[floor].append((entry, score))
    placed: list[tuple[Fused, float]] = []
    for scored in floors:
        scored.sort(key=lambda item: (-item[1], -item[0].score, item[0].id))
        ceiling = placed[-1][1] if placed else math.inf
        placed += [(entry, min(score, ceiling)) for entry, score in scored]
    return placed


def distinct(ranked: Sequence[Item], *, place: Callable[[Item], Place]) -> list[Item]:
    """Without passages most of whose text a better one of the same document already shows.
    Neighbours that share a sentence both stay: most of what each says is its own."""
    kept: dict[str, list[tuple[int, int]]] = {}
    found = []
    for item in ranked:
        document, start, end = place(item)
        better = kept.setdefault(document, [])
        if all(min(end, e) - max(start, s) <= 0.5 * (end - start) for s, e in better):
            better.append((start, end))
            found.append(item)
    return found


def blended(fusion: float, relevance: float, blend: float) -> float:
    value = relevance / RELEVANCE_SCALE
    if math.isnan(value):  # a model gone wrong must not scramble the order
        seen = 0.0
    elif value >= 0:
        seen = 1 / (1 + math.exp(-value))
    else:
        seen = math.exp(value) / (1 + math.exp(value))
    return (1 - blend) * fusion + blend * seen
