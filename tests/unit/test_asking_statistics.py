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
        ("What is the 90th percentile of unit_price?", orders().unit_price.quantile(0.9)),
        ("What is the most common product?", "lamp"),
    ],
)
def test_single_value(question: str, expected: object) -> None:
    assert value(question) == pytest.approx(expected)


def test_several_measures_and_columns() -> None:
    assert values("What is the sum of units and the average rating?") == pytest.approx(
        {"sum of units": orders().units.sum(), "mean of rating": orders().rating.mean()}
    )
    assert values("Give the minimum, maximum and range of units") == {
        "min of units": 1,
        "max of units": 19,
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
        ("Top 3 products by total units", orders().groupby("product").units.sum().nlargest(3)),
    ],
)
def test_groups(question: str, expected: pd.Series) -> None:
    assert value(question) == pytest.approx(expected.to_dict())


def test_figures_of_two_columns() -> None:
    frame = orders()
    total = (frame.units * frame.unit_price).sum()
    assert value("total of units times unit price") == pytest.approx(total)
    found = values("Are units and unit price correlated?")
    assert found["correlation of units and unit_price"] == pytest.approx(
        frame.units.corr(frame.unit_price)
    )
    assert found["p-value of the correlation of units and unit_price"] > 0.05  # type: ignore[operator]


def test_a_distribution() -> None:
    found = value("show me the distribution of rating")
    assert isinstance(found, dict)
    assert sum(found.values()) == orders().rating.notna().sum()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "question",
    [
        "average rating of orders over 500 dollars",
        "total units between March and May 2023",
        "Train a model that predicts the rating and report its accuracy",
        "What is the mean of units after normalizing the column?",
        "mean units of the 'Premium' customers",
        "What is the weighted average of unit_price?",
        "What is the mean revenue per order?",
        "total units of the test orders",
        "",
    ],
)
def test_abstains(question: str) -> None:
    understood = read(question)
    assert understood.best is None
    assert understood.why
