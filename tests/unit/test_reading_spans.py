from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.reading.reader import ANSWER_TOKENS, WINDOW_OVERLAP, best_span, window_starts

logits = st.floats(-20, 20, width=32)


@given(st.lists(st.tuples(logits, logits), min_size=1, max_size=80))
def test_best_span_is_what_trying_every_span_finds(pairs: list[tuple[float, float]]) -> None:
    starts, ends = (np.array(column, np.float32) for column in zip(*pairs, strict=True))
    found = best_span(starts, ends)
    assert found is not None
    score, first, last = found
    every = [
        starts[a] + ends[b]
        for a in range(len(pairs))
        for b in range(a, min(a + ANSWER_TOKENS, len(pairs)))
    ]
    assert score == pytest.approx(max(every))
    assert starts[first] + ends[last] == score
    assert 0 <= last - first < ANSWER_TOKENS


def test_an_empty_passage_has_no_span() -> None:
    assert best_span(np.empty(0, np.float32), np.empty(0, np.float32)) is None


@given(tokens=st.integers(0, 3000), room=st.integers(317, 380))
def test_windows_cover_every_token_and_overlap(tokens: int, room: int) -> None:
    starts = window_starts(tokens, room)
    assert starts[0] == 0
    assert starts[-1] + room >= tokens
    assert all(later - earlier <= room - WINDOW_OVERLAP for earlier, later in pairwise(starts))
    assert len(starts) == 1 or starts[-1] + WINDOW_OVERLAP < tokens
