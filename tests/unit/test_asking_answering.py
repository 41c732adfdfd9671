"""From what queries came to, to named values; readings as JSON and back."""

from __future__ import annotations

import json

import pytest

from secondlook.tables.query import Computed, Key, Measure, Query
from secondlook.tables.resolver import Resolved
from secondlook.tables.understand.interpreter import understand
from secondlook.tables.understand.readings import (
    Bound,
    Case,
    Operation,
    Output,
    Reading,
    Wanted,
    formatted,
    reading_data,
    reading_from,
    values_of,
)
from tests.support.shop import shop

COUNT = Query(table="t", measures=(Measure(name="n", statistic="count"),))


def reading(**parts: object) -> Reading:
    usual = {
        "query": COUNT,
        "said": "number of rows",
        "doubt": 0.1,
        "resolved": (),
        "family": "test",
        "answer": "value",
    }
    return Reading(**{**usual, **parts})  # type: ignore[arg-type]


def computed(*rows: tuple[object, ...], columns: tuple[str, ...] = ("n",)) -> Computed:
    return Computed(columns=columns, rows=rows, total_rows=len(rows), sql="")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("operation", "first", "second", "expected"),
    [
        ("difference", 5, 3, 2),
        ("sum", 5, 3, 8),
        ("ratio", 6, 3, 2),
        ("greater", 5, 3, True),
        ("less", 5, 3, False),
        ("same", 3, 3, True),
        ("most", 5, 3, "a"),
        ("least", 5, 3, "b"),
        ("most", 5, 5, "a, b"),
    ],
)
def test_operations(operation: Operation, first: int, second: int, expected: object) -> None:
    asked = reading(more=(COUNT,), operation=operation, choices=("a", "b"))
    assert values_of(asked, [computed((first,)), computed((second,))]) == {"answer": expected}


def test_existence() -> None:
    assert values_of(reading(operation="exists"), [computed((1,))]) == {"answer": True}
    assert values_of(reading(operation="none"), [computed((1,))]) == {"answer": False}
    assert values_of(reading(operation="exists"), [computed()]) == {"answer": False}


@pytest.mark.parametrize(
    ("asked", "results"),
    [
        (reading(more=(COUNT,), operation="difference"), [computed((1,)), computed()]),
        (reading(more=(COUNT,), operation="difference"), [computed((1,)), computed(("x",))]),
        (reading(more=(COUNT,), operation="ratio"), [computed((1,)), computed((0,))]),
        (reading(more=(COUNT,), operation="most"), [computed((1,)), computed((2,))]),
        (reading(operation="difference"), [computed((1,))]),
        (reading(), [computed((1,)), computed((2,))]),
        (reading(query=Query(table="t")), [computed()]),
    ],
)
def test_nothing_where_nothing_follows(asked: Reading, results: list[Computed]) -> None:
    assert values_of(asked, results) == {}


def test_rows() -> None:
    rows = Query(table="t", select=("a",))
    one = computed(("x",), ("y",), columns=("a",))
    assert values_of(reading(query=rows, answer="list"), [one]) == {"answer": ["x", "y"]}
    assert values_of(reading(query=rows, answer="value"), [one]) == {"answer": "x"}
    assert values_of(reading(query=rows, answer="boolean"), [one]) == {"answer": True}
    two = computed(("x", 1), columns=("a", "b"))
    assert values_of(reading(query=rows, answer="rows"), [two]) == {"answer": [{"a": "x", "b": 1}]}


def test_wanted_names_and_decimals() -> None:
    wanted = Wanted(names=("total",), decimals=1)
    assert values_of(reading(), [computed((1.26,))], wanted) == {"total": 1.3}
    grouped = COUNT.model_copy(update={"group_by": (Key(column="g"),)})
    found = values_of(
        reading(query=grouped), [computed(("a", 1.26), (None, 2.0), columns=("g", "n"))], wanted
    )
    assert found == {"total": {"a": 1.3, "missing": 2.0}}


