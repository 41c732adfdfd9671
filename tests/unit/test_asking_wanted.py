"""Wanted forms: `@name[...]`, decimals, words and the rules that give them."""

from __future__ import annotations

import pytest
from scipy import stats

from secondlook.tables.understand.lexicon import alpha, cases_in, p_cases, polar
from secondlook.tables.understand.readings import parts, wanted_of
from tests.support.shop import orders, read, value, values

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


def test_a_question_without_a_form_wants_nothing() -> None:
    wanted = wanted_of("What is the mean of units?")
    assert wanted.names == ()
    assert wanted.decimals is None
    assert parts("What?").form == ""


def test_a_form_within_a_sentence() -> None:
    cut = parts("What is the mean? Give it as @mean[value] to 3 decimals")
    assert cut.body == "What is the mean?"
    assert wanted_of("What is the mean? Give it as @mean[value] to 3 decimals").decimals == 3


@pytest.mark.parametrize(
    ("said", "decimals"),
    [
        ("rounded to 2 decimal places", 2),
        ("rounded to four decimals", 4),
        ("to the nearest integer", 0),
        ("three digits after the point", 3),
        ("as a number", None),
    ],
)
def test_decimals(said: str, decimals: int | None) -> None:
    assert wanted_of(f"What is the mean of units?\n@mean[x] {said}").decimals == decimals


def test_values_come_under_the_wanted_names() -> None:
    west = orders()[orders().region == "West"].units
    found = values(
        "What is the mean and median of the units for orders from the West?\n"
        "@mean_units[x] @median_units[y] rounded to 1 decimal"
    )
    assert found == {"mean_units": round(west.mean(), 1), "median_units": west.median()}


def test_names_choose_groups() -> None:
    by_region = orders().groupby("region").units.mean().round(2)
    found = values(
        "What is the average units per region?\n"
        "@avg_units_north[v], @avg_units_south[v] where v is rounded to two decimals"
    )
    assert found == {"avg_units_north": by_region["North"], "avg_units_south": by_region["South"]}
    found = values(
        "Count the number of orders for each region.\n@north[n] @south[n] @east[n] @west[n]"
    )
    assert found == {name.lower(): count for name, count in orders().region.value_counts().items()}


def test_names_choose_intervals() -> None:
    found = values(
        "Group the orders by units into 'small' (1-6), 'medium' (7-12) and 'large' (13 and above)."
        " Then calculate the mean unit_price of each group.\n"
        "@mean_price_small[x] @mean_price_medium[x] @mean_price_large[x] to two decimals"
    )
    price, units = orders().unit_price, orders().units
    assert found == {
        "mean_price_small": round(price[units <= 6].mean(), 2),
        "mean_price_medium": round(price[(units > 6) & (units <= 12)].mean(), 2),
        "mean_price_large": round(price[units > 12].mean(), 2),
    }


def test_one_name_for_all_groups() -> None:
    found = value("What is the monthly total of units?\n@monthly_units['month_1': v1, ...]")
    assert isinstance(found, dict)
    assert list(found)[:2] == ["month_1", "month_2"]


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


def test_words_by_the_rule_of_the_question() -> None:
    found = values(
        "Is the distribution of unit prices skewed?\n"
        "Compute the skewness. If it is above 0.5 it is right-skewed, if it is below -0.5 it is"
        " left-skewed, otherwise it is symmetric.\n"
        '@skewness[value] @shape[word] where "value" is rounded to two decimals and "word" is'
        ' "right-skewed", "left-skewed" or "symmetric".'
    )
    assert found == {"skewness": round(orders().unit_price.skew(), 2), "shape": "right-skewed"}


def test_outliers_are_taken_away() -> None:
    price = orders().unit_price
    kept = price[(price - price.mean()).abs() <= 2 * price.std()]
    found = values(
        "Remove the outliers of unit_price by the z-score with a threshold of 2, then compute the"
        " mean and standard deviation of unit_price.\n"
        "@outlier_count[n] @mean_before[x] @mean_after[x] @std_after[x] rounded to 3 decimals"
    )
    assert found == {
        "outlier_count": len(price) - len(kept),
        "mean_before": round(price.mean(), 3),
        "mean_after": round(kept.mean(), 3),
        "std_after": round(kept.std(), 3),
    }


def test_missing_values_are_filled_and_logarithms_taken() -> None:
    import numpy as np

    filled = np.log(orders().rating.fillna(orders().rating.mean()))
    found = values(
        "Impute the missing values of rating with the mean rating. Then apply a log transformation"
        " to rating and calculate its mean and population standard deviation.\n"
        "@mean_log_rating[x] @std_log_rating[y] rounded to 4 decimals"
    )
    assert found["mean_log_rating"] == round(filled.mean(), 4)
    assert found["std_log_rating"] == round(filled.std(ddof=0), 4)


@pytest.mark.parametrize(
    "question",
    [
        "What is the mean of units?\n@mean_units[x] @mean_weight[y]",
        "What is the mean of units for each region?\n@mean_units[x]",
        "What is the mean of units?\n@summary[a description of the column]",
        "What is the mean of units?\n@mean_units_before[x] @mean_units_original[x]",
    ],
)
def test_a_name_that_is_not_understood_forbids_the_reading(question: str) -> None:
    assert read(question).best is None


