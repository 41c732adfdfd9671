"""Questions over tables, read by the embedded understander and computed. Tables and questions are
ours; none is training data."""

import pytest

from secondlook.reading.understander import understander
from secondlook.tables.query import Filter
from secondlook.tables.understand.form_queries import Maker, Unplaced
from secondlook.tables.understand.forms import FormError, parsed
from secondlook.tables.understand.written import other_words, read, shown
from secondlook.tables.words import stems
from tests.support.row_tables import FILMS, GAMES, MEDALS, ORDERS, answer, best, table_of


@pytest.mark.parametrize(
    ("question", "table", "expected"),
    [
        ("which nation won the most gold medals?", MEDALS, "Norway"),
        ("how many nations won at least three gold medals?", MEDALS, 4),
        ("which nations won 0 gold medals?", MEDALS, ["Japan", "Estonia"]),
        ("how many more gold medals did norway win than canada?", MEDALS, 4),
        ("did germany or canada win more bronze medals?", MEDALS, "Germany"),
        ("which nation is listed after canada?", MEDALS, "Austria"),
        ("which nation was ranked before germany?", MEDALS, "Norway"),
        ("who directed paper boats?", FILMS, "Ian Cole"),
        ("how many films did ann berg direct?", FILMS, 3),
        ("what is the longest film?", FILMS, "The Long Field"),
        ("what was the result on November 5, 1978?", GAMES, "L 7-14"),
        ("how many games were played in october?", GAMES, 2),
        ("what is the total quantity of pear?", ORDERS, 11),
    ],
)
def test_a_question_comes_to_its_answer(question: str, table: str, expected: object) -> None:
    assert answer(question, table) == expected


def test_rows_of_sums_are_left_out() -> None:
    reading = best("which nation won the most silver medals?", MEDALS)
    assert Filter(column="Nation", comparison="!=", value="Total") in reading.query.where


@pytest.mark.parametrize(
    "question",
    [
        "what is the weather in paris?",
        "is there life on mars?",
        "what is the phone number of the north office?",
        "total price of kiwi",
        "how many orders did we get from the zoo?",
    ],
)
def test_what_the_table_does_not_say_is_not_read(question: str) -> None:
    found = read(question, [table_of(ORDERS)])
    assert found is None or found.unplaced or found.doubt > 0.1


def test_how_it_was_read_is_said() -> None:
    reading = best("how many films did ann berg direct?", FILMS)
    said = "count of rows where Director is 'ann berg', with no condition for 'films'"
    assert (reading.said, reading.taken) == (said, ("films",))
    assert {one.column for one in reading.resolved} == {"Director"}


def test_among_several_tables_no_word_goes_without_a_condition() -> None:
    found = read("how many films did ann berg direct?", [table_of(FILMS), table_of(GAMES)])
    assert found
    assert found.unplaced == ("films",)


def test_the_table_that_the_question_names_is_asked() -> None:
    tables = [table_of(ORDERS), table_of(FILMS), table_of(MEDALS), table_of(GAMES)]
    found = read("which nation won the most gold medals?", tables)
    assert found
    assert found.query.table == table_of(MEDALS).table.id


# A form as queries, without the model.

VISITS = """Day|Vet|Fee
2023-03-04|Torrance|30
2024-03-11|Quill|45
2024-07-20|Quill|25
2025-01-09|Torrance|60"""


def made(form: str, table: str = VISITS, question: str = "") -> Maker:
    columns = {f"c{at}": one for at, one in enumerate(table_of(table).profile.columns, 1)}
    return Maker(table_of(table), columns, parsed(form, list(columns)), stems(question))


TICKETS = """ticket_id|number|seats|event
T001|101|2|Carols
T002|102|5|Carols
T003|103|3|Strings
T004|104|4|Carols"""


@pytest.mark.parametrize("column", ["c1", "c2"])
def test_what_names_rows_is_counted_and_has_no_mean(column: str) -> None:
    most = made(f"top 1 c4 by sum {column}", TICKETS, "which event sold the most tickets?")
    assert most.said == "the 1 event with the highest count"
    assert made(f"mean {column}", TICKETS, "average of the tickets").is_vague


