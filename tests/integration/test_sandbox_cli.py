"""`secondlook sandbox`: scripts that run in it, the check of it, and what `doctor` says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from secondlook.cli.main import main
from secondlook.sandbox.port import Figure, Frame, Limits, Outcome, Supplied, Verdict
from secondlook.sandbox.self_check import Attacked, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

SCRIPT = """\
print("rows:", len(df))
result = {"total": int(df["value"].sum()), "by place": df.groupby("place")["value"].sum()}
fig = px.bar(df, x="place", y="value")
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["sandbox", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


class Scripted:
    """A sandbox that says what it was told to say."""

    name = "scripted"

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.given: list[tuple[str, list[str], Limits | None]] = []
        self.closed = False

    def run(
        self, code: str, tables: Sequence[Supplied] = (), *, limits: Limits | None = None
    ) -> Outcome:
        self.given.append((code, [table.name for table in tables], limits))
        return self.outcome

    def close(self) -> None:
        self.closed = True


def scripted(monkeypatch: pytest.MonkeyPatch, outcome: Outcome) -> Scripted:
    made = Scripted(outcome)
    monkeypatch.setattr("secondlook.sandbox.open_sandbox", lambda *_: made)
    return made


def test_a_script_over_a_table(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("place,value\na,1\nb,2\na,5\n", "utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, "utf-8")
    code, out, err = run("run", "script.py", "--table", "sales.csv", "--figures", "charts")
    assert code == 0, err
    assert out == "rows: 3\nby place\nplace\tvalue\na\t6\nb\t2\n{'total': 8}\n"
    assert json.loads((tmp_path / "charts" / "figure-1.json").read_text("utf-8"))["data"]
    assert "saved charts/figure-1.json" in err


def test_what_came_out_is_shown_and_cannot_command_the_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = Frame(("a\x1b[2J", "b"), tuple((row, None) for row in range(25)), total_rows=90)
    outcome = Outcome(
        "ok", frame=frame, has_result=True, stdout="\x1b]0;x\x07hi\n", stdout_cut=True
    )
    made = scripted(monkeypatch, outcome)
    (tmp_path / "s.py").write_text("1", "utf-8")
    code, out, err = run("run", "s.py", "--seconds", "7", "--memory", "256")
    assert code == 0
    assert "\x1b" not in out
    assert out.endswith("19\tNone\n... and 70 more rows\n")
    assert "more was printed than is kept" in err
    limits = made.given[0][2]
    assert limits is not None
    assert (limits.seconds, limits.resident) == (7.0, 256 << 20)
    assert made.closed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "none.py"), "'none.py' cannot be read"),
        (("run", "s.py", "--table", "x.csv"), "x.csv"),
        (("run", "s.py", "--figures", "s.py"), "cannot be saved"),
        (("check", "--backend", "none"), "none"),
    ],
)
def test_what_cannot_be_done(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    scripted(monkeypatch, Outcome("ok", figures=(Figure("plotly", "{}"),)))
    (tmp_path / "s.py").write_text("result = 1", "utf-8")
    code, out, err = run(*arguments)
    assert code in (1, 2)
    assert said in err
    assert out == ""


LEAKY = Report("plain", (Attacked("tcp", True, "refused"), Attacked("kill", False, "it killed")))


def test_an_attack_that_succeeds_is_told_and_fails(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondlook.sandbox.self_check.self_check", lambda _: LEAKY)
    code, out, err = run("check")
    assert code == 1
    assert out == "  ok  tcp   refused\n  !!  kill  it killed\n"
    assert "2 attacks on plain: 1 succeeded." in err


def test_backends_are_listed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = run()
    assert code == 0
    assert "  ok  " in out
    assert "auto takes " in err
    none = (Verdict("namespaces", usable=False, why="the kernel refuses"),)
    monkeypatch.setattr("secondlook.sandbox.available", lambda: none)
    code, out, err = run("list", "--json")
    assert code == 1
    assert json.loads(out)["default"] is None
    assert run("list")[1] == "  --  namespaces: the kernel refuses\n"


def test_doctor_says_what_confines_code(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    found = next(found for found in findings if found["area"] == "sandbox")
    assert found["state"] == "ok"
    assert "seccomp" in str(found["said"])
