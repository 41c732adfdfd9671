"""What arithmetic says against a result, and that it says nothing against one that may be right."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.nodes.explain import stray_numbers, values_of
from secondlook.nodes.judge.arithmetic import checks
from secondlook.sandbox.port import Failure, Figure, Frame, Outcome, Plain
from secondlook.tables.table import ColumnProfile, TableProfile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.state import RequirementsData, ResolvedData

ROWS = 1309


def outcome(result: Plain = None, **fields: Any) -> Outcome:
    return Outcome(status="ok", result=result, has_result=True, **fields)


def frame(columns: Sequence[str], *rows: Sequence[Plain], total: int | None = None) -> Frame:
    return Frame(tuple(columns), tuple(map(tuple, rows)), len(rows) if total is None else total)


def of_frame(columns: Sequence[str], *rows: Sequence[Plain], total: int | None = None) -> Outcome:
    return outcome(frame=frame(columns, *rows, total=total))


def plotly(*traces: dict[str, Any]) -> Figure:
    return Figure("plotly", json.dumps({"data": list(traces), "layout": {}}))


def profile() -> TableProfile:
    return TableProfile(
        table="t1",
        rows=ROWS,
        columns=(
            ColumnProfile(name="Fare", type="number", rows=ROWS, minimum=0.0, maximum=512.3),
            ColumnProfile(name="Age", type="number", rows=ROWS, minimum=0.2, maximum=80, missing=9),
            ColumnProfile(name="Pclass", type="integer", rows=ROWS, minimum=1, maximum=3),
            ColumnProfile(name="Sex", type="text", rows=ROWS, minimum="female", maximum="male"),
            ColumnProfile(name="Cabin", type="text", rows=ROWS, missing=ROWS, distinct=0),
            ColumnProfile(name="Empty", type="number", rows=ROWS, missing=ROWS),
        ),
    )


def profiles() -> dict[str, TableProfile]:
    return {"t1": profile()}


def resolved(*columns: str) -> list[ResolvedData]:
    return [
        {"asked": name, "table": "t1", "column": name, "score": 1.0, "how": "exact"}
        for name in columns
    ]


def requirements(*wanted: str) -> RequirementsData:
    return {
        "variables": [],
        "constraints": [],
        "analysis": "descriptive",
        "success": "",
        "wanted": list(wanted),
        "by": "rules",
    }


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
    ("r_squared", "", {"r_squared": 1.4}, (), "above 1"),
    ("share", "What percentage of passengers is female?", 130.0, ("Sex",), "outside 0 to 100"),
    ("count", "How many rows are female?", 1400, ("Sex",), "more than the 1,309 rows"),
    ("count", "How many records are female?", 12.5, ("Sex",), "is not whole"),
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
    ("", {"mean_count": 12.5}, ("Fare",)),
    ("", {"mse": 1400.0, "r2": -0.4}, ("Fare",)),
    ("Which class has the highest mean Fare?", 3, ("Fare", "Pclass")),
    ("What is the mean Age of women, and how many are there?", 28.0, ("Age", "Sex")),
    ("How many people live in Tortona?", 27476, ("Sex",)),
]


@pytest.mark.parametrize(("question", "result", "columns"), POSSIBLE)
def test_what_may_be_right_is_let_be(question: str, result: Any, columns: tuple[str, ...]) -> None:
    passed(question, outcome(result), *columns)


def test_the_wanted_name_says_what_a_bare_value_is() -> None:
    assert "correlation" in failed("Fare, Age", outcome(1.2), wanted=("correlation_coefficient",))


def test_cells_of_a_table_are_judged_by_its_columns() -> None:
    ended = of_frame(["Sex", "mean_fare"], ["male", 26.0], ["female", 900.0])
    assert "is 900, which is outside" in failed("", ended, "Fare")["middle"]
    grouped = of_frame(["Sex", "Fare"], ["male", 26.0], ["female", 900.0])
    assert "middle" in failed("What is the mean Fare for each Sex?", grouped, "Fare", "Sex")


MISSING: list[tuple[Any, str]] = [
    (math.nan, "'the result'"),
    ({"mean": math.nan, "n": 3}, "'mean'"),
    ({f"k{at}": None for at in range(9)}, "and 3 more"),
]


@pytest.mark.parametrize(("result", "said"), MISSING)
def test_a_value_that_is_missing_is_said(result: Any, said: str) -> None:
    assert said in failed("", outcome(result))["no_missing"]


def test_cells_may_be_missing_a_whole_column_may_not() -> None:
    passed("", of_frame(["a", "b"], ["x", None], ["y", 2.0]))
    passed("", outcome([1.0, None]))
    assert "'b'" in failed("", of_frame(["a", "b"], ["x", None], ["y", math.nan]))["no_missing"]


EMPTY: list[Outcome] = [Outcome(status="ok"), outcome({}), outcome("  "), of_frame(["a"])]


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


# Every number of an explanation must be in the result, at the digits that it shows.

STANDS: list[tuple[str, list[Any]]] = [
    ("The mean fare is 34.65.", [34.6512]),
    ("The fares add up to 1.4 million.", [1386000]),
    ("The share is 42%.", [0.4213]),
    ("There are twelve groups.", [{"n": 12}]),
    ("Sales fell by 3.2.", [-3.2]),
    ("The correlation is \u22120.30.", [-0.3]),
    ("In 2019 it was 4.5.", [frame(["year", "mean"], ["2019", 4.5])]),
    ("There are 1,309 rows.", [frame(["a"], ["x"], total=1309)]),
    ("It happened on 2020-03-01.", ["2020-03-01T00:00:00"]),
    ("There are no numbers here.", []),
]
STRAY: list[tuple[str, list[Any], list[str]]] = [
    ("The mean fare is 34.65.", [34.7], ["34.65"]),
    ("The mean is 34.65, 12 more than before.", [34.65], ["12"]),
    ("The share is 42.", [0.4213], ["42"]),
    ("The correlation is 0.3.", [-0.3], ["0.3"]),
    ("Revenue was 1.3 million.", [1_386_000], ["1.3 million"]),
    ("It happened on 2020-03-02.", ["2020-03-01"], ["2020-03-02"]),
    ("There are 7.", [True, None, math.nan, math.inf, 10**400], ["7"]),
]


@pytest.mark.parametrize(("sentence", "values"), STANDS)
def test_a_number_that_the_result_holds_stands(sentence: str, values: list[Any]) -> None:
    assert stray_numbers(sentence, values) == []


@pytest.mark.parametrize(("sentence", "values", "stray"), STRAY)
def test_another_number_is_found(sentence: str, values: list[Any], stray: list[str]) -> None:
    assert stray_numbers(sentence, values) == stray


def test_numbers_of_the_question_and_of_columns_may_be_said() -> None:
    said = "Of those over 30 in Q1 2019, 4.5 is the mean."
    assert stray_numbers(said, [4.5]) == ["30", "Q1", "2019"]
    assert stray_numbers(said, [4.5], allowed=["Mean of those over 30 in 2019?", "Q1"]) == []


def test_what_an_outcome_holds() -> None:
    ended = outcome({"n": 3}, frames={"by": frame(["a"], [7])})
    assert stray_numbers("3 and 7.", values_of(ended)) == []
    assert stray_numbers("3 and 7.", values_of(of_frame(["a"], [3], [7]))) == []
    assert stray_numbers("8.", values_of(ended)) == ["8"]


def test_a_result_too_deep_is_not_followed() -> None:
    deep: Any = 7.5
    for _ in range(40):
        deep = [deep]
    assert stray_numbers("It is 7.5.", [deep]) == ["7.5"]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.floats(-1e9, 1e9, allow_nan=False), st.integers(0, 4))
def test_a_value_may_be_said_at_any_number_of_digits(value: float, decimals: int) -> None:
    assert stray_numbers(f"The value is {value:,.{decimals}f}.", [value]) == []


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(100, 10**6), st.integers(1, 50))
def test_a_whole_number_that_is_not_there_is_found(value: int, off: int) -> None:
    assert stray_numbers(f"The value is {value + off}.", [value]) == [str(value + off)]


@pytest.mark.parametrize(
    ("analysis", "code", "does"),
    [
        ("correlation", "r, p = stats.pearsonr(df.Age, df.Fare)\nresult = {'p': p}", True),
        ("correlation", "x, y = df.Age - 1, df.Fare - 2\nresult = (x * y).mean()", True),
        ("correlation", "corr = df.Age.mean()\nresult = {'correlation': corr / 100}", False),
        ("correlation", "c = df.corr()\nresult = df.Age.mean()", False),
        ("regression analysis", "m = sm.OLS(df.Age, df.Fare).fit()\nresult = m.rsquared", True),
        ("trend", "slope = df.Fare.mean()\nresult = slope", False),
        ("descriptive", "result = df.Fare.mean()", True),
    ],
)
def test_code_must_do_the_analysis_asked_for(analysis: str, code: str, does: bool) -> None:
    needed: RequirementsData = {**requirements(), "analysis": analysis}
    found = checks("", needed, outcome(0.5), profiles(), [], code=code)
    assert all(one["passed"] for one in found) is does
