"""Several processes on one record of runs, and processes that die in the middle of it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.record import RunStore
from secondlook.events import NodeFinished
from tests.support.unprivileged import environment

if TYPE_CHECKING:
    from pathlib import Path

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


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )


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
