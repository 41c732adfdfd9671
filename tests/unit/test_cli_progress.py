"""How a running `add` shows itself, and what the terminal helpers make of odd streams."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from secondlook.cli.command import Call, guard
from secondlook.cli.library import size
from secondlook.cli.progress import adding, report_lines, shown_progress
from secondlook.library.report import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_a_log_gets_a_line_every_ten_seconds_and_what_is_waited_for_at_once() -> None:
    times: Iterator[float] = iter([0.0, 4.0, 10.0, 11.0, 12.0, 25.0])
    said: list[str] = []
    listen = adding(report_lines(said.append, clock=lambda: next(times)))
    for done in (10, 20):
        listen(Progress("reading", done, 1000, passages=done * 10))
    for who in ("pid 7", "pid 7"):
        listen(Progress("waiting", current=who))
    listen(Progress("reading", 40, 1000, passages=400, failed=2))
    assert [line.partition(" (")[0] for line in said] == [
        "reading: 20 of 1000, 200 passages",
        "waiting for pid 7",
        "reading: 40 of 1000, 400 passages",
    ]
    assert said[-1].endswith(", 2 failed")


def test_a_person_sees_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with shown_progress(Call()) as listener:
        assert listener is not None
        listener(Progress("reading", 30, 1200, passages=4500, failed=2))
    shown = screen.getvalue()
    assert "30/1,200" in shown
    assert "4,500 passages" in shown
    assert "2 failed" in shown


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (2048, "2.0 KB"), (3 << 30, "3.0 GB"), (5 << 40, "5.0 TB")],
)
def test_size(count: int, text: str) -> None:
    assert size(count) == text


def test_a_closed_pipe_without_a_file_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> int:
        raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert guard(broken, debug=False, as_json=False) == 141
