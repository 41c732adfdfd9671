"""Which backend is opened, and what is said where none can be."""

import datetime as dt
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from secondlook.errors import SandboxError
from secondlook.sandbox import available, forked, open_sandbox
from secondlook.sandbox import kernel as landlock
from secondlook.sandbox.forked import import_paths, server_environment
from secondlook.sandbox.inside import job as job_module
from secondlook.sandbox.inside.job import answered, plain
from secondlook.sandbox.outcomes import read_reply
from secondlook.sandbox.port import Limits, Outcome, Request, Supplied
from tests.support.sandbox import ROWS, sales


@pytest.fixture
def other_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is no Linux."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(landlock, "supported", lambda: False)


@pytest.fixture(autouse=True)
def _forget_trials() -> Iterator[None]:
    """Before, and after: other tests must not hear of machines that were made up here."""
    forked._of_the_machine.cache_clear()
    yield
    forked._of_the_machine.cache_clear()


@pytest.mark.usefixtures("other_machine")
def test_other_systems_are_told_their_options() -> None:
    for verdict in available():
        assert not verdict.usable
    with pytest.raises(SandboxError, match="needs Linux") as error:
        open_sandbox()
    assert error.value.hint is not None
    assert "user namespaces" in error.value.hint
    assert landlock.version() == 0


def test_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "statsmodels" else found(name)
    )
    with pytest.raises(SandboxError, match="pip install statsmodels"):
        open_sandbox("plain")


def test_without_landlock_plain_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    verdict = forked.verdict("plain")
    assert (verdict.usable, "Landlock" in verdict.why) == (False, True)


def test_trial_that_confines_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The filter is left out, everything else is done: the trial must notice."""
    leave_out = "from secondlook.sandbox import seccomp; seccomp.install = print; "
    head, _, tail = forked._TRY.partition("; ")
    first, _, rest = tail.partition("; ")
    monkeypatch.setattr(forked, "_TRY", f"{head}; {first}; {leave_out}{rest}")
    for verdict in (forked.verdict("plain"), forked.verdict("namespaces")):
        assert not verdict.usable


def test_server_inherits_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    monkeypatch.setenv("TZ", "Europe/Bern")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    given = server_environment()
    assert "s3cret" not in given.values()
    assert given["TZ"] == "Europe/Bern"
    assert given["MPLCONFIGDIR"].startswith("/somewhere/secondlook")
    assert "" not in import_paths()
    assert str(os.getcwd()) not in import_paths()  # noqa: PTH109


# A job without its confinement: what it loads, runs, collects and replies.

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
