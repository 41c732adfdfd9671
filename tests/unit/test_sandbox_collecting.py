"""What `result` may hold, and what becomes of it."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from secondlook.sandbox.inside import job as collecting
from secondlook.sandbox.inside.job import collect, frame, plain


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (np.True_, True),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (1 / 3, 1 / 3),
        (np.float64(math.inf), math.inf),
        (np.str_("a"), "a"),
        (2**63, "9223372036854775808"),
        (-(2**63), -(2**63)),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT"), None),
        (pd.Timestamp("2024-02-29 08:00", tz="UTC"), "2024-02-29T08:00:00+00:00"),
        (np.datetime64("2024-02-29"), "2024-02-29T00:00:00"),
        (dt.date(2024, 2, 29), "2024-02-29"),
        (dt.time(8, 30), "08:30:00"),
        (pd.Timedelta(days=1), "1 days 00:00:00"),
        (np.timedelta64(36, "h"), "1 days 12:00:00"),
        (pd.Period("2024-01"), "2024-01"),
        (pd.Interval(0, 1), "(0, 1]"),
        (Decimal("1.25"), 1.25),
        (Fraction(1, 4), 0.25),
        (1 + 2j, "(1+2j)"),
        ((1, 2), [1, 2]),
        ({3}, [3]),
        (range(2), [0, 1]),
        ({"a": 1}.values(), [1]),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array(5), 5),
        (pd.Index(["x"]), ["x"]),
        (pd.array([1, None]), [1, None]),
        ({("a", "b"): 1, 2.0: 2, dt.date(2024, 1, 1): 3}, {"a_b": 1, "2": 2, "2024-01-01": 3}),
        (Hostile(), "<Hostile>"),
        (np.longdouble(2), 2.0),
        (np.void(b"ab"), "b'ab'"),
    ],
)
def test_plain_forms(value: Any, expected: Any) -> None:
    found = plain(value, 10)
    assert found == expected
    assert type(found) is type(expected)
    json.dumps(found)


def test_text_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "MOST_TEXT", 5)
    assert plain("abcdefgh", 10) == "abcde…"


def test_lists_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "MOST_ITEMS", 2)
    assert plain([1, 2, 3], 10) == [1, 2]
    assert plain({"a": 1, "b": 2, "c": 3}, 10) == {"a": 1, "b": 2}


def test_depth_is_bounded() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert len(json.dumps(plain(deep, 10))) < 100


def test_numbering_of_rows_is_no_column() -> None:
    found = frame(pd.DataFrame({"a": [1, 2]}), 10)
    assert found == {"columns": ["a"], "rows": [[1], [2]], "total_rows": 2}


def test_index_that_says_something_is_a_column() -> None:
    counts = pd.Series(["x", "y", "x"], name="place").value_counts()
    assert frame(counts, 10)["columns"] == ["place", "count"]
    assert frame(counts, 10)["rows"] == [["x", 2], ["y", 1]]
    unnamed = pd.DataFrame({"a": [1]}, index=["r"])
    assert frame(unnamed, 10)["columns"] == ["index", "a"]


def test_columns_below_columns_and_levels_without_a_name() -> None:
    data = pd.DataFrame({"p": ["x", "x"], "q": [1, 1], "v": [1.0, 3.0]})
    grouped = data.groupby(["p", "q"]).agg({"v": ["mean", "sum"]})
    grouped.index.names = [None, "q"]
    found = frame(grouped, 10)
    assert found["columns"] == ["level_0", "q", "v_mean", "v_sum"]
    assert found["rows"] == [["x", 1, 2.0, 4.0]]


def test_series_without_a_name() -> None:
    assert frame(pd.Series([1.5]), 10) == {
        "columns": ["value"],
        "rows": [[1.5]],
        "total_rows": 1,
    }


def test_missing_texts_are_none_and_missing_numbers_nan() -> None:
    rows = frame(pd.DataFrame({"t": ["a", None], "n": [1.0, None]}), 10)["rows"]
    assert rows[1][0] is None
    assert math.isnan(rows[1][1])


def test_rows_are_bounded_by_count_and_by_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pd.DataFrame({"a": range(9), "b": range(9)})
    assert len(frame(data, 4)["rows"]) == 4
    monkeypatch.setattr(collecting, "_MOST_CELLS", 6)
    found = frame(data, 100)
    assert (len(found["rows"]), found["total_rows"]) == (3, 9)


def test_frame_without_columns() -> None:
    assert frame(pd.DataFrame(), 10) == {"columns": [], "rows": [], "total_rows": 0}


def test_frame_as_result_and_frames_in_a_mapping() -> None:
    data = pd.DataFrame({"a": [1]})
    assert collect(data, 10)["result"] is None
    assert collect(data, 10)["frame"]["rows"] == [[1]]
    mixed = collect({"n": 1, "rows": data, "deep": [data]}, 10)
    assert mixed["result"] == {"n": 1, "deep": [[{"a": 1}]]}
    assert mixed["frames"]["rows"]["rows"] == [[1]]


def test_styled_frame_is_a_frame() -> None:
    class Styler:
        data = pd.DataFrame({"a": [1]})

    assert collect(Styler(), 10)["frame"]["rows"] == [[1]]
