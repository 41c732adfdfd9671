"""Which questions are meant for the tables of a library."""

from __future__ import annotations

import pytest

from secondlook.app.over_tables import over_tables
from secondlook.tables.table import Column, Table

SALES = Table(
    id="1",
    name="sales",
    title="sales.csv",
    sha256="0",
    rows=3,
    columns=(
        Column(name="Price (EUR)", type="number"),
        Column(name="unitsSold", type="integer"),
        Column(name="id", type="integer"),
    ),
)


@pytest.mark.parametrize(
    "question",
    ["What is the average price?", "total units sold per month", "how many UNITS SOLD in May"],
)
def test_a_measure_of_a_named_column_is_asked_over_tables(question: str) -> None:
    meant = over_tables(question, [SALES])
    assert meant is not None
    assert "sales.csv" in meant.said


@pytest.mark.parametrize(
    "question",
    [
        "Who decides about the price?",
        "How many berths are there?",
        "What is the average id of it?",
        "Why did units fall?",
    ],
)
def test_what_may_be_about_documents_is_asked_of_documents(question: str) -> None:
    assert over_tables(question, [SALES]) is None
    assert over_tables("What is the average price?", []) is None
