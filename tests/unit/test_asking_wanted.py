"""Wanted forms (`@name[...]`, decimals, words), named values, and when a reading is not taken."""

import json
from functools import cache

import pandas as pd
import pytest
from scipy import stats

from secondlook.tables.query import Computed, Measure, Query
from secondlook.tables.resolver import AskedTable, Resolved
from secondlook.tables.understand import written
from secondlook.tables.understand.interpreter import MOST_DOUBT, Understanding, understand
from secondlook.tables.understand.readings import (
    Bound,
    Case,
    Output,
    Reading,
    Wanted,
    parts,
    reading_data,
    reading_from,
    values_of,
    wanted_of,
)
from tests.support.shop import asked_table, orders, read, shop, value, values

FORM = """What is the mean and the spread of units?
Compute both over all rows. Round to two decimal places.
@mean_units[mean] @std_units[std] @shape[shape]
where "mean" is a number rounded to one decimal place and "shape" is a string that is either
"flat" or "peaked"."""


def test_names_decimals_and_words() -> None:
    wanted = wanted_of(FORM)
    assert wanted.names == ("mean_units", "std_units", "shape")
    assert wanted.each == {"mean_units": 1}
    assert wanted.forms == {"shape": ("flat", "peaked")}
    assert wanted.held["std_units"] == "std"
    assert parts(FORM).body.endswith("two decimal places.")
    assert wanted_of("What is the mean of units?") == Wanted()
    within = "What is the mean? Give it as @mean[value] to 3 decimals"
    assert parts(within).body == "What is the mean?"
    assert wanted_of(within).decimals == 3


def test_names_choose_measures_and_groups() -> None:
    west = orders()[orders().region == "West"].units
    found = values(
        "What is the mean and median of the units for orders from the West?\n"
        "@mean_units[x] @median_units[y] rounded to 1 decimal"
    )
    assert found == {"mean_units": round(west.mean(), 1), "median_units": west.median()}
    by_region = orders().groupby("region").units.mean().round(2)
    found = values(
        "What is the average units per region?\n"
        "@avg_units_north[v], @avg_units_south[v] where v is rounded to two decimals"
    )
    assert found == {"avg_units_north": by_region["North"], "avg_units_south": by_region["South"]}


def test_group_and_its_value() -> None:
    found = values(
        "Which region has the highest mean rating?\nIgnore missing ratings.\n"
        '@best_region[name] @mean_rating[value] where "name" is a string and "value" is a number'
        " rounded to two decimal places."
    )
    means = orders().groupby("region").rating.mean()
    assert found == {"best_region": means.idxmax(), "mean_rating": round(means.max(), 2)}


def test_correlation_with_its_test_and_words() -> None:
    found = values(
        "Is there a significant correlation between units and rating?\n"
        "Use Spearman. alpha = 0.05\n"
        '@rho[r] @p_value[p] @significant[s] where "s" is "yes" or "no"; r and p rounded to 4'
        " decimals"
    )
    both = orders().dropna(subset=["rating"])
    expected = stats.spearmanr(both.units, both.rating)
    assert found == {
        "rho": round(float(expected.statistic), 4),
        "p_value": round(float(expected.pvalue), 4),
        "significant": "no",
    }


def test_outliers_are_taken_away() -> None:
    price = orders().unit_price
    kept = price[(price - price.mean()).abs() <= 2 * price.std()]
    found = values(
        "Compute the mean and standard deviation of unit_price without outliers.\n"
        "Outliers have a z-score above a threshold of 2.\n"
        "@mean_after[x] @std_after[x] rounded to 3 decimals"
    )
    assert found == {"mean_after": round(kept.mean(), 3), "std_after": round(kept.std(), 3)}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the number of missing values in rating?\n@missing_count[n]", 28),
        ("How many outliers are in unit_price by the IQR method?\n@number_of_outliers[n]", 5),
        ("What share of the orders is from the East?\n@share[x] rounded to 1 decimal", 23.3),
        ("What is the 75th percentile of units?\n@q3_units[x]", 15.0),
    ],
)
def test_single_names(question: str, expected: object) -> None:
    assert value(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "What is the mean of units?\n@mean_units[x] @mean_weight[y]",
        "What is the mean of units for each region?\n@mean_units[x]",
        "What is the mean of units?\n@summary[a description of the column]",
        "Which columns have missing values?",
        "Impute the missing values of rating with the mean.\n@mean_rating[x]",
        "Apply a log transformation to rating and give its mean.\n@mean_log_rating[x]",
    ],
)
def test_a_form_that_is_not_understood_forbids_the_reading(question: str) -> None:
    assert read(question).best is None


