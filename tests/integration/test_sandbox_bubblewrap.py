"""The backend `bubblewrap`: the same outcomes as the others, and what happens where it cannot work.
Its real jobs are tested where the machine can run them; attacks and leaks are tested elsewhere."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import pytest

from secondlook.errors import SandboxError, UsageError
from secondlook.sandbox import bubblewrap
from secondlook.sandbox.bubblewrap import arguments, readable
from secondlook.sandbox.port import Limits
from tests.support.sandbox import ROWS, sales, usable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.sandbox.port import Sandbox

LIMITS = Limits(seconds=60.0, resident=400 << 20)


def program(folder: Path, lines: str) -> str:
    """Something that is called as `bwrap` is."""
    file = folder / "bwrap"
    file.write_text(f"#!/bin/sh\n{lines}\n", "utf-8")
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str | None]]:
    """What is found on the way to programs, in place of the real one."""
    there: list[str | None] = [None]
    monkeypatch.setattr("shutil.which", lambda _: there[0])
    bubblewrap._of_the_machine.cache_clear()
    yield there
    bubblewrap._of_the_machine.cache_clear()


def test_without_the_program_it_says_how_to_get_it(found: list[str | None]) -> None:
    verdict = bubblewrap.verdict()
    assert not verdict.usable
    assert "apt-get install bubblewrap" in verdict.why
    with pytest.raises(SandboxError, match="not installed"):
        bubblewrap.start(LIMITS)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("echo 'No permissions to create a namespace' >&2; exit 1", "No permissions to create"),
        ("exit 7", "the trial ended with 7"),
    ],
)
def test_where_it_is_refused_it_says_why(
    found: list[str | None], tmp_path: Path, lines: str, why: str
) -> None:
    found[0] = program(tmp_path, lines)
    verdict = bubblewrap.verdict()
    assert not verdict.usable
    assert why in verdict.why
    sandbox = bubblewrap.start(LIMITS)
    with pytest.raises(SandboxError, match="could not start a job"):
        sandbox.run("result = 1")


def test_a_program_that_cannot_be_run_is_told(found: list[str | None], tmp_path: Path) -> None:
    found[0] = str(tmp_path / "gone")
    assert "could not be tried" in bubblewrap.verdict().why


def test_other_machines_are_told_what_is_needed(
    found: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondlook.sandbox.kernel.supported", lambda: False)
    assert "needs Linux" in bubblewrap.verdict().why


def test_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "missing_packages", lambda: "pandas is not installed")
    assert bubblewrap.verdict().why == "pandas is not installed"


def test_what_is_shown_of_the_machine_is_read_only_and_little() -> None:
    given = arguments("bwrap", LIMITS)
    assert "--bind" not in given
    assert given.count("--dev-bind") == 1
    shown = readable()
    assert sys.executable in shown or any(sys.executable.startswith(path) for path in shown)
    assert not {"/", "/etc", "/home", "/root", "/tmp", "/proc", "/sys"} & set(shown)  # noqa: S108


if "bubblewrap" in usable():  # a test that is not there is not skipped

    @pytest.fixture(scope="module")
    def sandbox() -> Iterator[Sandbox]:
        with contextlib.closing(bubblewrap.start(LIMITS)) as opened:
            yield opened

    def test_value_frame_output_and_charts(sandbox: Sandbox, tmp_path: Path) -> None:
        outcome = sandbox.run(
            "print('so')\n"
            "result = {'sum': df['count'].sum(), 'by': df.groupby('city')['price'].mean()}\n"
            "plt.plot(df['count'])\nfig = [px.bar(df, x='city', y='count'), plt.gcf()]\n",
            [sales(tmp_path)],
        )
        assert outcome.status == "ok", outcome.failure
        assert outcome.result == {"sum": ROWS * (ROWS + 1) // 2}
        assert outcome.frames["by"].total_rows == 3
        assert outcome.stdout == "so\n"
        assert [figure.kind for figure in outcome.figures] == ["plotly", "png"]
        assert outcome.memory > 0

    def test_errors_have_their_line(sandbox: Sandbox) -> None:
        failure = sandbox.run("x = 1\nresult = x / 0").failure
        assert failure is not None
        assert (failure.kind, failure.line) == ("ZeroDivisionError", 2)

    @pytest.mark.parametrize(
        ("code", "status"),
        [
            ("while True: pass", "timeout"),
            ("held = [b'x' * (1 << 20) for _ in range(900)]", "memory"),
            ("import os\nos._exit(0)", "crashed"),
        ],
    )
    def test_limits(sandbox: Sandbox, code: str, status: str) -> None:
        limits = Limits(seconds=4.0, resident=200 << 20)
        assert sandbox.run(code, limits=limits).status == status

    def test_a_closed_one_runs_nothing() -> None:
        closed = bubblewrap.start(LIMITS)
        closed.close()
        with pytest.raises(UsageError, match="closed"):
            closed.run("result = 1")
