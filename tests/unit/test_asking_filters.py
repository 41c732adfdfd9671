"""Conditions on rows that a question sets, as data."""

from __future__ import annotations

from typing import Any

import pytest

from secondlook.tables.query import AnyOf, Filter
from secondlook.tables.understand.filters import condition_sets, conditions
from secondlook.tables.understand.rows import parse
from tests.support.row_tables import FILMS, GAMES, MEDALS, ORDERS, table_of

DATES = """Event|Opened
Fair|March 4, 2004
Regatta|12 July 2004
Market|2005-01-20
Parade|May 2006"""


def found(question: str, table: str) -> set[tuple[Any, ...]]:
    """Column, comparison and value of each condition, the rows of sums apart."""
    clauses = conditions(question, [table_of(table)])
    made = set()
    for clause in clauses:
        one = clause.condition
        assert isinstance(one, Filter)
        value = one.values if one.comparison == "in" else one.value
        sign = f"not {one.comparison}" if one.negated else one.comparison
        made.add((one.column, sign, value))
    return made


@pytest.mark.parametrize(
    ("words", "sign"),
    [
        ("at least 6", ">="),
        ("no less than 6", ">="),
        ("6 or more", ">="),
        (">= 6", ">="),
        ("\u2265 6", ">="),
        ("at most 6", "<="),
        ("no more than 6", "<="),
        ("6 or less", "<="),
        ("<= 6", "<="),
        ("more than 6", ">"),
        ("over 6", ">"),
        ("> 6", ">"),
        ("less than six", "<"),
        ("under 6", "<"),
        ("< 6", "<"),
        ("exactly 6", "="),
        ("= 6", "="),
        ("!= 6", "!="),
    ],
)
def test_a_comparison_in_words_or_signs(words: str, sign: str) -> None:
    assert found(f"how many orders have quantity {words}?", ORDERS) == {("quantity", sign, 6)}


def test_the_column_may_be_named_after_the_number() -> None:
    assert found("nations with at least three silver medals", MEDALS) == {("Silver", ">=", 3)}


def test_between_two_numbers() -> None:
    expected = {("price", ">=", 5), ("price", "<=", 8)}

    assert found("how many orders have a price between 5 and 8?", ORDERS) == expected


def test_over_one_and_under_the_other() -> None:
    expected = {("price", ">", 5), ("price", "<", 8)}

    assert found("orders with a price over 5 but under 8", ORDERS) == expected


@pytest.mark.parametrize(
    ("words", "sign"),
    [
        ("in 1996", "="),
        ("after 1996", ">"),
        ("since 1996", ">="),
        ("before 1996", "<"),
        ("until 1996", "<="),
        ("prior to the year 1996", "<"),
    ],
)
def test_years(words: str, sign: str) -> None:
    assert found(f"which films were made {words}?", FILMS) == {("Year", sign, 1996)}


def test_a_decade() -> None:
    expected = {("Year", ">=", 1990), ("Year", "<=", 1999)}

    assert found("how many films were made in the 1990s?", FILMS) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("in july", {("Opened", "=", 7)}),
        ("after march 2004", {("Opened", ">", 20040399)}),
        ("since march 2004", {("Opened", ">=", 20040300)}),
        ("before 5 may 2006", {("Opened", "<", 20060505)}),
        ("prior to may 2006", {("Opened", "<", 20060500)}),
        ("until may 2006", {("Opened", "<=", 20060599)}),
        ("during march 2004", {("Opened", ">=", 20040300), ("Opened", "<=", 20040399)}),
    ],
)
def test_dates_in_words(words: str, expected: set[tuple[Any, ...]]) -> None:
    assert found(f"how many events opened {words}?", DATES) == expected


def test_a_value_is_found_whatever_its_case_and_quotes() -> None:
    assert found('who directed "THE QUAY"?', FILMS) == {("Title", "=", "The Quay")}


def test_a_plural_names_the_value() -> None:
    assert found("how many apples?", ORDERS) == {("product", "=", "apple")}


def test_part_of_a_value_names_all_that_hold_it() -> None:
    ((column, sign, values),) = found("which films has berg directed?", FILMS)

    assert (column, sign) == ("Director", "=")
    assert values == "Ann Berg"


def test_a_value_with_the_name_of_its_column() -> None:
    expected = {("region", "=", "east"), ("product", "=", "pear")}

    assert found("how many pear orders in the east region?", ORDERS) == expected


@pytest.mark.parametrize("words", ["not from", "other than", "other than the", "except", "besides"])
def test_what_is_not_meant(words: str) -> None:
    assert found(f"orders {words} north", ORDERS) == {("region", "not =", "north")}


def test_one_value_or_the_other() -> None:
    assert found("orders of apple or plum", ORDERS) == {("product", "in", ("apple", "plum"))}


def test_what_is_missing() -> None:
    assert ("note", "missing", None) in found("how many orders have a missing note?", ORDERS)


def test_a_win_is_the_letter_of_the_result() -> None:
    ((column, sign, values),) = found("how many games were a loss?", GAMES)

    assert (column, sign) == ("Result", "in")
    assert set(values) == {"L 17-28", "L 0-10", "L 7-14"}


def test_a_rank_in_words() -> None:
    assert found("which nation finished third?", MEDALS) == {("Rank", "=", 3)}
    assert found("which nation came in 2nd place?", MEDALS) == {("Rank", "=", 2)}


def test_clauses_say_where_they_stand() -> None:
    question = "how many orders are in the north region?"
    (clause,) = conditions(question, [table_of(ORDERS)])

    assert question[clause.start : clause.end] == "north region"
    assert clause.said == "region is 'north'"
    assert clause.table == table_of(ORDERS).table.id


def test_no_condition_is_always_one_of_the_ways() -> None:
    sets = condition_sets(parse("how many pear orders?", table_of(ORDERS)).asked)

    assert sets[0].choices
    assert not sets[-1].choices
    assert not any(isinstance(one, AnyOf) for each in sets for one in each.conditions)


def test_two_values_of_one_column_that_both_must_hold_conflict() -> None:
    text = "is the apple sold where someone else had once bought a single ripe pear?"
    sets = condition_sets(parse(text, table_of(ORDERS)).asked)

    assert any(one.conflict for one in sets)
