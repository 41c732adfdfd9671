"""Answers over tables are right as the evaluator of WikiTableQuestions has it."""

from __future__ import annotations

import pytest

from secondlook.evaluation.metrics import denotations_said as said
from secondlook.evaluation.metrics import right


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["Caf\u00e9 (old)"], ["cafe"]),
        (["1,200"], ["1200.0"]),
        (["1978-10-08"], ["October 8, 1978"]),
        (["8 October"], ["October 8"]),
        (["a", "b", "A"], ["b", "a"]),
        (['"The Quay"[2]'], ["The Quay"]),
    ],
)
def test_right(answers: list[str], expected: list[str]) -> None:
    assert right(answers, expected)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["a"], ["a", "b"]),
        (["a", "b"], ["a"]),
        (["1201"], ["1200"]),
        (["1978-10-09"], ["October 8, 1978"]),
        (["x"] * 50, ["x"]),
        ([], ["x"]),
    ],
)
def test_wrong(answers: list[str], expected: list[str]) -> None:
    assert not right(answers, expected)


def test_values_as_the_set_writes_them() -> None:
    assert [said(one) for one in (True, False, 2.0, 0.1 + 0.2, "x", 7)] == [
        "yes",
        "no",
        "2",
        "0.3",
        "x",
        "7",
    ]
