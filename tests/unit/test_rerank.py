"""The blend of reader and fusion: order, ties, and what the reader has not seen."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.errors import UsageError
from secondlook.retrieval.fusion import Fused, blended, rerank


def fused(*scores: float) -> list[Fused]:
    return [Fused(chr(ord("a") + at), score) for at, score in enumerate(scores)]


def order(entries: list[tuple[Fused, float]]) -> str:
    return "".join(entry.id for entry, _ in entries)


def test_blend_zero_is_fusion_and_blend_one_is_the_reader() -> None:
    entries = fused(1.0, 0.9, 0.8)
    relevance = {"a": 1.0, "b": 3.0, "c": 2.0}
    assert rerank(entries, relevance, blend=0.0) == [(entry, entry.score) for entry in entries]
    assert order(rerank(entries, relevance, blend=1.0)) == "bca"


def test_a_model_gone_wrong_does_not_scramble_the_order() -> None:
    entries = fused(1.0, 0.9)
    assert order(rerank(entries, {"a": math.nan, "b": -1.0}, blend=0.1)) == "ab"
    assert blended(0.5, math.inf, 1.0) == 1.0
    assert blended(0.5, -math.inf, 1.0) == 0.0


@pytest.mark.parametrize("blend", [-0.1, 1.1, math.nan])
def test_a_share_outside_its_range_is_refused(blend: float) -> None:
    with pytest.raises(UsageError) as caught:
        rerank([], {}, blend=blend)
    assert caught.value.hint


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(-50, 50)), max_size=20),
    st.floats(0, 1),
    st.integers(0, 20),
)
def test_scores_fall_and_nothing_is_lost(
    values: list[tuple[float, float]], blend: float, seen: int
) -> None:
    entries = sorted(
        (Fused(f"{at:02}", score) for at, (score, _) in enumerate(values)),
        key=lambda entry: (-entry.score, entry.id),
    )
    relevance = {entry.id: values[int(entry.id)][1] for entry in entries[:seen]}
    ranked = rerank(entries, relevance, blend=blend)
    assert {entry.id for entry, _ in ranked} == {entry.id for entry in entries}
    scores = [score for _, score in ranked]
    assert scores == sorted(scores, reverse=True)


def test_looked_at_comes_before_glanced_at_comes_before_unread() -> None:
    entries = fused(1.0, 0.9, 0.8, 0.7, 0.6)
    relevance = {"a": -8.0, "b": -9.0, "c": 20.0, "d": 30.0}
    ranked = rerank(entries, relevance, blend=0.7, glanced={"c", "d"})
    assert order(ranked) == "abdce"
    scores = [score for _, score in ranked]
    assert scores == sorted(scores, reverse=True)
    assert scores[:2] == [blended(1.0, -8.0, 0.7), blended(0.9, -9.0, 0.7)]
    # What was only glanced at scores no more than the least of what was looked at.
    assert scores[2] == scores[3] == scores[1]
