"""Frames that are handed over in Python."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from secondlook.errors import UsageError
from secondlook.tables.read import Read, table_from_frame

if TYPE_CHECKING:
    from pathlib import Path

at = datetime.fromisoformat


def rows_of(read: Read) -> list[tuple[Any, ...]]:
    frame = pq.read_table(read.file)
    return list(zip(*(column.to_pylist() for column in frame.columns), strict=True))


def types_of(read: Read) -> dict[str, str]:
    return {column.name: column.type for column in read.table.columns}


def test_a_frame_of_pandas_keeps_its_types(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "n": [1, 2],
            "x": [1.5, np.nan],
            "text": ["007", None],
            "when": pd.to_datetime(["2020-01-05 10:00", None]),
            "zoned": pd.to_datetime(["2020-01-05 10:00", None]).tz_localize("Europe/Berlin"),
            "day": [date(2020, 1, 5), None],
            "clock": [time(10, 30), None],
            "ok": [True, False],
            "kind": pd.Categorical(["a", "b"]),
            "mixed": [1, "x"],
            "nothing": [None, None],
            "lists": [[1, 2], [3]],
        }
    )
    read = table_from_frame("my frame", frame, tmp_path)
    assert types_of(read) == {
        "n": "integer", "x": "number", "text": "text", "when": "datetime", "zoned": "datetime",
        "day": "date", "clock": "time", "ok": "boolean", "kind": "text", "mixed": "text",
        "nothing": "integer", "lists": "text",
    }  # fmt: skip
    first, second = rows_of(read)
    assert first == (
        1, 1.5, "007", at("2020-01-05 10:00"), at("2020-01-05 09:00"), date(2020, 1, 5),
        time(10, 30), True, "a", "1", None, "[1, 2]",
    )  # fmt: skip
    assert second == (2, None, None, None, None, None, None, False, "b", "x", None, "[3]")
    assert (read.table.name, read.table.title, read.table.path) == ("my_frame", "my frame", None)
    assert list(tmp_path.iterdir()) == [read.file]


def test_an_index_that_says_something_becomes_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": [1, 2]}, index=pd.Index(["a", "b"], name="key"))
    assert list(types_of(table_from_frame("t", frame, tmp_path))) == ["key", "n"]
    plain = pd.DataFrame({"n": [1, 2]})
    assert list(types_of(table_from_frame("t", plain, tmp_path))) == ["n"]


def test_other_kinds_of_frames(tmp_path: Path) -> None:
    arrow = pa.table({"n": pa.array([1, 2], pa.uint8()), "b": [b"x", b"y"]})
    read = table_from_frame("t", arrow, tmp_path)
    assert types_of(read) == {"n": "integer"}
    assert any("'b'" in warning for warning in read.table.warnings)
    records: list[dict[str, Any]] = [{"a": 1}, {"a": 2.5, "b": "x"}]
    assert rows_of(table_from_frame("t", records, tmp_path)) == [(1.0, None), (2.5, "x")]
    columns = {"a": [1, "x"], "b": [date(2020, 1, 5), None]}
    assert rows_of(table_from_frame("t", columns, tmp_path)) == [
        ("1", date(2020, 1, 5)), ("x", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "frame",
    [5, "x", [1, 2], pd.Series([1, 2]), {}, pd.DataFrame(), pd.DataFrame({"a": []}),
     {"a": [1, 2], "b": [1]}],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_what_is_no_frame(tmp_path: Path, frame: object) -> None:
    with pytest.raises(UsageError, match="table 't'"):
        table_from_frame("t", frame, tmp_path)
    assert list(tmp_path.iterdir()) == []
