"""`secondlook memory` for people and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import typer

from secondlook.cli.main import main
from secondlook.settings.sections import RunSettings
from secondlook.store.answers import AnswerMemory
from tests.support.answer_memory import ASKED, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Printed = tuple[int, str, str]
NORTH = [1.0, 0.0]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunSettings:
    monkeypatch.setenv("SECONDLOOK_RUNS_PATH", str(tmp_path / "runs.db"))
    monkeypatch.setenv("SECONDLOOK_LIBRARY_PATH", str(tmp_path / "papers"))
    return RunSettings(path=tmp_path / "runs.db")


@pytest.fixture
def memory(runs: RunSettings, tmp_path: Path) -> Iterator[AnswerMemory]:
    with AnswerMemory.own(runs, tmp_path / "papers") as opened:
        yield opened


@pytest.fixture
def secondlook(capsys: pytest.CaptureFixture[str], runs: RunSettings) -> Callable[..., Printed]:
    def call(*arguments: str) -> Printed:
        capsys.readouterr()
        code = main(["memory", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, *, agrees: bool) -> None:
    def asked(text: str, **_: Any) -> bool:
        assert text.startswith("Forget ")
        if not agrees:
            raise typer.Abort
        return True

    monkeypatch.setattr("secondlook.cli.command.is_terminal", lambda _: True)
    monkeypatch.setattr("typer.confirm", asked)


def test_the_list_has_a_line_for_each(
    secondlook: Callable[..., Printed], memory: AnswerMemory
) -> None:
    put(memory, "who\nowns the quay", NORTH)
    number = put(memory, ASKED, NORTH)
    code, out, err = secondlook("list")
    assert (code, err) == (0, "")
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == [str(number), "2026-01-02T03:04:05+00:00", "run-1", ASKED]
    assert lines[1][-1] == "who owns the quay"


def test_a_person_is_asked_before_anything_is_forgotten(
    secondlook: Callable[..., Printed], memory: AnswerMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [str(put(memory, f"question {number}", NORTH)) for number in range(7)]
    at_a_terminal(monkeypatch, agrees=False)
    assert secondlook("forget", *numbers)[0] == 130
    assert secondlook("clear")[0] == 130
    assert len(memory.list()) == 7
    at_a_terminal(monkeypatch, agrees=True)
    assert secondlook("forget", *numbers[:2])[2] == "Forgot 2 questions.\n"
    assert secondlook("clear")[2] == "Forgot 5 questions.\n"
