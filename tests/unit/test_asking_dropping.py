"""What a question names is never left out of its reading: it is used, or nothing is answered."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tests.support.shop import asked_table, orders, read, value, values

if TYPE_CHECKING:
    from secondlook.tables.resolver import AskedTable


@cache
def sales() -> AskedTable:
    """Four rows: nearly every value stands alone."""
    frame = pd.DataFrame(
        {
            "Datum": pd.to_datetime(["2024-01-03", "2024-01-17", "2024-02-05", "2024-02-20"]),
            "Region": ["Ost", "West", "Ost", "Nord"],
            "Produkt": ["Stuhl", "Tisch", "Lampe", "Sofa"],
            "Menge": [3, 5, 2, 8],
            "Preis (EUR)": [49.5, 120.0, 19.9, 310.0],
        }
    )
    return asked_table(frame, "verkauf")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("total Menge by Region", {"Nord": 8, "Ost": 5, "West": 5}),
        ("total Menge per Produkt", {"Lampe": 2, "Sofa": 8, "Stuhl": 3, "Tisch": 5}),
        ("mean Preis for each Region", {"Nord": 310.0, "Ost": 34.7, "West": 120.0}),
        ("top 2 Region by total Menge", {"Nord": 8, "Ost": 5, "West": 5}),
    ],
)
def test_groups_whatever_their_size(question: str, expected: object) -> None:
    assert value(question, sales()) == pytest.approx(expected)


def test_a_unit_is_no_part_of_a_name() -> None:
    assert value("average Preis", sales()) == pytest.approx(124.85)
    assert value("which Produkt has the highest Preis?", sales()) == "Sofa"
    both = asked_table(pd.DataFrame({"Price (USD)": [1.0, 2.0], "Price (EUR)": [3.0, 5.0]}))
    assert read("average price", both).best is None
    assert value("average price (EUR)", both) == 4.0


def test_first_group_by_a_total() -> None:
    assert values("which Region has the highest total Menge?", sales())["Region"] == "Nord"


def test_two_groupings() -> None:
    grouped = orders().groupby(["region", "product"]).units.sum()
    expected = {", ".join(key): total for key, total in grouped.to_dict().items()}
    assert value("total units by region and product") == expected


def test_names_that_repeat_are_counted_once() -> None:
    assert value("How many regions are there?") == 4


def test_compared_values_are_told_apart() -> None:
    totals = orders().groupby("region").units.sum()
    expected = {"North": totals["North"], "South": totals["South"]}
    assert value("total units of North compared to South") == expected


@pytest.mark.parametrize(
    "question",
    [
        "sum of units by unit_price",
        "number of orders by product excluding lamps",
        "How many orders have above average unit price?",
        "average units for orders with a discount",
        "average units on weekends",
        "average units before May",
        "mean rating with units 5",
        "mean units of lamp and region",
        "median unit price per customer",
        "total units per week",
    ],
)
def test_abstains_where_something_would_be_left_out(question: str) -> None:
    assert read(question).best is None


def test_a_value_in_capitals_is_no_small_word() -> None:
    staff = asked_table(
        pd.DataFrame({"dept": ["IT", "HR", "IT", "US"], "salary": [4.0, 1.0, 6.0, 9.0]})
    )
    assert value("what is the average salary in IT", staff) == 5.0
    assert value("what is the average salary", staff) == 5.0


def test_a_name_of_many_rows_is_not_the_one_of_the_highest() -> None:
    """Whether its total is meant, or its highest row, is not said."""
    long = asked_table(
        pd.DataFrame({"region": ["East", "West"] * 80, "revenue": [5, 4] * 79 + [1, 90]})
    )
    assert read("which region has the highest revenue", long).best is None
    assert values("which region has the highest total revenue", long)["region"] == "West"
