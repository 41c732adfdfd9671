"""Ranks of gold documents, held against scikit-learn, which computes them in another way."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import coverage_error, ndcg_score, recall_score

from secondlook.evaluation.metrics import METRICS, recall, retrieval_metrics

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


@given(gold=GOLD, ranked=st.lists(DOCUMENTS, max_size=30))
@settings(max_examples=100, deadline=None)
def test_a_document_that_comes_again_counts_where_it_comes_first(
    gold: dict[str, int], ranked: list[str]
) -> None:
    assert retrieval_metrics(gold, ranked) == retrieval_metrics(gold, list(dict.fromkeys(ranked)))


def test_names_are_those_of_the_catalogue() -> None:
    of_catalogue = [name for name, item in METRICS.items() if item.group == "retrieval"]
    after = retrieval_metrics({"a": 1}, ["a"])
    before = retrieval_metrics({"a": 1}, ["b", "a"], suffix="_before")
    assert [*after, *before, "recall_shown", "shown"] == of_catalogue
    assert set(after.values()) == {1.0}
    assert before["mrr_before"] == 0.5


def test_nothing_found_is_nothing_gained() -> None:
    assert set(retrieval_metrics({"a": 1}, []).values()) == {0.0}


@pytest.mark.parametrize("gold", [{}, {"a": 0}])
def test_without_gold_there_is_no_figure(gold: dict[str, int]) -> None:
    assert retrieval_metrics(gold, ["a"]) == {}


def test_a_question_costs_next_to_nothing() -> None:
    ranked = [f"document {at}" for at in range(100)]
    retrieval_metrics({"document 7": 1}, ranked)
    began = time.process_time()
    for _ in range(50):
        retrieval_metrics({"document 7": 1}, ranked)
    assert (time.process_time() - began) / 50 < 0.01  # about 0.3 ms where this was written


def test_recall_counts_each_gold_document_once_whatever_the_order() -> None:
    assert recall({"a": 1, "b": 2}, ["x", "b", "b"]) == 0.5
    assert recall({"a": 1, "b": 0}, ["a"]) == 1.0
    assert recall({}, ["a"]) == 0.0
