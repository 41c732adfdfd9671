"""Another order must not change a result, other values must; and what may rightly do otherwise."""

from __future__ import annotations

import math
from typing import Any

import pytest

from secondlook.nodes.judge.agreement import same
from secondlook.nodes.judge.result import CHANGED, SHUFFLED, follows, variations
from secondlook.sandbox.port import Outcome, Variation
from tests.support.judging import frame, of_frame, outcome, plotly

MEAN = "result = df['Fare'].mean()"


def verdicts(
    question: str,
    code: str,
    base: Outcome,
    *,
    shuffled: Outcome | None = None,
    changed: tuple[Outcome, ...] = (),
) -> dict[str, bool]:
    names: tuple[Variation, ...] = ("perturbed", "resampled")
    varied: list[tuple[Variation, Outcome]] = [("shuffled", shuffled)] if shuffled else []
    varied += list(zip(names, changed, strict=False))
    found = follows(question, code, base, varied)
    assert all(one["said"].endswith(".") for one in found)
    return {one["name"]: one["passed"] for one in found}


def test_a_mean_does_not_depend_on_order() -> None:
    base, again = outcome(34.651234567), outcome(34.651234567 * (1 + 1e-14))
    assert verdicts("Mean?", MEAN, base, shuffled=again) == {SHUFFLED: True}
    assert verdicts("Mean?", MEAN, base, shuffled=outcome(34.7)) == {SHUFFLED: False}


def test_what_differs_is_told() -> None:
    told = follows("", MEAN, outcome({"a": 1.5}), [("shuffled", outcome({"a": 2.5}))])
    assert told[0]["said"] == (
        "With the rows in another order the result is another (1.5, then 2.5)."
    )
    words = follows("", MEAN, outcome("a"), [("shuffled", outcome("b"))])
    assert words[0]["said"] == "With the rows in another order the result is another."


BY_ORDER = [
    ("What is the first fare?", MEAN),
    ("Which date comes after the second?", MEAN),
    ("Rolling mean?", "result = df['Fare'].rolling(3).mean().max()"),
    ("?", "result = df['Fare'].iloc[3]"),
    ("?", "result = df['Fare'].cumsum().max()"),
    ("?", "result = df['Fare'].diff().mean()"),
    ("?", "result = df['Fare'].values[0]"),
    ("?", "result = df['Fare'].tolist()[-1]"),
    ("?", "result = df[:10]['Fare'].mean()"),
    ("?", "result = df['Fare'].head(3).sum()"),
    ("?", "result = df.groupby('Sex')['Fare'].agg('first').max()"),
    ("?", "for v in df['Fare']:\n    result = v\n    break"),
    ("?", "from sklearn.model_selection import train_test_split as t\nresult = t(df)"),
    ("?", "result = df.sample(5, random_state=1)['Fare'].mean()"),
    ("?", "result = df.value_counts('Sex').idxmax()"),
]


@pytest.mark.parametrize(("question", "code"), BY_ORDER)
def test_what_may_depend_on_order_is_not_held_against_it(question: str, code: str) -> None:
    assert "shuffled" not in variations(question, code)
    base = outcome(3.5)
    assert verdicts(question, code, base, shuffled=outcome(4.5)) == {}
    assert verdicts(question, code, base, shuffled=base) == {SHUFFLED: True}


def test_the_runs_worth_making() -> None:
    assert variations("What is the mean fare?", MEAN) == ("shuffled", "perturbed", "resampled")
    assert variations("What is the mean fare?", "no python (") == (
        "shuffled",
        "perturbed",
        "resampled",
    )


SAME_IN_ANY_ORDER: list[tuple[Outcome, Outcome]] = [
    (outcome(["a", "b"]), outcome(["b", "a"])),
    (outcome({"x": [1.0, 2.0]}), outcome({"x": [2.0 + 1e-13, 1.0]})),
    (of_frame(["k", "v"], ["a", 1.0], ["b", 2.0]), of_frame(["k", "v"], ["b", 2.0], ["a", 1.0])),
    (of_frame(["index", "v"], [0, 5.0], [7, 6.0]), of_frame(["index", "v"], [2, 6.0], [3, 5.0])),
    (outcome("mean 34.6512345678901"), outcome("mean 34.6512345678902")),
    (outcome(0.13), outcome(0.14)),
    (outcome(math.nan), outcome(math.nan)),
    (outcome({"a": True, "b": None}), outcome({"a": True, "b": None})),
    (outcome(12), outcome(12.0)),
    (
        outcome(frames={"t": frame(["a"], [1.5], [2.5])}),
        outcome(frames={"t": frame(["a"], [2.5], [1.5])}),
    ),
]
NOT_THE_SAME: list[tuple[Outcome, Outcome]] = [
    (outcome(12), outcome(13)),
    (outcome(["a", "b"]), outcome(["a", "c"])),
    (outcome(["a", "b"]), outcome(["a"])),
    (outcome({"a": 1}), outcome({"b": 1})),
    (outcome("yes"), outcome("no")),
    (outcome("mean 3.5"), outcome("mean 9.5")),
    (outcome(True), outcome(False)),
    (outcome(1), outcome("1")),
    (outcome(math.nan), outcome(1.0)),
    (outcome(1e-30), outcome(1e30)),
    (outcome(1.5), of_frame(["a"], [1.5])),
    (of_frame(["a"], [1.5]), of_frame(["b"], [1.5])),
    (of_frame(["a"], [1.5]), of_frame(["a"], [2.6])),
    (outcome(frames={"t": frame(["a"], [1])}), outcome()),
    (outcome([1.5, *([1] * 1999)]), outcome([2.5, *([1] * 1999)])),
]


