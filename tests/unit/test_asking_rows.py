"""Questions about rows, read and computed without a model. The tables and questions are ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import TableError
from secondlook.tables.query import Filter
from secondlook.tables.understand.filters import conditions
from secondlook.tables.understand.readings import Wanted, queries, values_of
from secondlook.tables.understand.rows import read
from tests.support.row_tables import FILMS, GAMES, MEDALS, ORDERS, answer, best, readings, table_of

if TYPE_CHECKING:
    from secondlook.tables.query import Query

DATES = """Event|Opened
Fair|March 4, 2004
Regatta|12 July 2004
Market|2005-01-20
Parade|May 2006"""


@pytest.mark.parametrize(
    ("question", "table", "expected"),
    [
        ("which nation won the most gold medals?", MEDALS, "Norway"),
        ("which nation has the highest total?", MEDALS, ["Norway", "Germany"]),
        ("how many nations won at least three gold medals?", MEDALS, 4),
        ("which nations won 0 gold medals?", MEDALS, ["Japan", "Estonia"]),
        ("how many more gold medals did norway win than canada?", MEDALS, 4),
        ("what is the difference in gold medals between canada and norway?", MEDALS, 4),
        ("did germany or canada win more bronze medals?", MEDALS, "Germany"),
        ("which nation is listed after canada?", MEDALS, "Austria"),
        ("which nation was ranked before germany?", MEDALS, "Norway"),
        ("what is the total number of silver medals won by germany and canada?", MEDALS, 18),
        ("who directed paper boats?", FILMS, "Ian Cole"),
        ("how many films did ann berg direct?", FILMS, 3),
        ("what is the longest film?", FILMS, "The Long Field"),
        ("what was the last film directed by ann berg?", FILMS, "The Lighthouse"),
        ("what was the attendance on october 8, 1978?", GAMES, 61533),
        ("how many games were played in october?", GAMES, 2),
        ("what is the total quantity of pear?", ORDERS, 11),
        ("which region has the most orders?", ORDERS, "north"),
    ],
)
def test_a_question_comes_to_its_answer(question: str, table: str, expected: object) -> None:
    assert answer(question, table) == expected


@pytest.mark.parametrize(
    ("question", "table", "expected"),
    [
        ("was the quay directed by ann berg?", FILMS, True),
        ("which nation won the second most gold medals?", MEDALS, "Germany"),
        ("who are the top 3 nations?", MEDALS, ["Norway", "Germany", "Canada"]),
        ("how many different directors are there?", FILMS, 3),
        ("what is the average attendance?", GAMES, pytest.approx(52634.666667)),
        ("how many times did the team play old town?", GAMES, 2),
        ("did the team play harbour city or river side more?", GAMES, "Harbour City"),
    ],
)
def test_some_reading_comes_to_the_answer(question: str, table: str, expected: object) -> None:
    """Be it the likeliest or not."""
    compute = table_of(table).compute
    assert compute is not None
    found = [
        value
        for reading in readings(question, table)
        for value in values_of(reading, [compute(one) for one in queries(reading)]).values()
    ]
    assert any(one in (expected, [expected]) for one in found), found


def test_rows_of_sums_are_left_out() -> None:
    reading = best("which nation won the most silver medals?", MEDALS)
    apart = Filter(column="Nation", comparison="!=", value="Total")
    assert apart in reading.query.where


def test_what_speaks_of_other_things_is_in_doubt() -> None:
    for question in ("what is the weather in paris?", "is there life on mars?"):
        assert all(one.doubt > 0.6 for one in readings(question, ORDERS))
    clear = best("which nation won the most gold medals?", MEDALS)
    vague = best("which nation was somehow the luckiest with its gold curlers?", MEDALS)
    assert 0 <= clear.doubt < vague.doubt <= 1


def test_how_it_was_read_is_said() -> None:
    reading = best("how many films did ann berg direct?", FILMS)
    assert reading.said == "number of rows where Director is 'Ann Berg'"
    assert ("Director", "value") in {(one.column, one.how) for one in reading.resolved}
    assert best("who directed paper boats?", FILMS).answer == "value"
    assert best("which films did ian cole direct?", FILMS).answer == "list"


def test_the_table_that_the_question_names_is_asked() -> None:
    tables = [table_of(ORDERS), table_of(FILMS), table_of(MEDALS), table_of(GAMES)]
    found = read("which nation won the most gold medals?", tables, None, Wanted())
    assert found[0].query.table == table_of(MEDALS).table.id


def test_without_computing_there_are_readings_still() -> None:
    table = table_of(MEDALS, blind=True)
    found = read("which nation won the most gold medals?", [table], None, Wanted())
    assert found[0].said == "Nation of the row with the highest Gold"

    def broken(query: Query) -> object:
        raise TableError(f"cannot compute {query.table}")

    unable = type(table)(table.table, table.profile, table.values, broken)  # type: ignore[arg-type]
    assert read("which nation won the most gold medals?", [unable], None, Wanted()) == []


def test_a_follow_up_over_one_number_names_no_column() -> None:
    table = "region|mean of price\nnorth|10.5\nsouth|20.1\neast|3.2"
    assert answer("which of these is the highest?", table) == "south"
    assert best("which of these is the highest?", table).doubt < 0.3


# Conditions on rows, as data.


def found(question: str, table: str) -> set[tuple[Any, ...]]:
    """Column, comparison and value of each condition, the rows of sums apart."""
    made = set()
    for clause in conditions(question, table_of(table)):
        one = clause.condition
        assert isinstance(one, Filter)
        value = one.values if one.comparison == "in" else one.value
        made.add((one.column, f"not {one.comparison}" if one.negated else one.comparison, value))
    return made


@pytest.mark.parametrize(
    ("words", "sign"),
    [
        ("at least 6", ">="),
        ("6 or more", ">="),
        ("\u2265 6", ">="),
        ("no more than 6", "<="),
        ("over 6", ">"),
        ("less than six", "<"),
        ("exactly 6", "="),
        ("!= 6", "!="),
    ],
)
def test_a_comparison_in_words_or_signs(words: str, sign: str) -> None:
    assert found(f"how many orders have quantity {words}?", ORDERS) == {("quantity", sign, 6)}


@pytest.mark.parametrize(
    ("question", "table", "expected"),
    [
        ("orders with a price between 5 and 8", ORDERS, {("price", ">=", 5), ("price", "<=", 8)}),
        ("orders with a price over 5 but under 8", ORDERS, {("price", ">", 5), ("price", "<", 8)}),
        ("which films were made since 1996?", FILMS, {("Year", ">=", 1996)}),
        ("which films were made prior to the year 1996?", FILMS, {("Year", "<", 1996)}),
        ("how many events opened in july?", DATES, {("Opened", "=", 7)}),
        ("how many events opened after march 2004?", DATES, {("Opened", ">", 20040399)}),
        ("how many events opened before 5 may 2006?", DATES, {("Opened", "<", 20060505)}),
        (
            "how many events opened during march 2004?",
            DATES,
            {("Opened", ">=", 20040300), ("Opened", "<=", 20040399)},
        ),
        ('who directed "THE QUAY"?', FILMS, {("Title", "=", "The Quay")}),
        ("which films has berg directed?", FILMS, {("Director", "=", "Ann Berg")}),
        (
            "how many pear orders in the east region?",
            ORDERS,
            {("region", "=", "east"), ("product", "=", "pear")},
        ),
        ("orders other than the north", ORDERS, {("region", "not =", "north")}),
        ("orders of apple or plum", ORDERS, {("product", "in", ("apple", "plum"))}),
    ],
)
def test_conditions(question: str, table: str, expected: set[tuple[Any, ...]]) -> None:
    assert found(question, table) == expected


def test_clauses_say_where_they_stand() -> None:
    question = "how many orders are in the north region?"
    (clause,) = conditions(question, table_of(ORDERS))
    assert question[clause.start : clause.end] == "north region"
    assert clause.said == "region is 'north'"
