from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.errors import ModelError
from secondlook.reading.embedders import approximate_starts, unit_vectors
from secondlook.reading.session import Wordpieces
from secondlook.reading.weights import find_weights

ENGLISH = (
    "Photosynthesis converts light energy into chemical energy; in 1779 Jan Ingenhousz showed "
    "that plants need light. The overall reaction (6 CO2 + 6 H2O -> C6H12O6 + 6 O2) is endothermic."
)


@given(st.text(max_size=200))
def test_every_visible_character_belongs_to_a_token(text: str) -> None:
    starts = approximate_starts(text)
    assert starts == sorted(set(starts))
    assert all(not text[start].isspace() for start in starts)
    assert bool(starts) == bool(text.strip())


@pytest.mark.parametrize(
    "text", [ENGLISH, "光合作用は光エネルギーを使う。" * 5, "def f(x): return x**2 + 1\n" * 9]
)
def test_the_estimate_is_on_the_safe_side_of_a_real_tokenizer(text: str) -> None:
    real = Wordpieces(find_weights("embedder").tokenizer).starts(text)
    assert len(real) <= len(approximate_starts(text)) <= 3 * len(real)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[1.0, 2.0], [1.0]], "shape"),
        ([["a", "b"], ["c", "d"]], "shape"),
        ([[1.0, 2.0]], "1 vectors for 2 texts"),
        ([1.0, 2.0], "vectors for 2 texts"),
        ([[1.0], [0.0]], "no direction"),
        ([[1.0], [float("nan")]], "no direction"),
    ],
)
def test_bad_vectors_are_refused(rows: Any, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        unit_vectors(rows, model="m", texts=2)