def test_outputs() -> None:
    cases = (Case("big", (Bound("n", ">", 10, absolute=True),)), Case("small"))
    outputs = (
        Output("word", "n", cases=cases),
        Output("of_b", "n", group=("b",), decimals=1),
        Output("all", "n", every="list"),
        Output("each", "n", every="mapping", prefix="g_"),
        Output("gone", "n", query=7),
        Output("not there", "x"),
    )
    result = computed(("a", -12), ("b", 3.14), columns=("g", "n"))
    wanted = Wanted(names=("word",), quoted=frozenset({"word"}))
    found = values_of(reading(outputs=outputs), [result], wanted)
    assert found == {
        "word": '"big"',
        "of_b": 3.1,
        "all": [-12, 3.14],
        "each": {"g_a": -12, "g_b": 3.14},
        "gone": None,
        "not there": None,
    }


def test_a_missing_number_gives_no_word() -> None:
    cases = (Case("big", (Bound("n", ">", 10),)), Case("small"))
    found = values_of(reading(outputs=(Output("word", "n", cases=cases),)), [computed((None,))])
    assert found == {"word": None}


def test_combined_measures() -> None:
    over = (("x", "first"), ("y", "second"))
    result = computed((0, 4), columns=("x", "y"))
    for combine, expected in (
        ("most", "second"),
        ("least", "first"),
        ("sum", 4),
        ("positive", ["second"]),
    ):
        output = Output("v", "", combine=combine, over=over)  # type: ignore[arg-type]
        assert values_of(reading(outputs=(output,)), [result]) == {"v": expected}
    empty = Output("v", "", combine="sum", over=over)
    assert values_of(reading(outputs=(empty,)), [computed(columns=("x", "y"))]) == {"v": None}


def test_formatted() -> None:
    assert formatted(["a", 1]) == "a, 1"
    assert formatted({"a": 1.5}) == "{'a': 1.5}"
    assert formatted(None) == ""
    assert formatted(2.0) == "2.0"


def test_a_reading_survives_json() -> None:
    cases = (Case("big", (Bound("n", ">", 10),)),)
    whole = reading(
        more=(COUNT,),
        operation="difference",
        choices=("a", "b"),
        resolved=(Resolved("x", "t", "X", 0.9, "fuzzy"),),
        outputs=(Output("w", "n", group=("b",), cases=cases, over=(("x", "y"),)),),
    )
    data = reading_data(whole)
    assert json.loads(json.dumps(data)) == data
    assert reading_from(data) == whole


def _family(*readings: Reading):  # type: ignore[no-untyped-def]
    return [lambda *_: list(readings)]


def test_two_readings_of_equal_doubt_are_none() -> None:
    other = reading(query=Query(table="t", select=("a",)), said="rows")
    found = understand("what?", [shop()], families=_family(reading(), other))
    assert found.best is None
    assert found.why == "Either number of rows, or rows."
    assert len(found.others) == 2
    named = reading(query=Query(table="t", measures=(Measure(name="m", statistic="count"),)))
    same = understand("what?", [shop()], families=_family(reading(), named))
    assert same.best is not None


def test_too_much_doubt_is_none() -> None:
    found = understand("what?", [shop()], families=_family(reading(doubt=0.9)))
    assert found.best is None
    assert "90%" in found.why
    assert understand("what?", [], families=()).best is None
    assert "No way" in understand("what?", [shop()], families=()).why


def test_each_without_groups_is_doubted() -> None:
    found = understand("the number for each colour", [shop()], families=_family(reading()))
    assert found.best is None


def test_counts_over_a_short_table_are_of_its_rows() -> None:
    mine = reading(family="statistics", doubt=0.2, rows=10)
    rows = reading(query=Query(table="t", select=("a",)), said="rows", doubt=0.45)
    assert understand("how many?", [shop()], families=_family(mine, rows)).best == rows
    long = reading(family="statistics", doubt=0.2, rows=1000)
    assert understand("how many?", [shop()], families=_family(long, rows)).best == long
