"""Where the gold documents stand in a ranked list, by the definitions of trec_eval.

They are three sums. The libraries that compute them bring a C program that is fetched while it is
built (no wheel for Linux on ARM) or a compiler for Python.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RECALL_DEPTHS = (1, 5, 20)
NDCG_DEPTH = 10


def retrieval_metrics(
    gold: Mapping[str, int], ranked: Sequence[str], *, suffix: str = ""
) -> dict[str, float]:
    """recall@1, @5 and @20, mrr and ndcg@10, each name with `suffix`; nothing without gold.

    `ranked` is documents, best first; one that comes again counts where it comes first.
    """
    relevant = {document: grade for document, grade in gold.items() if grade > 0}
    if not relevant:
        return {}
    grades = [relevant.get(document, 0) for document in dict.fromkeys(ranked)]
    first = next((place for place, grade in enumerate(grades, start=1) if grade), None)
    ideal = _gain(sorted(relevant.values(), reverse=True))
    figures = {
        **{f"recall@{k}": sum(map(bool, grades[:k])) / len(relevant) for k in RECALL_DEPTHS},
        "mrr": 1 / first if first else 0.0,
        f"ndcg@{NDCG_DEPTH}": _gain(grades) / ideal,
    }
    return {f"{name}{suffix}": value for name, value in figures.items()}


def recall(gold: Mapping[str, int], found: Iterable[str]) -> float:
    """The share of the gold that was found, in whatever order."""
    relevant = {document for document, grade in gold.items() if grade > 0}
    return len(relevant & set(found)) / len(relevant) if relevant else 0.0


def _gain(grades: Sequence[int]) -> float:
    """Discounted cumulative gain: what stands lower counts less, by the logarithm of its place."""
    best = enumerate(grades[:NDCG_DEPTH], start=1)
    return sum(grade / log2(place + 1) for place, grade in best)
