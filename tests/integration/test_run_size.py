"""What a run keeps does not grow with what it reads: passages and tables are there by reference.
Events, journal, answer and checkpoints are weighed together. Twenty times as long passages, or a
hundred times as many rows, make them longer by the digits of some numbers and no more."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.checkpoints import checkpoints_file, forget_checkpoints
from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import passing_library
from secondlook.settings import load
from tests.support.engine import HARBOUR, QUESTION, WordShelf, passages_of, settings_of
from tests.support.function_model import FunctionModel, models_of
from tests.support.research import FakeLibrary

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.settings.sections import RunSettings, Settings

SAID = "Berth 4 remains the deepest berth, at 7.8 metres [1]."
PADDING = "the tide brought sand and took it away again, as it does on every day of the year. "
LONGER = 100
"""Times the padding: 8 kB for each passage."""
DIGITS = 400
"""Bytes by which numbers may grow: offsets, counts of tokens and characters."""
MOST = 120_000
"""Bytes that a run of a few steps may take."""


def weight(file: Path) -> int:
    """Bytes of all values in a database."""
    with closing(sqlite3.connect(file)) as db:
        names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        tables = [name for (name,) in names]
        return sum(
            len(value if isinstance(value, bytes) else str(value).encode())
            for table in tables
            for row in db.execute(f"SELECT * FROM [{table}]")  # noqa: S608  # names of ours
            for value in row
        )


class Scales:
    """Weighs checkpoints in the moment when they are to be forgotten."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.checkpoints = 0
        monkeypatch.setattr("secondlook.engine.execution.forget_checkpoints", self._weighed)

    def _weighed(self, place: RunSettings, *runs: str) -> None:
        self.checkpoints = sum(weight(checkpoints_file(place.path, run)) for run in runs)
        forget_checkpoints(place, *runs)


def engine_over(settings: Settings, padding: int) -> Secondlook:
    held = passages_of([(name, f"{text} {PADDING * padding}") for name, text in HARBOUR])
    library: Any = FakeLibrary(settings, WordShelf(held=held))
    return Secondlook(library, settings=settings, models=models_of(FunctionModel(lambda _: SAID)))


def check(short: tuple[int, int], long: tuple[int, int]) -> None:
    """Record and checkpoints of two runs that differ in how much they read."""
    assert sum(short) < MOST
    assert long[0] - short[0] < DIGITS
    assert long[1] - short[1] < DIGITS, "in each of the steps a few"


@pytest.mark.parametrize("workflow", ["linear", "adaptive", "corrective", "research"])
def test_a_run_does_not_grow_with_the_passages_it_reads(
    workflow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(padding: int) -> tuple[int, int]:
        scales, file = Scales(monkeypatch), tmp_path / f"{padding}.db"
        settings = settings_of(runs={"path": file, "keep": 5})
        with engine_over(settings, padding) as engine:
            assert engine.ask(QUESTION, workflow=workflow).claims
        assert scales.checkpoints
        return weight(file), scales.checkpoints

    check(run(1), run(LONGER))


def test_nor_does_it_with_the_tables_it_computes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(rows: int) -> tuple[int, int]:
        scales, file = Scales(monkeypatch), tmp_path / f"{rows}.db"
        settings = load({"runs.path": file, "models.default": "none"}).settings
        table = [{"berth": f"B{at:05}", "depth": 10 + at % 7 / 4} for at in range(rows)]
        with (
            passing_library(settings, recorded=True) as library,
            Secondlook(library, settings=settings) as engine,
        ):
            answer = engine.ask("What is the mean depth?", tables={"berths": table})
        assert answer.values
        assert scales.checkpoints
        return weight(file), scales.checkpoints

    check(run(30), run(3000))
