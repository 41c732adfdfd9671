"""Our own computation beside that of the code: the same, another, or not to be compared."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.nodes.judge.agreement import agrees
from secondlook.sandbox.port import Outcome
from secondlook.tables.query import Computed, Key, Measure, Query, Statistic, Term
from tests.support.judging import frame, of_frame, outcome


def measure(statistic: Statistic = "mean", name: str = "mean_fare", **fields: Any) -> Measure:
    return Measure(name=name, statistic=statistic, of=Term(column="Fare"), **fields)


def computed(columns: tuple[str, ...], *rows: tuple[Any, ...], used: int | None = None) -> Computed:
    return Computed(columns=columns, rows=rows, total_rows=len(rows), sql="", used=used)


def verdict(query: Query, ours: Computed, theirs: Outcome) -> bool | None:
    found = agrees(query, ours, theirs)
    assert found is None or found["said"].endswith(".")
    return None if found is None else found["passed"]


def single(ours: Any, theirs: Any, *, used: int | None = None, **fields: Any) -> bool | None:
    one = measure(**fields)
    query = Query(table="t", measures=(one,))
    return verdict(query, computed((one.name,), (ours,), used=used), outcome(theirs))


AGREE: list[tuple[Any, Any, dict[str, Any]]] = [
    (34.6512345, 34.6512345, {}),
    (34.6512345, 34.65, {}),
    (34.6512345, 34.7, {}),
    (34.6512345, {"mean_fare": 34.65}, {}),
    (34.6512345, {"Mean Fare": 34.65, "n": 1309}, {}),
    (34.6512345, {"mean": 34.65, "n": 1309}, {}),
    (34.6512345, [34.65, 7, 8], {}),
    (34.6512345, "34.65", {}),
    (1309, 1309.0, {"statistic": "count"}),
    (1309, "1,309", {"statistic": "count"}),
    (22607406.19, 22607406, {}),
    (0.00004, 0.0, {"decimals": 2}),
    (0.99839, 1.0, {"statistic": "correlation"}),
    (34.6512345, 35, {"decimals": 0}),
    (42.13, 0.4213, {"statistic": "share"}),
    (42.13, 42.1, {"statistic": "share"}),
    (42.13, "42.13%", {"statistic": "share"}),
    (10.0, 10.0 * math.sqrt(9 / 10), {"statistic": "std", "used": 10}),
    (10.0, 9.0, {"statistic": "variance", "used": 10}),
    ("2020-03-01", "2020-03-01T00:00:00", {"statistic": "min"}),
    ("Braund", "braund ", {"statistic": "mode"}),
    (True, True, {"statistic": "min"}),
    (math.nan, math.nan, {}),
]
DISAGREE: list[tuple[Any, Any, dict[str, Any]]] = [
    (34.6512345, 34.66, {}),
    (34.6512345, 35, {}),
    (34.6512345, {"mean_fare": 30.0}, {}),
    (1309, 1308, {"statistic": "count"}),
    (42.13, 0.5, {"statistic": "share"}),
    (10.0, 9.0, {"statistic": "std", "used": 10}),
    ("Braund", "Smith", {"statistic": "min"}),
    (34.6512345, math.nan, {}),
    (34.6512345678, 34.6513399999999, {}),
]
UNTOLD: list[tuple[Any, Any, dict[str, Any]]] = [
    (34.6512345, {"a": 1.0, "b": 2.0}, {}),
    (34.6512345, "words", {}),
    (34.6512345, None, {}),
    (None, 3.0, {}),
    (4.4, 4.3, {"statistic": "skewness"}),
    (4.4, 4.3, {"statistic": "outliers_z"}),
]


@pytest.mark.parametrize(("ours", "theirs", "fields"), AGREE)
def test_they_agree(ours: Any, theirs: Any, fields: dict[str, Any]) -> None:
    assert single(ours, theirs, **fields) is True


@pytest.mark.parametrize(("ours", "theirs", "fields"), DISAGREE)
def test_they_disagree(ours: Any, theirs: Any, fields: dict[str, Any]) -> None:
    assert single(ours, theirs, **fields) is False


@pytest.mark.parametrize(("ours", "theirs", "fields"), UNTOLD)
def test_they_cannot_be_compared(ours: Any, theirs: Any, fields: dict[str, Any]) -> None:
    assert single(ours, theirs, **fields) is None


def test_what_is_said() -> None:
    query = Query(table="t", measures=(measure(),))
    ours = computed(("mean_fare",), (34.6512345,))
    found = agrees(query, ours, outcome({"mean_fare": 30.0}))
    assert found is not None
    assert found["said"] == (
        "Our own computation of 'mean fare' gives 34.6512, the code of 'mean_fare' 30."
    )
    same = agrees(query, ours, outcome(34.65))
    assert same is not None
    assert same["said"] == "Our own computation comes to the same: mean fare 34.6512."


def test_several_values_are_compared_by_name() -> None:
    query = Query(table="t", measures=(measure(), measure("std", "std_fare")))
    ours = computed(("mean_fare", "std_fare"), (34.65, 49.7))
    assert verdict(query, ours, outcome({"mean_fare": 34.65, "std_fare": 49.7})) is True
    assert verdict(query, ours, outcome({"mean_fare": 34.65, "std_fare": 40.0})) is False
    assert verdict(query, ours, outcome({"mean_fare": 34.65})) is True
    assert verdict(query, ours, outcome([34.65, 49.7])) is None
    assert verdict(query, ours, outcome({"avg": 34.65, "fare_deviation": 49.7})) is True
    assert verdict(query, ours, outcome({"avg": 34.65, "fare_deviation": 1.5})) is False
    assert verdict(query, ours, outcome({"avg a": 34.65, "avg b": 1.5})) is None
    twice = Query(table="t", measures=(measure(), measure(name="mean_age")))
    both = computed(("mean_fare", "mean_age"), (34.65, 29.8))
    assert verdict(twice, both, outcome({"avg": 12.5, "n": 3})) is None


def test_nothing_to_compare() -> None:
    query = Query(table="t", measures=(measure(),))
    ours = computed(("mean_fare",), (34.65,))
    assert verdict(query, ours, Outcome(status="error")) is None
    assert verdict(query, ours, Outcome(status="ok")) is None
    assert verdict(query, computed(("mean_fare",)), outcome(3)) is None
    assert verdict(query, computed(("other",), (3,)), outcome(3)) is None


BY_SEX = Query(table="t", group_by=(Key(column="Sex"),), measures=(measure(),))
GROUPS = computed(("Sex", "mean_fare"), ("female", 46.198), ("male", 26.154))


def test_groups_are_compared_by_key() -> None:
    assert verdict(BY_SEX, GROUPS, outcome({"female": 46.2, "male": 26.15})) is True
    assert verdict(BY_SEX, GROUPS, outcome({"female": 46.2, "male": 27.0})) is False
    table = of_frame(["Sex", "Fare"], ["male", 26.154], ["female", 46.198])
    assert verdict(BY_SEX, GROUPS, table) is True
    records: Any = [{"Sex": "male", "Fare": 26.154}, {"Sex": "female", "Fare": 46.198}]
    assert verdict(BY_SEX, GROUPS, outcome(records)) is True
    assert verdict(BY_SEX, GROUPS, outcome([["male", 26.154], 3])) is True
    assert verdict(BY_SEX, GROUPS, outcome({"other": 3.0})) is None
    assert verdict(BY_SEX, GROUPS, outcome(3.0)) is None
    wide = of_frame(["Sex", "n", "m"], ["male", 3, 4])
    assert verdict(BY_SEX, GROUPS, wide) is None


def test_groups_of_two_keys() -> None:
    query = Query(
        table="t", group_by=(Key(column="Sex"), Key(column="Pclass")), measures=(measure(),)
    )
    ours = computed(("Sex", "Pclass", "mean_fare"), ("female", 1, 109.4), ("male", 1, 69.9))
    table = of_frame(["Pclass", "Sex", "Fare"], [1, "male", 69.9], [1, "female", 109.4])
    assert verdict(query, ours, table) is True
    assert verdict(query, computed(("Sex", "Pclass"), ("female", 1)), table) is None


def test_the_group_that_was_asked_for() -> None:
    best = computed(("Sex", "mean_fare"), ("female", 46.198))
    assert verdict(BY_SEX, best, outcome("Female")) is True
    assert verdict(BY_SEX, best, outcome(46.2)) is True
    assert verdict(BY_SEX, best, outcome("male")) is False
    assert verdict(BY_SEX, best, outcome({"female": 46.198})) is True


def test_disputed_measures_of_groups_say_nothing_against() -> None:
    query = Query(table="t", group_by=(Key(column="Sex"),), measures=(measure("std"),))
    assert verdict(query, GROUPS, outcome({"female": 3.0})) is None
    skewed = Query(table="t", group_by=(Key(column="Sex"),), measures=(measure("skewness"),))
    one = computed(("Sex", "mean_fare"), ("female", 46.198))
    assert verdict(skewed, one, outcome("male")) is None


NAMES = Query(table="t", select=("Name",))


def test_rows_are_compared_as_they_come() -> None:
    ours = computed(("Name",), ("Braund",), ("Allen",))
    assert verdict(NAMES, ours, outcome(["allen", "Braund"])) is True
    assert verdict(NAMES, ours, outcome({"names": ["Allen", "Braund"]})) is True
    assert verdict(NAMES, ours, outcome(["Allen"])) is False
    assert verdict(NAMES, ours, outcome([])) is False
    assert verdict(NAMES, ours, of_frame(["name", "Age"], ["Allen", 3], ["Braund", 4])) is True
    assert verdict(NAMES, ours, of_frame(["x"], ["Allen"], ["Braund"])) is True
    assert verdict(NAMES, ours, of_frame(["x", "y"], ["Allen", 1])) is None
    assert verdict(NAMES, ours, of_frame(["Name"], ["Allen"], total=50)) is None
    assert verdict(NAMES, ours, outcome({"a": 1, "b": 2})) is None
    assert verdict(NAMES, ours, outcome([["Allen"]])) is None
    assert verdict(NAMES, computed(("Name",), ("Allen",)), outcome("Allen")) is True
    assert verdict(NAMES, computed(("Name", "Age"), ("Allen", 3)), outcome("Allen")) is None


def test_long_lists_are_shortened_in_what_is_said() -> None:
    ours = computed(("Name",), *((name,) for name in "abcde"))
    found = agrees(NAMES, ours, outcome(["x"]))
    assert found is not None
    assert "'a', 'b', 'c' and 2 more, the code 'x'." in found["said"]


def test_frames_within_a_mapping_are_looked_into() -> None:
    query = Query(table="t", measures=(measure(),))
    ended = outcome({"n": 3.0}, frames={"mean_fare": frame(["v"], [34.65])})
    assert verdict(query, computed(("mean_fare",), (34.65,)), ended) is True


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.floats(-1e8, 1e8, allow_nan=False), st.integers(1, 6))
def test_a_value_agrees_with_itself_rounded(value: float, decimals: int) -> None:
    assert single(value, round(value, decimals), decimals=decimals) is True
    assert single(value, value) is True
