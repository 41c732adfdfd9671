"""A job without its confinement: what it loads, runs, collects and replies."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from secondlook.sandbox.inside import job as job_module
from secondlook.sandbox.inside.job import answered, collect, frame, plain
from secondlook.sandbox.outcomes import read_reply
from secondlook.sandbox.port import Limits, Request, Supplied
from tests.support.sandbox import ROWS, sales

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.sandbox.port import Outcome

TOKEN = "t"  # noqa: S105 - of no job at all


@pytest.fixture(autouse=True)
def _own_main(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setenv("MPLBACKEND", "Agg")


def run(code: str, *tables: Supplied, limits: Limits | None = None) -> Outcome:
    given = limits or Limits()
    asked = Request(code, tuple(each.name for each in tables), given, TOKEN)
    request = Request.decoded(asked.encoded())
    assert request == asked
    files = [os.open(each.file, os.O_RDONLY) for each in tables]
    return read_reply(answered(request, files), token=TOKEN, limits=given)


def test_result_from_a_table(tmp_path: Path) -> None:
    code = 'result = {"n": len(df), "first": df["day"].min(), "tax": df["tax"].sum()}'
    outcome = run(code, sales(tmp_path))
    assert outcome.result == {"n": ROWS, "first": "2024-01-01T00:00:00", "tax": 1.25 * ROWS}
    assert outcome.has_result
    assert run("x = 1").has_result is False
    assert run("result = 3\nraise SystemExit(0)\nresult = 4").result == 3  # no error
    coded = pa.array(["a", "b", "a"]).dictionary_encode()
    pq.write_table(pa.table({"kind": coded}), tmp_path / "t.parquet")
    upper = run("result = df.kind.str.upper().tolist()", Supplied("t", tmp_path / "t.parquet"))
    assert upper.result == ["A", "B", "A"]


@pytest.mark.parametrize(
    ("code", "kind", "line", "message"),
    [
        ("x = 1\nresult = y", "NameError", 2, "name 'y' is not defined"),
        ("x = (", "SyntaxError", 1, "'(' was never closed"),
        ("raise SystemExit('no')", "SystemExit", 1, "no"),
        ("fig = 3", "TypeError", None, "must be a figure"),
        ("class Odd(Exception):\n    def __str__(self): raise self\nraise Odd", "Odd", 3, "<Odd>"),
        ("x = '\ud800'", "UnicodeEncodeError", None, "surrogates"),
    ],
)
def test_errors_with_their_line(code: str, kind: str, line: int | None, message: str) -> None:
    outcome = run(code)
    assert outcome.status == "error"
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.line) == (kind, line)
    assert message in outcome.failure.message
    assert outcome.failure.code == (None if line is None else code.splitlines()[line - 1])


def test_too_much_memory_and_too_long_a_reply_have_their_own_status() -> None:
    assert run("raise MemoryError").status == "memory"
    assert run("result = 'x' * 50_000", limits=Limits(reply_bytes=1000)).status == "output"


def test_job_that_cannot_be_confined_runs_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(_: Limits) -> None:
        raise OSError(1, "refused")

    def ended(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", ended)
    reply, reply_end = os.pipe()
    marker = tmp_path / "ran"
    request = Request(f"open({str(marker)!r}, 'w')", (), Limits(), TOKEN)
    (tmp_path / "request").write_bytes(request.encoded())
    with pytest.raises(SystemExit):
        job_module.serve(os.open(tmp_path / "request", os.O_RDONLY), reply_end, [], refuse)
    with os.fdopen(reply, "rb") as answer:
        outcome = read_reply(answer.read(), token=TOKEN, limits=Limits())
    assert outcome.status == "crashed"
    assert outcome.failure is not None
    assert outcome.failure.kind == "NotConfined"
    assert not marker.exists()


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(3), 3),
        (2**63, "9223372036854775808"),
        (pd.NaT, None),
        (pd.Timestamp("2024-02-29 08:00", tz="UTC"), "2024-02-29T08:00:00+00:00"),
        (np.datetime64("2024-02-29"), "2024-02-29T00:00:00"),
        (np.timedelta64(36, "h"), "1 days 12:00:00"),
        (Decimal("1.25"), 1.25),
        ({3}, [3]),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (pd.array([1, None]), [1, None]),
        ({("a", "b"): 1, 2.0: 2, dt.date(2024, 1, 1): 3}, {"a_b": 1, "2": 2, "2024-01-01": 3}),
        (Hostile(), "<Hostile>"),
    ],
)
def test_plain_forms(value: Any, expected: Any) -> None:
    found = plain(value, 10)
    assert found == expected
    assert type(found) is type(expected)
    json.dumps(found)


def test_results_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert len(json.dumps(plain(deep, 10))) < 100
    wide = pd.DataFrame({"a": range(9), "b": range(9)})
    assert len(frame(wide, 4)["rows"]) == 4
    monkeypatch.setattr(job_module, "_MOST_CELLS", 6)
    assert (len(frame(wide, 100)["rows"]), frame(wide, 100)["total_rows"]) == (3, 9)
    monkeypatch.setattr(job_module, "MOST_TEXT", 5)
    monkeypatch.setattr(job_module, "MOST_ITEMS", 2)
    assert plain("abcdefgh", 10) == "abcde…"
    assert plain([1, 2, 3], 10) == [1, 2]


def test_an_index_that_says_something_is_a_column() -> None:
    data = pd.DataFrame({"p": ["x", "x"], "q": [1, 1], "v": [1.0, 3.0]})
    assert frame(data, 10)["columns"] == ["p", "q", "v"]
    assert frame(data["p"].value_counts(), 10)["rows"] == [["x", 2]]
    assert frame(pd.DataFrame({"a": [1]}, index=["r"]), 10)["columns"] == ["index", "a"]
    assert frame(pd.Series([1.5]), 10)["columns"] == ["value"]
    assert frame(pd.DataFrame(), 10) == {"columns": [], "rows": [], "total_rows": 0}
    grouped = data.groupby(["p", "q"]).agg({"v": ["mean", "sum"]})
    grouped.index.names = [None, "q"]
    assert frame(grouped, 10)["columns"] == ["level_0", "q", "v_mean", "v_sum"]


def test_frame_as_result_and_frames_in_a_mapping() -> None:
    data = pd.DataFrame({"a": [1]})
    assert collect(data, 10)["result"] is None
    assert collect(data, 10)["frame"]["rows"] == [[1]]
    mixed = collect({"n": 1, "rows": data, "deep": [data]}, 10)
    assert mixed["result"] == {"n": 1, "deep": [[{"a": 1}]]}
    assert mixed["frames"]["rows"]["rows"] == [[1]]
