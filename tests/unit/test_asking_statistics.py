"""Questions about measures of columns, read and computed without a model, against pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.shop import orders, read, value, values

if TYPE_CHECKING:
    import pandas as pd


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the average unit price?", orders().unit_price.mean()),
        ("How many orders are there?", 300),
        (
            "How many orders of the East region have more than 10 units?",
            int(((orders().region == "East") & (orders().units > 10)).sum()),
        ),
        ("What percentage of orders were returned?", 100 * orders().returned.mean()),
        ("How many missing values are in the rating column?", int(orders().rating.isna().sum())),
        ("Are units and unit price correlated?", orders().units.corr(orders().unit_price)),
        ("What is the 90th percentile of unit_price?", orders().unit_price.quantile(0.9)),
        ("What is the most common product?", "lamp"),
        (
            "median unit price in the West region after march 2023",
            orders()[
                (orders().region == "West") & (orders().date >= "2023-04-01")
            ].unit_price.median(),
        ),
    ],
)
def test_single_value(question: str, expected: object) -> None:
    assert value(question) == pytest.approx(expected)


def test_several_measures_and_columns() -> None:
    assert values("What is the sum of units and the average rating?") == pytest.approx(
        {"total of units": orders().units.sum(), "mean of rating": orders().rating.mean()}
    )
    assert values("Give the minimum, maximum and range of units") == {
        "minimum of units": 1,
        "maximum of units": 19,
        "range of units": 18,
    }


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Average units for each region", orders().groupby("region").units.mean()),
        (
            "Number of returned orders by region",
            orders()[orders().returned].groupby("region").size(),
        ),
        (
            "Compare the mean rating of chairs and desks",
            orders()[orders()["product"].isin(["chair", "desk"])].groupby("product").rating.mean(),
        ),
        ("Top 3 products by total units", orders().groupby("product").units.sum().nlargest(3)),
    ],
)
def test_groups(question: str, expected: pd.Series) -> None:
    assert value(question) == pytest.approx(expected.to_dict())


def test_derived_column() -> None:
    asked = "Create a new column 'gross' as units multiplied by unit_price. What is its mean?"
    assert value(asked) == pytest.approx((orders().units * orders().unit_price).mean())
    asked = (
        "Add a new feature called 'net' that is the difference between unit_price and discountPct."
        " What is the median of net?"
    )
    assert value(asked) == pytest.approx((orders().unit_price - orders().discountPct).median())


@pytest.mark.parametrize(
    "question",
    [
        "What is the mean revenue per order?",
        "average rating of orders over 500 dollars",
        "total units between March and May 2023",
        "Train a model that predicts the rating and report its accuracy",
        "What is the mean of units after normalizing the column?",
        "mean units of the 'Premium' customers",
        "What is the weighted average of unit_price?",
        "",
    ],
)
def test_abstains(question: str) -> None:
    understood = read(question)
    assert understood.best is None
    assert understood.why