SPENDING = """category|amount
groceries|30
rent|45
fuel|25
groceries|60"""


@pytest.mark.parametrize(
    ("form", "word", "meant"),
    [
        ("sum c2 | c1 = groceries", "food", {"food": "groceries"}),
        ("sum c2 | c1 = rent", "food", {}),
        ("sum c2", "food", {}),
        ("sum c2 by c1", "kinds", {}),
        ("sum c2 | c1 = groceries", "laptops", {}),
    ],
)
def test_another_word_for_a_cell_is_taken_where_the_form_has_that_cell(
    form: str, word: str, meant: dict[str, str]
) -> None:
    asked = f"how much went on {word}"
    assert other_words([word], asked, made(form, SPENDING, asked)) == meant


@pytest.mark.parametrize(("asked", "vague"), [("average price", True), ("price (EUR)", False)])
def test_units_tell_columns_apart(asked: str, vague: bool) -> None:
    assert made("mean c2", "Price (USD)|Price (EUR)\n1.0|3.0\n2.0|5.0", asked).is_vague is vague


def test_a_column_that_is_named_is_summed() -> None:
    assert made("sum c3", TICKETS, "total seats").said == "sum of seats"


def test_forms_that_come_to_the_same_are_not_doubted() -> None:
    """One row is shown as well as summed."""
    given = "month|sales|price\nJanuary|940|9.5\nFebruary|1010|9.5\nMarch|1310|9.5\nApril|1180|9.5"
    asked, table = "march sales", table_of(given)
    seen = shown(asked, table, table.profile.columns)
    likeliest, other = understander().several(f"query: {asked} | {seen}")
    assert (likeliest.text, other.text) == ("sum c2 | c1 is march", "show c2 | c1 is march")
    both = likeliest.likelihood + other.likelihood
    assert best(asked, given).doubt == pytest.approx(1 - both)


@pytest.mark.parametrize(
    ("form", "rows", "said"),
    [
        ("count | c1 in 2023; 2024", [(3,)], "count of rows where Day in 2023 or 2024"),
        ("sum c3 | c1 = March 2024", [(45,)], "sum of Fee where Day is March 2024"),
        (
            "count | weekday(c1) = Saturday",
            [(2,)],
            "count of rows where weekday of Day is Saturday",
        ),
        ("first c2", [("Torrance",)], "Vet of the first row"),
        (
            "after c2 | c1 = 2023-03-04",
            [("Quill",)],
            "Vet of the row after the one where Day is 2023-03-04",
        ),
        ("groups c2 by sum c3 > 80", [("Torrance", 90)], "Vet with sum of Fee over 80"),
        ("min c3; max c3", [(25, 60)], "min of Fee, max of Fee"),
        (
            "mean c3; count by c2",
            [("Quill", 35, 2), ("Torrance", 45, 2)],
            "mean of Fee, count by Vet",
        ),
        ("quantile 50 c3", [(37.5,)], "50 % quantile of Fee"),
        ("sum c3 * c3", [(7150,)], "sum of Fee * Fee"),
        ("outliers c3", [(0,)], "outliers of Fee"),
        ("mode c2 | c3 usual", [("Quill",)], "mode of Vet where Fee usual"),
        ("histogram c2", [("Quill", 2), ("Torrance", 2)], "histogram of Vet"),
    ],
)
def test_a_form_is_computed_and_said(form: str, rows: list[object], said: str) -> None:
    maker, compute = made(form), table_of(VISITS).compute
    assert compute is not None
    (query,) = maker.queries()
    assert list(compute(query).rows) == rows
    assert maker.said == said


@pytest.mark.parametrize(
    "form",
    [
        "count | c3 contains 3",
        "count | c1 contains 2024",
        "count | c1 > 2023; 2024",
        "count | c2 = Moss",
    ],
)
def test_a_condition_that_the_table_cannot_meet_is_unplaced(form: str) -> None:
    with pytest.raises(Unplaced):
        made(form).queries()


@pytest.mark.parametrize("form", ["groups c2 by c3 > 8", "top 0 c2 by c3", "top {n} c2 by c3"])
def test_a_line_that_is_no_form(form: str) -> None:
    with pytest.raises(FormError):
        made(form)
