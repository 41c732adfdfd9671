"""Ranks of gold documents, held against scikit-learn, which computes them in another way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import coverage_error, ndcg_score, recall_score

from secondlook.evaluation.metrics import retrieval_metrics

# Names whose order is not that of their ranks, and some that trec_eval could not read.
DOCUMENTS = st.sampled_from([*"zyxwvutsrqponmlkjihgfedcba", "", "a b\tc", "größe", "\ud800", "\0"])
GOLD = st.dictionaries(DOCUMENTS, st.integers(1, 3), min_size=1, max_size=5)


@given(gold=GOLD, ranked=st.lists(DOCUMENTS, max_size=30, unique=True))
@settings(max_examples=200, deadline=None)
def test_figures_are_those_of_an_independent_implementation(
    gold: dict[str, int], ranked: list[str]
) -> None:
    figures = retrieval_metrics(gold, ranked)
    # Gold that was not found stands below all, with a neutral document at the very end.
    unfound = [name for name in gold if name not in ranked]
    everything = [*ranked, *unfound, "none of them"]
    grades = np.array([[gold.get(name, 0) for name in everything]])
    scores = np.array([[float(-at) for at in range(len(everything))]])
    found = np.array([name in ranked for name in everything])
    for k in (1, 5, 20):
        within = found & (np.arange(len(everything)) < k)
        assert figures[f"recall@{k}"] == pytest.approx(recall_score(grades[0] > 0, within))
    assert figures["mrr"] == pytest.approx(_reciprocal_rank(grades, scores, found))
    reached = ndcg_score(np.where(found, grades, 0), scores, k=10) if found.any() else 0.0
    assert figures["ndcg@10"] == pytest.approx(
        reached * _best_gain(np.where(found, grades, 0)) / _best_gain(grades)
    )


def _reciprocal_rank(grades: np.ndarray, scores: np.ndarray, found: np.ndarray) -> float:
    """How far one must go to cover the first that is gold and was found."""
    at = np.flatnonzero((grades[0] > 0) & found)
    if not at.size:
        return 0.0
    first = np.zeros_like(grades)
    first[0, at[0]] = 1
    return float(1 / coverage_error(first, scores))


def _best_gain(grades: np.ndarray) -> float:
    best = np.sort(grades[0])[::-1][:10]
    return float((best / np.log2(np.arange(2, len(best) + 2))).sum())
