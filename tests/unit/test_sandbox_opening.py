"""Which backend is opened, and what is said where none can be."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from secondlook.errors import SandboxError, UsageError
from secondlook.sandbox import available, bubblewrap, forked, open_sandbox
from secondlook.sandbox import kernel as landlock
from secondlook.sandbox.forked import import_paths, server_environment
from secondlook.sandbox.outcomes import run_job
from secondlook.sandbox.port import Limits, Supplied

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@pytest.fixture
def other_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is no Linux."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(landlock, "supported", lambda: False)


@pytest.fixture(autouse=True)
def _forget_trials() -> Iterator[None]:
    """Before, and after: other tests must not hear of machines that were made up here."""
    remembering = (forked._of_the_machine, bubblewrap._of_the_machine)
    for remembered in remembering:
        remembered.cache_clear()
    yield
    for remembered in remembering:
        remembered.cache_clear()


@pytest.mark.usefixtures("other_machine")
def test_other_systems_are_told_their_options() -> None:
    for verdict in available():
        assert not verdict.usable
    with pytest.raises(SandboxError, match="needs Linux") as error:
        open_sandbox()
    assert error.value.hint is not None
    assert "bubblewrap" in error.value.hint
    assert landlock.version() == 0


def test_unknown_backend() -> None:
    with pytest.raises(SandboxError, match="'none'"):
        open_sandbox("none")  # type: ignore[arg-type]


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


def test_trial_that_fails_says_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "_TRY", "raise PermissionError('unshare: refused')")
    verdict = forked.verdict("namespaces")
    assert not verdict.usable
    assert verdict.why == "PermissionError: unshare: refused"
    forked._of_the_machine.cache_clear()
    monkeypatch.setattr(forked, "_TRY", "import os; os._exit(3)")
    assert forked.verdict("namespaces").why == "the trial ended with 3"
    forked._of_the_machine.cache_clear()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert "could not be tried" in forked.verdict("namespaces").why


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


def test_requests_that_no_job_can_take_and_tables_are_closed_again(tmp_path: Path) -> None:
    never: Any = pytest.fail
    many = [Supplied(str(number), tmp_path) for number in range(201)]
    with pytest.raises(UsageError, match="201 tables"):
        run_job(never, "", many, Limits())
    with pytest.raises(UsageError, match="longer than"):
        run_job(never, "x" * 10_000_001, [], Limits())
    (tmp_path / "a").write_text("x")
    tables = [Supplied("a", tmp_path / "a"), Supplied("b", tmp_path / "b")]
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(SandboxError, match="'b' cannot be opened"):
        run_job(never, "", tables, Limits())

    def start(_request: int, files: Sequence[int], _limits: Limits) -> NoReturn:
        assert os.read(files[0], 9) == b"x"
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.write(files[0], b"y")
        raise SandboxError("enough")

    with pytest.raises(SandboxError, match="enough"):
        run_job(start, "", tables[:1], Limits())
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
