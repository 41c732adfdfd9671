"""Every number of an explanation must be in the result, at the digits that it shows."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.nodes.explain import stray_numbers, values_of
from tests.support.judging import frame, of_frame, outcome

STANDS: list[tuple[str, list[Any]]] = [
    ("The mean fare is 34.65.", [34.6512]),
    ("The mean fare is about 35.", [34.6512]),
    ("The fares add up to 1,386,000.", [1386000]),
    ("The fares add up to 1.4 million.", [1386000]),
    ("Revenue was $12.5M.", [12_483_000]),
    ("The share is 42%.", [0.4213]),
    ("The share is 42 per cent.", [42.13]),
    ("There are twelve groups.", [{"n": 12}]),
    ("Sales fell by 3.2.", [-3.2]),
    ("There is a negative correlation of 0.3.", [-0.3]),
    ("The correlation is \u22120.30.", [-0.3]),
    ("In 2019 it was 4.5.", [frame(["year", "mean"], ["2019", 4.5])]),
    ("There are 1,309 rows.", [frame(["a"], ["x"], total=1309)]),
    ("It happened on 2020-03-01.", ["2020-03-01T00:00:00"]),
    ("The product is HM-2024-07.", ["HM-2024-07"]),
    ("1. The mean is 4.", [4]),
    ("There are no numbers here.", []),
]
STRAY: list[tuple[str, list[Any], list[str]]] = [
    ("The mean fare is 34.65.", [34.7], ["34.65"]),
    ("The mean is 34.65, 12 more than before.", [34.65], ["12"]),
    ("The share is 42.", [0.4213], ["42"]),
    ("The correlation is 0.3.", [-0.3], ["0.3"]),
    ("Revenue was 12.5.", [12_483_000], ["12.5"]),
    ("Revenue was 1.3 million.", [1_386_000], ["1.3 million"]),
    ("It happened on 2020-03-02.", ["2020-03-01"], ["2020-03-02"]),
    ("There are 7.", [True, None, math.nan, math.inf, 10**400], ["7"]),
]


@pytest.mark.parametrize(("sentence", "values"), STANDS)
def test_a_number_that_the_result_holds_stands(sentence: str, values: list[Any]) -> None:
    assert stray_numbers(sentence, values) == []


@pytest.mark.parametrize(("sentence", "values", "stray"), STRAY)
def test_another_number_is_found(sentence: str, values: list[Any], stray: list[str]) -> None:
    assert stray_numbers(sentence, values) == stray


def test_numbers_of_the_question_and_of_columns_may_be_said() -> None:
    said = "Of those over 30 in Q1 2019, 4.5 is the mean."
    assert stray_numbers(said, [4.5]) == ["30", "Q1", "2019"]
    assert stray_numbers(said, [4.5], allowed=["Mean of those over 30 in 2019?", "Q1"]) == []


def test_what_an_outcome_holds() -> None:
    ended = outcome({"n": 3}, frames={"by": frame(["a"], [7])})
    assert stray_numbers("3 and 7.", values_of(ended)) == []
    assert stray_numbers("3 and 7.", values_of(of_frame(["a"], [3], [7]))) == []
    assert stray_numbers("8.", values_of(ended)) == ["8"]


def test_a_result_too_deep_is_not_followed() -> None:
    deep: Any = 7.5
    for _ in range(40):
        deep = [deep]
    assert stray_numbers("It is 7.5.", [deep]) == ["7.5"]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.floats(-1e9, 1e9, allow_nan=False), st.integers(0, 4))
def test_a_value_may_be_said_at_any_number_of_digits(value: float, decimals: int) -> None:
    assert stray_numbers(f"The value is {value:,.{decimals}f}.", [value]) == []


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(100, 10**6), st.integers(1, 50))
def test_a_whole_number_that_is_not_there_is_found(value: int, off: int) -> None:
    assert stray_numbers(f"The value is {value + off}.", [value]) == [str(value + off)]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.text(max_size=120))
def test_any_sentence_is_survived(sentence: str) -> None:
    assert isinstance(stray_numbers(sentence, [1.0, "x"]), list)
