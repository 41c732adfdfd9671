"""Where the gold documents stand in a ranked list, by the measures of trec_eval."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def retrieval_metrics(
    gold: Mapping[str, int], ranked: Sequence[str], *, suffix: str = ""
) -> dict[str, float]:
    """recall@1, @5 and @20, mrr and ndcg@10, each name with `suffix`; nothing without gold.

    `ranked` is documents, best first; one that comes again counts where it comes first. Without
    the extra `eval` there is nobody to measure it, and nothing is returned.
    """
    relevant = {document: grade for document, grade in gold.items() if grade > 0}
    if not relevant or not can_measure():
        return {}
    import ir_measures

    # trec_eval orders by score, then by name, and takes UTF-8 only: numbers for both avoid that.
    ids = {document: str(at) for at, document in enumerate(dict.fromkeys((*ranked, *relevant)))}
    judged = {"q": {ids[document]: grade for document, grade in relevant.items()}}
    run = {"q": {ids[document]: -float(ids[document]) for document in ranked}}
    names = _measures()
    figures = dict.fromkeys(names.values(), 0.0)
    for found in ir_measures.iter_calc(list(names), judged, run):
        figures[names[found.measure]] = float(found.value)
    return {f"{name}{suffix}": value for name, value in figures.items()}


def recall(gold: Mapping[str, int], found: Iterable[str]) -> float:
    """The share of the gold that was found, in whatever order."""
    relevant = {document for document, grade in gold.items() if grade > 0}
    return len(relevant & set(found)) / len(relevant) if relevant else 0.0


@cache
def can_measure() -> bool:
    """Whether the extra `eval` is installed."""
    return find_spec("ir_measures") is not None


@cache
def _measures() -> dict[Any, str]:
    from ir_measures import RR, R, nDCG

    recalls = {R @ k: f"recall@{k}" for k in (1, 5, 20)}
    return {**recalls, RR: "mrr", nDCG @ 10: "ndcg@10"}
