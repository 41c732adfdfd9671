"""Weighted reciprocal rank fusion of a dense and a lexical result list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.retrieval.index.port import Scored


@dataclass(frozen=True, slots=True)
class Fused:
    """One entry of the fused list, with where and how each search found it."""

    id: str
    score: float
    """1.0 for what is first in every list that counts."""
    dense_rank: int | None = None
    """1 is best; None when the dense search did not return it."""
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
    """The entries of both lists, best first, ties by id.

    An entry scores weight / (k + rank) in each list, scaled so that the best possible sum is 1.0;
    a list of weight zero counts for nothing
    and adds no entries, though its ranks and scores are still told.
    """
    _check(dense_weight, lexical_weight, k)
    in_dense = _by_id(dense)
    in_lexical = _by_id(lexical)
    ids = dict.fromkeys(
        [*(in_dense if dense_weight else ()), *(in_lexical if lexical_weight else ())]
    )
    total = dense_weight + lexical_weight
    fused = []
    for entry_id in ids:
        dense_rank, dense_score = in_dense.get(entry_id, (None, None))
        lexical_rank, lexical_score = in_lexical.get(entry_id, (None, None))
        score = _share(dense_weight, k, dense_rank) + _share(lexical_weight, k, lexical_rank)
        fused.append(
            Fused(entry_id, score / total, dense_rank, dense_score, lexical_rank, lexical_score)
        )
    return sorted(fused, key=lambda entry: (-entry.score, entry.id))


def _check(dense_weight: float, lexical_weight: float, k: int) -> None:
    if not (0 <= dense_weight < float("inf") and 0 <= lexical_weight < float("inf")):
        raise UsageError(
            f"search weights must not be negative: dense {dense_weight!r}, "
            f"lexical {lexical_weight!r}",
            hint="use weights such as 0.5 and 0.5, or 0.9 and 0.1",
        )
    if dense_weight + lexical_weight == 0:
        raise UsageError(
            "both search weights are zero, so nothing can be found",
            hint="give the dense or the lexical search a weight above zero",
        )
    if k < 0:
        raise UsageError(f"the rank constant k must not be negative: {k!r}", hint="60 is usual")


def _by_id(scored: Sequence[Scored]) -> dict[str, tuple[int, float]]:
    ranks: dict[str, tuple[int, float]] = {}
    for rank, entry in enumerate(scored, start=1):
        ranks.setdefault(entry.id, (rank, entry.score))
    return ranks


def _share(weight: float, k: int, rank: int | None) -> float:
    return weight * ((k + 1) / (k + rank)) if rank is not None else 0.0
