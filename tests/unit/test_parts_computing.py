"""Values are read as texts state them, and what follows from them is computed by a known rule."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.roles.arithmetic import Stated, computed, read_date, read_number, sentence

DAYS = st.dates(min_value=date(1000, 1, 1), max_value=date(2099, 12, 31))
WHOLE = st.integers(min_value=0, max_value=10**12)


def of(*texts: str) -> list[Stated]:
    return [Stated(text, f"Name {at}") for at, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("September 4, 1981", (1981, 9, 4)),
        ("1981-09-04", (1981, 9, 4)),
        ("4.9.1981", (1981, 9, 4)),
        ("25/9/1981", (1981, 9, 25)),
        ("4/9/1981", (1981,)),
        ("May 2001", (2001, 5)),
        ("in 1981", (1981,)),
        ("44 BC", (-44,)),
        ("1981 (aged 20 in 2001)", (1981,)),
        ("1981, namely September 4, 1981", (1981, 9, 4)),
    ],
)
def test_a_date_is_read_however_it_is_written(text: str, day: tuple[int, ...]) -> None:
    found = read_date(text)
    assert found is not None
    assert found.day == day
    assert found.written in text


@pytest.mark.parametrize(
    "text",
    [
        "the 1960s",
        "1994-95",
        "between 1962 and 1964",
        "31 February 2001",
        "",
        "1,981",
        "2023-14-01",
    ],
)
def test_what_is_no_one_date_is_not_read(text: str) -> None:
    assert read_date(text) is None


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("330 metres (1,083 ft)", "330", "metres"),
        ("5,295,000 in 2011", "5295000", ""),
        ("$5.3 million", "5300000", "$"),
        ("12 per cent", "12", "%"),
        ("twenty-three", "23", ""),
        ("two thousand people", "2000", "people"),
        ("20\u202f000 km", "20000", "kilometres"),
        ("\u22123 %", "-3", "%"),
        ("1889", "1889", ""),
    ],
)
def test_a_number_is_read_with_its_unit(text: str, number: str, unit: str) -> None:
    found = read_number(text)
    assert found is not None
    assert (found.number, found.unit) == (Decimal(number), unit)
    assert found.written in text


@pytest.mark.parametrize(
    "text",
    ["", "1.2.3", "12th", "A4", "10-12", "6 ft 2 inches", "one of them", "1,23", "20:52", "9" * 30],
)
def test_what_is_no_one_number_is_not_read(text: str) -> None:
    assert read_number(text) is None


def test_a_birth_and_a_first_grammy_are_23_years_apart() -> None:
    assert computed("years", of("1981", "2004")) == "23 years"
    full = of("September 4, 1981", "February 8, 2004")
    assert computed("years", full) == "23 years"
    assert "(22 full)" in sentence("years", full, "23 years")
    assert "full" not in sentence("years", of("1981", "2004"), "23 years")


@given(DAYS, DAYS)
def test_the_earlier_is_not_the_later(one: date, other: date) -> None:
    both = of(one.isoformat(), other.isoformat())
    least, most = computed("least", both), computed("most", both)
    if one == other:
        assert least is most is None
    else:
        assert least == both[one > other].name
        assert {least, most} == {"Name 0", "Name 1"}


@given(WHOLE, WHOLE)
def test_difference_and_sum_are_those_of_numbers(one: int, other: int) -> None:
    both = of(f"{one:,} tonnes", f"{other} tonnes")
    for operation, value in (("difference", abs(one - other)), ("sum", one + other)):
        said = computed(operation, both)  # type: ignore[arg-type]
        assert said is not None
        found = read_number(said)
        assert found is not None
        assert (int(found.number), found.unit) == (value, "tonnes")


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_answered_or_refused(one: str, other: str) -> None:
    for operation in ("difference", "sum", "least", "most", "same", "years"):
        result = computed(operation, of(one, other))
        assert result is None or result.strip()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("American", "an American", "yes"),
        ("American", "the United States", "yes"),
        ("American film director", "director", "yes"),
        ("American", "Scottish", "no"),
        ("Peru", "Peruvian", None),
        ("American director", "American actor", None),
        ("", "Scottish", None),
    ],
)
def test_whether_two_are_the_same(one: str, other: str, same: str | None) -> None:
    assert computed("same", of(one, other)) == same
    assert computed("same", of(other, one)) == same
