"""What holds for every test: no network beyond loopback, and no silent skips in CI."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import Postgres

# Started in the background of a script, this process ignores Ctrl-C and so would every process
# that it starts; the tests of Ctrl-C would then wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@pytest.fixture(scope="session", autouse=True)
def _only_this_process_is_measured() -> None:
    """Coverage makes Python two to three times as slow. Nearly every line is reached in the process
    of the tests; the hundreds of processes that they start show one percent more of them."""
    os.environ.pop("COVERAGE_PROCESS_CONFIG", None)


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if (self.family in {socket.AF_INET, socket.AF_INET6}) and address[0] not in _LOOPBACK:
            raise AssertionError(f"a test tried to reach {address!r}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def _own_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The settings of whoever runs the tests must not reach them."""
    home = tmp_path_factory.getbasetemp() / "home"
    for name in [name for name in os.environ if name.startswith("SECONDLOOK_")]:
        if name not in {"SECONDLOOK_SOAK", "SECONDLOOK_DATA"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A real server; whoever stops it starts it again."""
    from tests.support.postgres import running_postgres

    with running_postgres() as server:
        yield server


@pytest.fixture(autouse=True)
def _every_word_is_heard() -> None:
    """A server in this process, of this test or an earlier one, lets errors alone be said."""
    ours = logging.getLogger("secondlook")
    ours.setLevel(logging.NOTSET)
    ours.handlers.clear()
    ours.propagate = True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """What is marked `unmeasured` runs at full speed, also where coverage is measured."""
    measuring = sys.modules["coverage"].Coverage.current() if "coverage" in sys.modules else None
    if measuring is None or item.get_closest_marker("unmeasured") is None:
        yield
        return
    measuring.stop()
    try:
        yield
    finally:
        measuring.start()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be missing: {report.longrepr}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make soak` runs what is marked slow; `make test` leaves it out without skipping it."""
    if config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item not in slow]


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Packed bytes hold the time they were made at. The processes that share the tests must all
    know a test by the same name, so its bytes are no part of it."""
    return argname if isinstance(val, bytes) else None
