"""Weighted reciprocal rank fusion: arithmetic, ties, switched-off lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.errors import UsageError
from secondlook.retrieval.fusion import fuse
from secondlook.retrieval.index.port import Scored


def scored(*ids: str) -> list[Scored]:
    return [Scored(name, 1.0 - rank / 100) for rank, name in enumerate(ids)]


def test_scores_ranks_and_order_follow_the_formula() -> None:
    fused = fuse(scored("a", "b"), scored("b", "c"), dense_weight=1, lexical_weight=3, k=60)
    assert [entry.id for entry in fused] == ["b", "c", "a"]
    b, c, a = fused
    assert b.score == pytest.approx((1 / 62 + 3 / 61) / (4 / 61))
    assert c.score == pytest.approx((3 / 62) / (4 / 61))
    assert a.score == pytest.approx((1 / 61) / (4 / 61))
    assert (b.dense_rank, b.lexical_rank, b.dense_score, b.lexical_score) == (2, 1, 0.99, 1.0)
    assert (c.dense_rank, c.dense_score, c.lexical_rank) == (None, None, 2)


def test_weight_zero_switches_a_list_off_but_its_ranks_are_told() -> None:
    fused = fuse(scored("a", "b"), scored("b", "c"), dense_weight=1.0, lexical_weight=0.0)
    assert [(entry.id, entry.lexical_rank) for entry in fused] == [("a", None), ("b", 1)]
    fused = fuse(scored("a", "b"), scored("b", "c"), dense_weight=0.0, lexical_weight=2.0)
    assert [(entry.id, entry.dense_rank) for entry in fused] == [("b", 2), ("c", None)]


@pytest.mark.parametrize(
    ("dense", "lexical", "k"),
    [(-1.0, 1.0, 60), (1.0, float("nan"), 60), (float("inf"), 1, 60), (0.0, 0.0, 60), (1, 1, -1)],
)
def test_nonsense_is_refused(dense: float, lexical: float, k: int) -> None:
    with pytest.raises(UsageError) as caught:
        fuse([], [], dense_weight=dense, lexical_weight=lexical, k=k)
    assert caught.value.hint


names = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(names, names, st.floats(0.01, 1), st.floats(0.01, 1), st.integers(0, 100))
def test_fusion_is_a_sorted_union_with_scores_in_range(
    left: list[str], right: list[str], dense: float, lexical: float, k: int
) -> None:
    fused = fuse(scored(*left), scored(*right), dense_weight=dense, lexical_weight=lexical, k=k)
    assert {entry.id for entry in fused} == {*left, *right}
    assert all(0 < entry.score <= 1 + 1e-9 for entry in fused)
    assert fused == sorted(fused, key=lambda entry: (-entry.score, entry.id))
