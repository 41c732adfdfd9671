"""No answer over tables leaves out a word of its question: what cannot be placed is named."""

import os
import random

import pandas as pd
import pytest

from tests.support.shop import asked_table, read, value

TABLES = 1_000 if os.environ.get("SECONDLOOK_SOAK") else 30
THINGS = {
    "department": ("Engineering", "Support", "Marketing", "Design", "Finance", "Research", "Legal"),
    "product": ("laptop", "desk", "chair", "lamp", "phone", "monitor", "printer", "cable"),
    "country": ("Ireland", "Spain", "Norway", "Chile", "Ghana", "Japan", "Peru"),
    "city": ("Paris", "Oslo", "Lyon", "Leeds", "Porto", "Graz", "Turin"),
    "status": ("open", "paid", "cancelled", "refunded", "overdue", "draft"),
}
MEASURES = ("salary", "revenue", "price", "hours", "weight", "budget")
WAYS = (
    "total {measure} of {value}",
    "average {measure} in {value}",
    "what is the highest {measure} for {value}?",
    "how many rows are from {value}",
    "{measure} of {value} in total",
    "What is the mean {measure} of the {value} ones?",
    "sum of {measure} where it is {value}",
)


def made(seed: int) -> tuple[pd.DataFrame, str, str, str]:
    """A table, a column of names, a measure, and a name that does not occur in it."""
    draw = random.Random(seed)
    kind, measure = draw.choice(list(THINGS)), draw.choice(MEASURES)
    *there, absent = draw.sample(THINGS[kind], len(THINGS[kind]))
    rows = draw.randint(12, 60)
    frame = pd.DataFrame(
        {
            "id": range(1, rows + 1),
            kind: [draw.choice(there) for _ in range(rows)],
            measure: [draw.randint(10, 999) for _ in range(rows)],
            "date": pd.date_range("2023-02-01", periods=rows, freq="9D"),
        }
    )
    return frame, kind, measure, absent


def test_a_value_that_does_not_occur_is_never_left_out() -> None:
    named = 0
    for seed in range(TABLES):
        frame, _, measure, absent = made(seed)
        question = random.Random(seed).choice(WAYS).format(measure=measure, value=absent)
        found = read(question, asked_table(frame))
        assert found.best is None, f"{question!r} was read as: {found.why}"
        named += found.refused and absent.lower() in found.why.lower()
    assert named > TABLES * 0.9, "refusals say which word it is"


def test_a_value_that_occurs_is_a_condition() -> None:
    """Words that otherwise only ask, as `Engineering` does, are no exception."""
    for seed in range(8):
        frame, kind, measure, _ = made(seed)
        present = "Engineering" if kind == "department" else str(frame[kind].iloc[0])
        frame.loc[0, kind] = present
        chosen = frame[frame[kind] == present]
        asked = f"average {measure} in {present}"
        assert value(asked, asked_table(frame)) == pytest.approx(chosen[measure].mean()), asked


@pytest.mark.parametrize(
    "question",
    [
        "total revenue per month",
        "average revenue for each quarter",
        "draw a chart of the total revenue per month",
    ],
)
def test_months_of_several_years_are_not_merged(question: str) -> None:
    dates = pd.date_range("2023-01-05", periods=48, freq="15D")
    frame = pd.DataFrame({"date": dates, "revenue": range(48)})
    found = read(question, asked_table(frame, "sales"))
    assert found.best is not None, found.why
    (key,) = found.best.query.group_by
    assert key.part in {"year_month", "year_quarter"}


def test_a_month_of_several_years_asks_for_the_year() -> None:
    dates = pd.date_range("2023-01-05", periods=48, freq="15D")
    frame = pd.DataFrame({"date": dates, "revenue": range(48)})
    found = read("total revenue in March", asked_table(frame, "sales"))
    assert found.best is None
    assert "several years" in found.why
    of_one = frame[frame.date.dt.strftime("%Y-%m") == "2024-03"].revenue.sum()
    assert value("total revenue in March 2024", asked_table(frame, "sales")) == of_one


def test_a_chart_shows_the_sum_of_each_group_and_says_so() -> None:
    frame = pd.DataFrame({"country": ["Peru", "Chile"] * 9, "revenue": range(18)})
    found = read("revenue by country as a chart", asked_table(frame, "sales"))
    assert found.why == "Read as: sum of revenue by country."