# What a question names is never left out of its reading: it is used, or nothing is answered.


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
        ("mean Preis for each Region", {"Nord": 310.0, "Ost": 34.7, "West": 120.0}),
        ("top 2 Region by total Menge", {"Nord": 8, "Ost": 5, "West": 5}),
        ("average Preis", 124.85),
        ("which Produkt has the highest Preis (EUR)?", "Sofa"),
    ],
)
def test_a_small_table(question: str, expected: object) -> None:
    wanted = pytest.approx(expected) if not isinstance(expected, str) else expected
    assert value(question, sales()) == wanted


def test_groups_of_orders() -> None:
    grouped = orders().groupby(["region", "product"]).units.sum()
    expected = {", ".join(key): total for key, total in grouped.to_dict().items()}
    assert value("total units by region and product") == expected
    assert value("How many regions are there?") == 4
    totals = orders().groupby("region").units.sum()
    apart = abs(totals["North"] - totals["South"])
    assert value("difference in total units between North and South") == apart


@pytest.mark.parametrize(
    "question",
    [
        "How many orders have above average unit price?",
        "average units before May",
        "median unit price per customer",
    ],
)
def test_abstains_where_something_would_be_left_out(question: str) -> None:
    assert read(question).best is None


def test_a_value_in_capitals_is_no_small_word() -> None:
    staff = pd.DataFrame({"dept": ["IT", "HR", "IT", "US"], "salary": [4.0, 1.0, 6.0, 9.0]})
    assert value("what is the average salary in IT", asked_table(staff)) == 5.0


def test_a_name_of_many_rows_has_the_highest_sum() -> None:
    """Not the one row that is highest; where that may be meant, the reading is in doubt."""
    long = asked_table(
        pd.DataFrame({"region": ["East", "West"] * 80, "revenue": [5, 4] * 79 + [1, 50]})
    )
    found = read("region with the most revenue in total", long)
    assert found.why == "Read as: the 1 region with the highest sum of revenue."
    found = read("which region has the highest revenue", long)
    assert found.best is None or "sum" in found.why or found.best.doubt > MOST_DOUBT


# From what queries came to, to named values; readings as JSON and back.

COUNT = Query(table="t", measures=(Measure(name="n", statistic="count"),))


def reading(**parts: object) -> Reading:
    usual = {"query": COUNT, "said": "number of rows", "doubt": 0.1, "resolved": ()}
    return Reading(**{**usual, "answer": "value", **parts})  # type: ignore[arg-type]


def computed(*rows: tuple[object, ...], columns: tuple[str, ...] = ("n",)) -> Computed:
    return Computed(columns=columns, rows=rows, total_rows=len(rows), sql="")  # type: ignore[arg-type]


def test_outputs() -> None:
    cases = (Case("big", (Bound("n", ">", 10, absolute=True),)), Case("small"))
    outputs = (
        Output("word", "n", cases=cases),
        Output("of_b", "n", group=("b",), decimals=1),
        Output("all", "n", every="list"),
        Output("each", "n", every="mapping"),
        Output("gone", "n", query=7),
        Output("not there", "x"),
    )
    result = computed(("a", -12), ("b", 3.14), columns=("g", "n"))
    wanted = Wanted(names=("word",), quoted=frozenset({"word"}))
    assert values_of(reading(outputs=outputs), [result], wanted) == {
        "word": '"big"',
        "of_b": 3.1,
        "all": [-12, 3.14],
        "each": {"a": -12, "b": 3.14},
        "gone": None,
        "not there": None,
    }
    assert values_of(reading(outputs=outputs[:1]), [computed((None,))]) == {"word": None}


def test_a_reading_survives_json() -> None:
    cases = (Case("big", (Bound("n", ">", 10),)),)
    whole = reading(
        more=(COUNT,),
        operation="difference",
        resolved=(Resolved("x", "t", "X", 0.9, "fuzzy"),),
        outputs=(Output("w", "n", group=("b",), cases=cases),),
    )
    data = reading_data(whole)
    assert json.loads(json.dumps(data)) == data
    assert reading_from(data) == whole


def test_whether_a_reading_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def understood(found: Reading | None) -> Understanding:
        monkeypatch.setattr(written, "read", lambda *_: found)
        return understand("what?", [shop()], wanted=Wanted(names=("n",)))

    assert understood(reading()).best is not None
    unsure = understood(reading(doubt=0.9))
    assert unsure.best is None
    assert "90%" in unsure.why
    assert understood(reading(unplaced=("tide",))).refused
    assert "No way" in understood(None).why
    assert understand("what?", []).best is None