@pytest.mark.parametrize(("one", "other"), SAME_IN_ANY_ORDER)
def test_the_same_in_another_order(one: Outcome, other: Outcome) -> None:
    assert same(one, other, tolerance=1e-9, ties=True) is True


@pytest.mark.parametrize(("one", "other"), NOT_THE_SAME)
def test_not_the_same(one: Outcome, other: Outcome) -> None:
    assert same(one, other, tolerance=1e-9, ties=True) is False


def test_rows_that_did_not_come_back_cannot_be_compared() -> None:
    cut = of_frame(["a"], [1], total=5000)
    assert same(cut, of_frame(["a"], [2], total=5000), tolerance=1e-9, ties=True) is None
    assert verdicts("", MEAN, cut, shuffled=cut) == {}


def test_a_deep_result_is_compared_to_a_bound() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    assert same(outcome(deep), outcome(deep), tolerance=1e-9, ties=True) is True


def test_a_value_that_other_data_leave_alone_does_not_come_from_them() -> None:
    fixed = "x = len(df)\nresult = 34.6512 + 0 * x"
    base = outcome(34.6512)
    assert verdicts("Mean fare?", fixed, base, changed=(base, base)) == {CHANGED: False}
    assert verdicts("Mean fare?", MEAN, base, changed=(base, outcome(35.1))) == {CHANGED: True}


STAYS: list[tuple[str, str, Any]] = [
    ("How many rows?", "result = len(df)", 1309),
    ("How many women?", "result = (df.Sex == 'female').sum()", 466),
    ("Which class pays most?", "result = df.groupby('Pclass').Fare.mean().idxmax()", "1"),
    ("Is it normal?", "result = bool(p > 0.05)", True),
    ("What is the maximum age?", "result = df.Age.max()", 80.0),
    ("Correlation?", "result = round(df.a.corr(df.b), 2)", 0.37),
    ("Share of columns with text?", "result = 100 * (df.dtypes == object).mean()", 33.333333),
    ("Which columns?", "result = list(df.columns)", ["a", "b"]),
    ("Sum?", "result = int(df.Fare.sum())", 45),
    ("p-value?", "result = scipy.stats.kstest(df.Fare, 'norm')[1]", 8.49647e-292),
    ("Ratio?", "result = x", math.inf),
]


@pytest.mark.parametrize(("question", "code", "result"), STAYS)
def test_what_may_stay_as_it_is_has_no_verdict(question: str, code: str, result: Any) -> None:
    base = outcome(result)
    assert verdicts(question, code, base, changed=(base, base)) == {}


MUST_CHANGE: list[tuple[str, str, Any]] = [
    ("Mean?", "result = x", 34.6512),
    ("Mean?", "result = x", {"mean": 34.6512, "n": 3}),
    ("Total fare?", "result = x", 43_550),
    ("Mean?", "result = x", "The mean is 34.6512"),
    ("Mean?", "result = x", 3.46512e-7),
]


@pytest.mark.parametrize(("question", "code", "result"), MUST_CHANGE)
def test_what_must_change_and_does_not_is_said(question: str, code: str, result: Any) -> None:
    base = outcome(result)
    assert verdicts(question, code, base, changed=(base, base)) == {CHANGED: False}


def test_one_change_alone_tells_less() -> None:
    assert verdicts("Mean?", MEAN, outcome(34.65), changed=(outcome(34.65),)) == {}
    long = outcome(34.651234)
    assert verdicts("Mean?", MEAN, long, changed=(long,)) == {CHANGED: False}


def test_a_chart_must_change_too() -> None:
    base = Outcome(status="ok", figures=(plotly({"x": [1, 2]}),))
    moved = Outcome(status="ok", figures=(plotly({"x": [1, 3]}),))
    code = "fig = px.bar(df)"
    assert verdicts("Plot it", code, base, shuffled=moved, changed=(moved,)) == {CHANGED: True}
    assert verdicts("Plot it", code, base, changed=(base,)) == {}


def test_runs_that_failed_say_nothing() -> None:
    failed = Outcome(status="error")
    assert verdicts("", MEAN, failed, shuffled=outcome(3)) == {}
    assert verdicts("", MEAN, outcome(3.5), shuffled=failed, changed=(failed, failed)) == {}
