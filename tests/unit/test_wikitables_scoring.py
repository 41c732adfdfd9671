"""Answers over tables are right as the evaluator of WikiTableQuestions has it."""

from __future__ import annotations

import pytest

from benchmarks.wikitables import denotations_said as said
from benchmarks.wikitables import right, same


@pytest.mark.parametrize(
    ("answers", "expected", "is_right"),
    [
        (["Caf\u00e9 (old)"], ["cafe"], True),
        (["1,200"], ["1200.0"], True),
        (["1978-10-08"], ["October 8, 1978"], True),
        (["a", "b", "A"], ["b", "a"], True),
        (['"The Quay"[2]'], ["The Quay"], True),
        (["a"], ["a", "b"], False),
        (["a", "b"], ["a"], False),
        (["1978-10-09"], ["October 8, 1978"], False),
        (["x"] * 50, ["x"], False),
        ([], ["x"], False),
    ],
)
def test_right_and_wrong(answers: list[str], expected: list[str], *, is_right: bool) -> None:
    assert right(answers, expected) is is_right


def test_values_as_the_set_writes_them() -> None:
    values = (True, False, 2.0, 0.1 + 0.2, "x", 7)
    assert [said(one) for one in values] == ["yes", "no", "2", "0.3", "x", "7"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("South Korea", "south korea"),
        ('"Help!"', "help!"),
        ("1 June 2010", "Jun 1, 2010"),
        ("\u2212 3", "- 3"),
    ],
)
def test_denotations_are_the_same_however_written(one: str, other: str) -> None:
    assert same(one, other)
    assert same(other, one)