def test_polar_words() -> None:
    assert polar(("Normal", "Non-normal")) == ("Normal", "Non-normal")
    assert polar(("no", "yes")) == ("yes", "no")
    assert polar(("not_normal", "normal")) == ("normal", "not_normal")
    assert polar(("strong", "weak")) is None
    assert polar(("a", "b", "c")) is None
    assert p_cases(("strong", "weak"), "p", "", small="yes") == ()


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("with a significance level (alpha) of 0.01", 0.01),
        ("if the p-value is less than 0.1", 0.1),
        ("at the 0.05 level", 0.05),
        ("nothing said", 0.05),
    ],
)
def test_alpha(text: str, level: float) -> None:
    assert alpha(text) == level


RULES = (
    "Strong if |r| >= 0.7, moderate if 0.3 <= |r| < 0.7, weak if |r| < 0.3.",
    """If the absolute value of r is at least 0.7, call it strong. If it is between 0.3 and 0.7,
    call it moderate. Otherwise it is weak.""".replace("\n    ", " "),
    """An r below -0.7 or above +0.7 indicates a strong correlation, between -0.7 and -0.3 or
    between +0.3 and +0.7 a moderate one, -0.3 to +0.3 a weak one.""".replace("\n    ", " "),
)


@pytest.mark.parametrize("text", RULES)
def test_rules_for_three_words(text: str) -> None:
    cases = cases_in(text, ("strong", "moderate", "weak"), {"r": "r", "p": "p"})
    words = {case.word for case in cases}
    assert words == {"strong", "moderate", "weak"}
    strong = next(case for case in cases if case.word == "strong")
    assert [bound.value for bound in strong.bounds] == [0.7]


def test_rules_with_two_numbers() -> None:
    text = (
        "Consider it linear if the p-value is less than 0.05 and the absolute value of r is greater"
        " than or equal to 0.5. Consider it nonlinear if the p-value is less than 0.05 and the"
        " absolute value of r is less than 0.5. If the p-value is greater than or equal to 0.05,"
        " report that there is no significant correlation."
    )
    cases = cases_in(text, ("linear", "nonlinear", "none"), {"r": "r", "p": "p"})
    assert [case.word for case in cases] == ["linear", "nonlinear", "none"]
    assert [(bound.measure, bound.sign) for bound in cases[0].bounds] == [("p", "<"), ("r", ">=")]
    assert cases[0].bounds[1].absolute


def test_no_rule_no_words() -> None:
    assert cases_in("Nothing is said.", ("strong", "weak"), {"r": "r"}) == ()
    assert cases_in("Strong if r > 0.5.", ("strong", "weak", "none"), {"r": "r"}) == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many rows have no rating?\n@missing_count[n]", None),
        ("What is the number of missing values in rating?\n@missing_count[n]", 28),
        ("How many outliers are in unit_price by the IQR method?\n@number_of_outliers[n]", 5),
        ("What share of the orders is from the East?\n@share[x] rounded to 1 decimal", 23.3),
        ("How many missing values are there in the dataset?\n@total_missing[n]", 34),
        ("Which column has the most missing values?\n@column_name[name]", "rating"),
        ("Which columns have missing values?\n@columns[list of names]", None),
        ("What is the average of unit_price?\n@result[x] rounded to 1 decimal", 64.4),
        ("How many different regions are there?\n@count[n]", 4),
        ("What is the 75th percentile of units?\n@q3_units[x]", 15.0),
        ("Tell about units and rating.\n@result[x]", None),
        ("What is the maximum and mean of units?\n@result[x]", None),
        ("What are the top 2 regions by total units?\n@top_regions[list of names]", None),
    ],
)
def test_single_names(question: str, expected: object) -> None:
    if expected is None:
        understood = read(question)
        if understood.best is None:
            return
        assert understood.best.family == "leading"
        assert value(question) == ["South", "West"]
        return
    assert value(question) == expected


def test_names_choose_pairs_of_columns() -> None:
    found = values(
        "Compute the correlation of units, unit_price and rating with each other.\n"
        "@units_rating_correlation[r] @units_price_correlation[r] rounded to 3 decimals"
    )
    frame = orders()
    assert found == {
        "units_rating_correlation": round(frame.units.corr(frame.rating), 3),
        "units_price_correlation": round(frame.units.corr(frame.unit_price), 3),
    }


def test_new_columns_by_other_words() -> None:
    frame = orders()
    for said, expected in (
        ("by subtracting discountPct from unit_price", frame.unit_price - frame.discountPct),
        ("as the ratio of unit_price to units", frame.unit_price / frame.units),
        ("as the product of units and unit_price", frame.units * frame.unit_price),
        (
            "as the sum of units, rating and discountPct",
            frame.units + frame.rating + frame.discountPct,
        ),
    ):
        asked = f"Create a new column called 'made' {said}. What is the mean of it?\n@mean_made[x]"
        assert value(asked) == pytest.approx(expected.mean())


def test_a_new_column_beside_another() -> None:
    frame = orders()
    asked = (
        "Create a new column 'gross' as units times unit_price. What is the correlation between"
        " gross and rating?\n@correlation[r] rounded to 4 decimals"
    )
    assert value(asked) == round((frame.units * frame.unit_price).corr(frame.rating), 4)


def test_words_of_another_column_forbid_the_reading() -> None:
    assert read("What is the average price of a unit?\n@mean[x] to 1 decimal").best is None


def test_the_column_beside_its_statistic() -> None:
    found = values(
        "Compute the correlation between units and rating. Also find the outliers of units by the"
        " IQR method.\n@correlation[r] @outlier_count[n] r rounded to 3 decimals"
    )
    assert found["outlier_count"] == 0
