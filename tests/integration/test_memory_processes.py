"""Several processes on one record of runs, and processes that die in the middle of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.record import RunStore
from secondlook.events import NodeFinished
from tests.support.memory_runs import full_answer
from tests.support.unprivileged import environment, with_small_files

if TYPE_CHECKING:
    from collections.abc import Sequence

APPEND = """
import sys
from pathlib import Path
from secondlook.events import NodeFinished
from secondlook.engine.record import RunStore
path, run, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
input()
store = RunStore.open(path)
store.start(run, question="q", workflow="linear", created="2026-11-15T09:30:00Z")
for number in range(count):
    store.append(NodeFinished(run=run, at=number, node="n", said=str(number)))
store.close()
"""
DIE = """
import sys
from pathlib import Path
from secondlook.events import NodeFinished
from secondlook.models.journal import JournalEntry
from secondlook.engine.record import RunStore
store = RunStore.open(Path(sys.argv[1]))
store.start("r", question="q", workflow="linear", created="2026-11-15T09:30:00Z")
journal = store.journal("r")
for number in range(1_000_000):
    store.append(NodeFinished(run="r", at=number, node="n", said=str(number)))
    journal.put(str(number), JournalEntry("t" * 500, "stop", "n", "r", "m", 1, 1))
    print(number, flush=True)
"""

ANSWER = """
import sys
from pathlib import Path
from secondlook.events import NodeFinished
from secondlook.engine.record import Recorder
from secondlook.models.journal import JournalEntry
from secondlook.settings.sections import RunSettings
from tests.support.memory_runs import full_answer
recorder = Recorder(RunSettings(path=Path(sys.argv[1])))
recorder.start("r", question="q", workflow="linear", created="2026-11-15T09:30:00Z")
journal = recorder.journal("r")
for number in range(100):
    recorder.append(NodeFinished(run="r", at=number, node="n", said="x" * 1000))
    journal.put(str(number), JournalEntry("t" * 1000, "stop", "n", "r", "m", 1, 1))
    assert journal.get(str(number)).text == "t" * 1000
answer = recorder.finish(full_answer("r"))
recorder.close()
print(answer.text)
print(answer.warnings[-1].message)
"""


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def test_processes_that_begin_one_file_together_lose_no_event(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    children = {run: python(APPEND, path, run, 500) for run in ("one", "two")}
    for child in children.values():
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children.values():
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children.values():
        child.communicate(timeout=60)
        assert child.returncode == 0
    with RunStore.open(path, create=False) as store:
        for run in children:
            said = [event.said for event in store.events(run) if isinstance(event, NodeFinished)]
            assert said == [str(number) for number in range(500)]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")
def test_a_killed_writer_loses_nothing_it_had_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    told = -1
    for kill in range(4):
        child = python(DIE, path)
        assert child.stdout is not None
        for _ in range(7 + 5 * kill):
            told = int(child.stdout.readline())
        child.kill()
        rest = child.communicate()[0].split()
        # The last line may be cut short by the kill; the one before it is whole.
        told = max([told, *(int(line) for line in rest[:-1])])
        with RunStore.open(path, create=False) as store:
            assert store.list()[0].status == "interrupted"
            events = store.events("r")
            numbers = [event.at for event in events if isinstance(event, NodeFinished)]
            assert numbers[: told + 1] == list(range(told + 1))
            assert len(numbers) <= told + 3
            assert store.journal("r").get(str(told)) is not None
            assert store.spent("r").calls in {told + 1, told + 2, told + 3}
            store.remove("r")


def answered(command: Sequence[str | Path]) -> list[str]:
    root = Path(__file__).parents[2]
    told = environment()
    told["PYTHONPATH"] = os.pathsep.join([told["PYTHONPATH"], str(root)])
    done = subprocess.run(command, capture_output=True, text=True, env=told, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(os.name == "nt", reason="Windows has other limits")
def test_a_disk_that_fills_up_does_not_stand_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    said = answered(with_small_files([sys.executable, "-c", ANSWER, path], 100_000))
    assert said[0] == full_answer("r").text
    assert "cannot be written" in said[1]
    with RunStore.open(path) as store:
        assert store.list()[0].status == "interrupted"
        assert store.journal("r").get("0") is not None
