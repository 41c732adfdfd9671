"""What arithmetic says against a result, and that it says nothing against one that may be right."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.nodes.judge.arithmetic import checks
from secondlook.sandbox.port import Failure, Outcome
from tests.support.judging import (
    ROWS,
    of_frame,
    outcome,
    plotly,
    profiles,
    requirements,
    resolved,
)

CORRELATION = "What is the correlation between Age and Fare?"
MEAN = "What is the mean Fare?"


def failed(
    question: str, ended: Outcome, *columns: str, wanted: tuple[str, ...] = ()
) -> dict[str, str]:
    found = checks(question, requirements(*wanted), ended, profiles(), resolved(*columns))
    return {one["name"]: one["said"] for one in found if not one["passed"]}


def passed(question: str, ended: Outcome, *columns: str, wanted: tuple[str, ...] = ()) -> set[str]:
    found = checks(question, requirements(*wanted), ended, profiles(), resolved(*columns))
    assert [one for one in found if not one["passed"]] == []
    return {one["name"] for one in found}


IMPOSSIBLE: list[tuple[str, str, Any, tuple[str, ...], str]] = [
    ("correlation", CORRELATION, 1.2, ("Age", "Fare"), "is 1.2, which is outside -1 to 1"),
    ("correlation", "", {"correlation_coefficient": -1.01}, (), "'correlation_coefficient'"),
    ("p_value", "", {"p_value": 1.3}, (), "outside 0 to 1"),
    ("r_squared", "", {"r_squared": 1.4}, (), "above 1"),
    ("share", "What percentage of passengers is female?", 130.0, ("Sex",), "outside 0 to 100"),
    ("share", "", {"share_of_women": -3}, (), "outside 0 to 100"),
    ("count", "How many rows are female?", 1400, ("Sex",), "more than the 1,309 rows"),
    ("count", "How many records are female?", 12.5, ("Sex",), "is not whole"),
    ("count", "", {"outlier_count": 2000}, ("Fare",), "more than the 1,309 rows"),
    ("middle", MEAN, 600.0, ("Fare",), "outside 0 to 512.3 of column 'Fare'"),
    ("middle", "", {"mean_fare": 513, "mean_age": 30}, ("Age", "Fare"), "'mean_fare' is 513"),
    ("spread", "Standard deviation of Fare?", -1.0, ("Fare",), "is below 0"),
    ("spread", "", {"std_dev_fare": 700}, ("Fare",), "more than the range 512.3"),
]


@pytest.mark.parametrize(("kind", "question", "result", "columns", "said"), IMPOSSIBLE)
def test_what_cannot_be_is_said(
    kind: str, question: str, result: Any, columns: tuple[str, ...], said: str
) -> None:
    found = failed(question, outcome(result), *columns)
    assert list(found) == [kind]
    assert said in found[kind]


POSSIBLE: list[tuple[str, Any, tuple[str, ...]]] = [
    (CORRELATION, -1.0, ("Age", "Fare")),
    (MEAN, 512.3, ("Fare",)),
    ("What is the difference of the mean Fare between men and women?", -20.0, ("Fare",)),
    ("What is the mean of the log-transformed Fare?", -3.0, ("Fare",)),
    ("How many goals were scored in total?", 5000, ("Fare",)),
    ("By what percentage did the Fare change?", -12.0, ("Fare",)),
    ("", {"mean_count": 12.5}, ("Fare",)),
    ("", {"variance": 9000.0}, ("Fare",)),
    ("", {"mse": 1400.0, "r2": -0.4}, ("Fare",)),
    ("", {"std": 9.0}, ("Empty",)),
    ("Which class has the highest mean Fare?", 3, ("Fare", "Pclass")),
    ("What is the mean Age of women, and how many are there?", 28.0, ("Age", "Sex")),
    ("How many people live in Tortona?", 27476, ("Sex",)),
    ("Which year has the highest number of missing values?", 2012, ()),
    ("Which format is used most according to this chart?", "CD", ()),
]


@pytest.mark.parametrize(("question", "result", "columns"), POSSIBLE)
def test_what_may_be_right_is_let_be(question: str, result: Any, columns: tuple[str, ...]) -> None:
    passed(question, outcome(result), *columns)


def test_a_check_that_passed_says_what_it_found() -> None:
    found = checks(CORRELATION, None, outcome(0.21), profiles(), resolved("Age", "Fare"))
    assert {"name": "correlation", "passed": True, "said": "The correlation 0.21 is possible."} in (
        found
    )
    several = checks("", None, outcome({"p_value a": 0.1, "p_value b": 0.2}), {}, [])
    assert several[-1]["said"] == "All 2 values of this kind (p-value) are possible."


def test_the_wanted_name_says_what_a_bare_value_is() -> None:
    assert "correlation" in failed("Fare, Age", outcome(1.2), wanted=("correlation_coefficient",))


def test_cells_of_a_table_are_judged_by_its_columns() -> None:
    ended = of_frame(["Sex", "mean_fare"], ["male", 26.0], ["female", 900.0])
    assert "is 900, which is outside" in failed("", ended, "Fare")["middle"]
    grouped = of_frame(["Sex", "Fare"], ["male", 26.0], ["female", 900.0])
    assert "middle" in failed("What is the mean Fare for each Sex?", grouped, "Fare", "Sex")


def test_several_tables_bound_no_count() -> None:
    two = {**profiles(), "t2": next(iter(profiles().values()))}
    found = checks("How many rows?", None, outcome(5000), two, [])
    assert all(one["passed"] for one in found)


MISSING: list[tuple[Any, str]] = [
    (math.nan, "'the result'"),
    (None, "'the result'"),
    ({"mean": math.nan, "n": 3}, "'mean'"),
    ([None, math.nan], "'the result'"),
    ({f"k{at}": None for at in range(9)}, "and 3 more"),
]


@pytest.mark.parametrize(("result", "said"), MISSING)
def test_a_value_that_is_missing_is_said(result: Any, said: str) -> None:
    assert said in failed("", outcome(result))["no_missing"]


def test_cells_may_be_missing_a_whole_column_may_not() -> None:
    passed("", of_frame(["a", "b"], ["x", None], ["y", 2.0]))
    passed("", outcome([1.0, None]))
    bad = of_frame(["a", "b"], ["x", None], ["y", math.nan])
    assert "'b'" in failed("", bad)["no_missing"]


EMPTY: list[Outcome] = [
    Outcome(status="ok"),
    outcome({}),
    outcome("  "),
    of_frame(["a"]),
]


@pytest.mark.parametrize("ended", EMPTY)
def test_nothing_is_no_answer(ended: Outcome) -> None:
    assert list(failed("", ended)) == ["present"]


def test_code_that_did_not_run_has_no_result() -> None:
    ended = Outcome(status="error", failure=Failure("KeyError", "'Fair'"))
    assert failed("", ended) == {"ran": "The code ended with 'error': 'Fair'"}
    assert list(failed("", Outcome(status="timeout"))) == ["ran"]


NO_ANSWERS: list[tuple[str, str]] = [
    ("   Age  Fare\n0  22  7.25\n[1 rows x 2 columns]", "printed form"),
    ("<function mean at 0x7f2a>", "printed form"),
]


@pytest.mark.parametrize(("text", "said"), NO_ANSWERS)
def test_a_printed_object_or_code_is_no_answer(text: str, said: str) -> None:
    assert said in failed("", outcome(text))["plain"]


def test_a_chart_must_show_something() -> None:
    drawn = {"type": "bar", "x": ["a", "b"], "y": [1, 2]}
    assert "figure" in passed("Plot it", Outcome(status="ok", figures=(plotly(drawn),)))
    empty = Outcome(status="ok", figures=(plotly(drawn), plotly({"type": "bar", "x": [], "y": []})))
    assert failed("Plot it", empty) == {"figure": "Chart 2 shows no data."}
    nothing = Outcome(status="ok", figures=(plotly({"x": [None, None]}),))
    assert "figure" in failed("", nothing)


def test_a_chart_that_was_asked_for_must_be_there() -> None:
    assert "fig" in failed("Draw a histogram of Fare", outcome(3))["figure"]
    assert "fig" in failed("What is the mean? Then plot it.", outcome(3))["figure"]
    assert "fig" in failed("Show me the fares by class as a bar chart", outcome(3))["figure"]
    passed("Which bar is highest in the chart?", outcome(3))


def test_wanted_names_must_be_there() -> None:
    whole = ("mean_fare", "std_fare")
    assert "names" in passed("", outcome({"mean_fare": 3.0, "Std Fare": 4.0}), wanted=whole)
    found = failed("", outcome({"mean_fare": 3.0}), wanted=whole)
    assert found["names"].endswith("it lacks 'std_fare'.")
    assert "names" in failed("", outcome(3.0), wanted=whole)
    assert "names" in passed("", outcome(3.0), wanted=("mean_fare",))
    assert "names" in passed("", of_frame(["mean_fare", "std_fare"], [3.0, 4.0]), wanted=whole)


def test_a_number_that_was_asked_for_must_be_one() -> None:
    assert "type" in passed("What is the mean Age?", outcome(30.0), "Age")
    assert "type" in passed("What is the mean Age?", outcome("30.5 years"), "Age")
    assert "type" in failed("How many women are there?", outcome("There are some women here."))
    passed("Who is the oldest?", outcome("Mr Smith"))
    drawn = outcome(None, figures=(plotly({"x": [1]}),))
    passed("Compute the mean Age and plot it", drawn, "Age")


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
        ),
        max_leaves=12,
    ),
    st.sampled_from([CORRELATION, MEAN, "How many rows?", "Plot the Fare", ""]),
)
def test_any_result_is_judged(result: Any, question: str) -> None:
    found = checks(question, None, outcome(result), profiles(), resolved("Fare", "Age"))
    assert found
    assert all(one["said"].strip() for one in found)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.floats(min_value=0.0, max_value=512.3), st.integers(0, ROWS), st.floats(-1.0, 1.0))
def test_no_possible_value_is_refused(mean: float, count: int, correlation: float) -> None:
    passed(MEAN, outcome(mean), "Fare")
    passed("How many women are there?", outcome(count), "Sex")
    passed(CORRELATION, outcome(correlation), "Age", "Fare")


def test_values_too_deep_or_too_many_are_bounded() -> None:
    deep: Any = 1
    for _ in range(50):
        deep = [deep]
    assert checks("", None, outcome(deep), {}, [])
    assert checks("", None, outcome([1.0] * 20_000), {}, [])[0]["said"] == (
        "The result has 5,000 values."
    )
    assert list(failed("", outcome({"share": 10**400}))) == ["no_missing"]
