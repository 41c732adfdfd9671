"""A job without its confinement: what it loads, runs, collects and replies."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.sandbox.inside import job as job_module
from secondlook.sandbox.inside import preload
from secondlook.sandbox.inside.job import answered, clean_environment
from secondlook.sandbox.outcomes import read_reply
from secondlook.sandbox.port import Limits, Request
from tests.support.sandbox import ROWS, sales

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.sandbox.port import Outcome, Supplied

TOKEN = "t"  # noqa: S105 - of no job at all


@pytest.fixture(autouse=True)
def _own_main(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setenv("MPLBACKEND", "Agg")


@pytest.fixture
def table(tmp_path: Path) -> Supplied:
    return sales(tmp_path)


def run(code: str, *tables: Supplied, limits: Limits | None = None) -> Outcome:
    given = limits or Limits()
    asked = Request(code, tuple(each.name for each in tables), given, TOKEN)
    request = Request.decoded(asked.encoded())
    assert request == asked
    files = [os.open(each.file, os.O_RDONLY) for each in tables]
    return read_reply(answered(request, files), token=TOKEN, limits=given)


def test_result_from_a_table(table: Supplied) -> None:
    outcome = run(
        'result = {"n": len(df), "first": df["day"].min(), "tax": df["tax"].sum()}', table
    )
    assert outcome.result == {"n": ROWS, "first": "2024-01-01T00:00:00", "tax": 1.25 * ROWS}
    assert outcome.has_result


def test_code_without_a_result() -> None:
    outcome = run("x = 1")
    assert (outcome.status, outcome.has_result, outcome.result) == ("ok", False, None)


@pytest.mark.parametrize(
    ("code", "kind", "line", "message"),
    [
        ("x = 1\nresult = y", "NameError", 2, "name 'y' is not defined"),
        ("x = (", "SyntaxError", 1, "'(' was never closed"),
        ("import json\n\njson.loads('{')", "JSONDecodeError", 3, "Expecting property name"),
        ("raise SystemExit('no')", "SystemExit", 1, "no"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", 1, ""),
        ("fig = 3", "TypeError", None, "must be a figure"),
        ("x = '\\0'.join('a')\neval('1 +')", "SyntaxError", 2, "invalid syntax"),
        (
            "class Odd(Exception):\n    def __str__(self): raise self\nraise Odd",
            "Odd",
            3,
            "<Odd>",
        ),
        ("def f(): f()\nf()", "RecursionError", 1, "maximum recursion"),
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


def test_too_little_memory_is_its_own_status() -> None:
    assert run("raise MemoryError").status == "memory"


def test_leaving_early_is_no_error() -> None:
    assert run("result = 3\nexit_code = 0\nraise SystemExit(0)\nresult = 4").result == 3


def test_classes_of_the_code_have_a_home() -> None:
    code = "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nresult = A(3)"
    assert run(code).result == "A(x=3)"


def test_more_than_a_reply_may_hold() -> None:
    outcome = run("result = 'x' * 50_000", limits=Limits(reply_bytes=1000))
    assert outcome.status == "output"


def test_charts(table: Supplied) -> None:
    both = 'fig = (px.line(df, y="price"), plt.figure())\nfig[1].add_subplot().plot([1, 2])'
    assert [figure.kind for figure in run(both, table).figures] == ["plotly", "png"]
    assert [figure.kind for figure in run("fig = {'data': []}").figures] == ["plotly"]
    assert [figure.kind for figure in run("result = px.line(y=[1])").figures] == ["plotly"]
    axes = "axes = df['price'].plot()\nfig = axes"
    assert [figure.kind for figure in run(axes, table).figures] == ["png"]
    current = "plt.close('all')\nplt.plot([1])"
    assert [figure.kind for figure in run(current).figures] == ["png"]
    assert run("plt.close('all')\nplt.figure()\nfig = [None]").figures == ()
    assert run("plt.close('all')").figures == ()


def test_categories_are_text(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from secondlook.sandbox.port import Supplied

    coded = pa.array(["a", "b", "a"]).dictionary_encode()
    pq.write_table(pa.table({"kind": coded}), tmp_path / "t.parquet")
    outcome = run(
        "result = [df.kind.str.upper().tolist(), df.kind.dtype.name == 'category']",
        Supplied("t", tmp_path / "t.parquet"),
    )
    assert outcome.result == [["A", "B", "A"], False]


def test_environment_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "environ", {"LANG": "C.UTF-8", "TOKEN": "x"})
        clean_environment(None)
        assert os.environ == {"LANG": "C.UTF-8", "HOME": "/", "TMPDIR": "/"}


def test_job_that_cannot_be_confined_runs_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(_: Limits) -> None:
        raise OSError(1, "refused")

    def ended(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", ended)
    reply, reply_end = os.pipe()
    request_file = tmp_path / "request"
    marker = tmp_path / "ran"
    code = f"open({str(marker)!r}, 'w')"
    request_file.write_bytes(Request(code, (), Limits(), TOKEN).encoded())
    with pytest.raises(SystemExit) as end:
        job_module.serve(os.open(request_file, os.O_RDONLY), reply_end, [], refuse)
    with os.fdopen(reply, "rb") as answer:
        outcome = read_reply(answer.read(), token=TOKEN, limits=Limits())
    assert end.value.code == 1
    assert outcome.status == "crashed"
    assert outcome.failure is not None
    assert (outcome.failure.kind, "refused" in outcome.failure.message) == ("NotConfined", True)
    assert not marker.exists()


def test_libraries_lie_where_jobs_may_read(tmp_path: Path) -> None:
    import pandas as pd

    folders = preload.readable()
    assert any(str(pd.__file__).startswith(folder) for folder in folders)
    assert any(os.__file__.startswith(folder) for folder in folders)
    tmp_path.chmod(0o700)
    (tmp_path / "open").mkdir(mode=0o755)
    assert not preload.readable_to_others((str(tmp_path / "open"),))
    assert preload.readable_to_others(("/usr/lib",))


def test_polars_is_kept_out() -> None:
    finder: Any = preload._KeepOut()
    assert finder.find_spec("pandas") is None
    with pytest.raises(ModuleNotFoundError):
        finder.find_spec("polars.lazy")
