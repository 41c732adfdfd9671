"""Questions about rows, read and computed without a model. The tables and questions are ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.errors import TableError
from secondlook.tables.understand.readings import Wanted, queries, values_of
from secondlook.tables.understand.rows import read
from tests.support.row_tables import (
    FILMS,
    GAMES,
    MEDALS,
    ORDERS,
    answer,
    best,
    readings,
    table_of,
)

if TYPE_CHECKING:
    from secondlook.tables.query import Query


@pytest.mark.parametrize(
    ("question", "table", "expected"),
    [
        ("which nation won the most gold medals?", MEDALS, "Norway"),
        ("which nation won the least silver medals?", MEDALS, "Estonia"),
        ("how many gold medals did canada win?", MEDALS, 7),
        ("how many nations won at least three gold medals?", MEDALS, 4),
        ("how many nations did not win a gold medal, or won less than 1 gold?", MEDALS, 2),
        ("what is the difference in gold medals between norway and austria?", MEDALS, 8),
        ("did germany or canada win more bronze medals?", MEDALS, "Germany"),
        ("which nation is listed after canada?", MEDALS, "Austria"),
        ("which nation was ranked before germany?", MEDALS, "Norway"),
        ("what is the total number of silver medals won by germany and canada?", MEDALS, 18),
        ("who directed paper boats?", FILMS, "Ian Cole"),
        ("how many films did ann berg direct?", FILMS, 3),
        ("how many films were released before 1996?", FILMS, 3),
        ("which director made the most films?", FILMS, "Ann Berg"),
        ("what is the longest film?", FILMS, "The Long Field"),
        ("what was the first film by ian cole?", FILMS, "Salt and Stone"),
        ("what was the last film directed by ann berg?", FILMS, "The Lighthouse"),
        ("how many games were played at home?", GAMES, 3),
        ("what was the attendance on october 8, 1978?", GAMES, 61533),
        ("who was the opponent after river side?", GAMES, "North Hill"),
        ("how many games did the team win?", GAMES, 3),
        ("how many games were played in october?", GAMES, 2),
        ("what was the highest attendance?", GAMES, 61533),
        ("how many orders are in the north region?", ORDERS, 3),
        ("how many orders have a price over 7?", ORDERS, 4),
        ("what is the total quantity of pear?", ORDERS, 11),
        ("which region has the most orders?", ORDERS, "north"),
    ],
)
def test_a_question_comes_to_its_answer(question: str, table: str, expected: object) -> None:
    assert answer(question, table) == expected


def test_several_rows_are_told_as_a_list() -> None:
    found = answer("which nations won 0 gold medals?", MEDALS)

    assert found == ["Japan", "Estonia"]


def test_equal_extremes_are_all_told() -> None:
    assert answer("which nation has the highest total?", MEDALS) == ["Norway", "Germany"]


def test_rows_of_sums_are_left_out() -> None:
    reading = best("which nation won the most silver medals?", MEDALS)

    assert "Total" not in str(answer("which nation won the most silver medals?", MEDALS))
    assert any(
        getattr(one, "value", None) == "Total" and getattr(one, "comparison", None) == "!="
        for one in reading.query.where
    )


def test_what_speaks_of_other_things_is_in_doubt() -> None:
    for question in ("what is the weather in paris?", "is there life on mars?"):
        assert all(one.doubt > 0.6 for one in readings(question, ORDERS))


def test_a_clear_question_is_less_in_doubt_than_a_vague_one() -> None:
    clear = best("which nation won the most gold medals?", MEDALS)
    vague = best("which nation was somehow the luckiest with its gold curlers?", MEDALS)

    assert clear.doubt < vague.doubt
    assert 0 <= clear.doubt <= 1


def test_how_it_was_read_is_said() -> None:
    reading = best("how many films did ann berg direct?", FILMS)

    assert reading.said == "number of rows where Director is 'Ann Berg'"
    assert reading.family == "counting"
    assert ("Director", "value") in {(one.column, one.how) for one in reading.resolved}


def test_one_value_is_a_value_and_many_are_a_list() -> None:
    assert best("who directed paper boats?", FILMS).answer == "value"
    assert best("which films did ian cole direct?", FILMS).answer == "list"


def test_a_wanted_form_is_left_to_others() -> None:
    table = table_of(MEDALS)

    assert read("how many nations are there?", [table], None, Wanted(names=("nations",))) == []


def test_nothing_is_read_without_tables_or_in_a_long_text() -> None:
    assert read("how many rows?", [], None, Wanted()) == []
    assert read("how many " + "gold " * 80, [table_of(MEDALS)], None, Wanted()) == []


def test_the_table_that_the_question_names_is_asked() -> None:
    tables = [table_of(ORDERS), table_of(FILMS), table_of(MEDALS), table_of(GAMES)]
    found = read("which nation won the most gold medals?", tables, None, Wanted())

    assert found[0].query.table == table_of(MEDALS).table.id


def test_without_computing_there_are_readings_still() -> None:
    table = table_of(MEDALS, blind=True)
    found = read("which nation won the most gold medals?", [table], None, Wanted())

    assert found[0].said == "Nation of the row with the highest Gold"
    assert found[0].answer == "list"


def test_a_reading_that_cannot_be_computed_is_dropped() -> None:
    table = table_of(MEDALS)

    def broken(query: Query) -> object:
        raise TableError(f"cannot compute {query.table}")

    unable = type(table)(table.table, table.profile, table.values, broken)  # type: ignore[arg-type]

    assert read("which nation won the most gold medals?", [unable], None, Wanted()) == []


def test_a_follow_up_over_one_number_names_no_column() -> None:
    table = "region|mean of price\nnorth|10.5\nsouth|20.1\neast|3.2"

    assert answer("which of these is the highest?", table) == "south"
    assert best("which of these is the highest?", table).doubt < 0.3


def test_a_difference_is_told_from_the_larger_to_the_smaller() -> None:
    for question in (
        "how many more gold medals did norway win than canada?",
        "what is the difference in gold medals between canada and norway?",
    ):
        assert answer(question, MEDALS) == 4


@pytest.mark.parametrize(
    ("question", "table", "expected"),
    [
        ("was the quay directed by ann berg?", FILMS, True),
        ("was the quay directed by ian cole?", FILMS, False),
        ("did norway win more gold medals than canada?", MEDALS, True),
        ("did norway win fewer silver medals than canada?", MEDALS, True),
        ("which nation has the same total as norway?", MEDALS, "Germany"),
        ("which nations won more bronze medals than germany?", MEDALS, "Norway"),
        ("how many nations won less gold medals than canada?", MEDALS, 3),
        ("which studio released only one film?", FILMS, "Quill"),
        ("which director made at least three films?", FILMS, "Ann Berg"),
        ("which opponent was played more than once, in the home venue or not?", GAMES, None),
        ("which nation won the second most gold medals?", MEDALS, "Germany"),
        ("who are the top 3 nations?", MEDALS, ["Norway", "Germany", "Canada"]),
        ("how many different directors are there?", FILMS, 3),
        ("what is the average attendance?", GAMES, 52634.666667),
        ("in what year was the game with north hill played?", GAMES, 1978),
        ("how many times did the team play old town?", GAMES, 2),
        ("did the team play harbour city or river side more?", GAMES, "Harbour City"),
    ],
)
def test_questions_of_many_forms(question: str, table: str, expected: object) -> None:
    """Some reading of the question comes to the answer, be it the likeliest or not."""
    if expected is None:
        assert readings(question, table)
        return
    asked = table_of(table)
    compute = asked.compute
    assert compute is not None
    told = [
        value
        for reading in readings(question, table)
        for value in values_of(reading, [compute(one) for one in queries(reading)]).values()
    ]
    wanted = pytest.approx(expected) if isinstance(expected, float) else expected
    assert any(one in (wanted, [wanted]) for one in told), told
