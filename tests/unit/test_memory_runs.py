"""The run store: what goes in comes out, and what cannot is said plainly."""

from __future__ import annotations

import sqlite3
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.ownership import Process
from secondlook.engine.record import Recorder, RunStore
from secondlook.errors import RunError
from secondlook.events import NodeStarted, RunStarted
from secondlook.settings.sections import RunSettings
from tests.support.memory_runs import CREATED, connection_of, entry, full_answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[RunStore]:
    with RunStore.open(path) as opened:
        yield opened


def start(store: RunStore, *runs: str, created: str = CREATED) -> None:
    for run in runs:
        store.start(run, question=f"about {run}", workflow="linear", created=created)


def test_a_damaged_file_is_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    file.write_bytes(b"not a database at all, but long enough to be one" * 100)
    with pytest.raises(RunError, match="is damaged") as caught:
        RunStore.open(file)
    assert "move the file away" in (caught.value.hint or "")


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "bookmarks.db"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()
    before = file.read_bytes()
    with pytest.raises(RunError, match="another program"):
        RunStore.open(file)
    assert file.read_bytes() == before


# The recorder never stands in an answer's way


def live(recorder: Recorder) -> None:
    """All that a workflow does with the record of its run."""
    recorder.append(RunStarted(run="r", question="q", workflow="linear"))
    recorder.append(NodeStarted(run="r", at=1.5, node="a"))
    recorder.put_passages("r", [{"id": "w1", "text": "page"}])
    recorder.journal("r").put("k", entry())
    assert recorder.journal("r").get("k") == entry()
    assert recorder.passages("r", ["w1", "w2"]) == {"w1": {"id": "w1", "text": "page"}}
    assert recorder.passages("r", ["w1"]) == {"w1": {"id": "w1", "text": "page"}}


@pytest.mark.parametrize("moment", ["events", "journal", "passages", "answer"])
def test_a_disk_that_fails_midway_costs_the_record_alone(path: Path, moment: str) -> None:
    recorder = Recorder(RunSettings(path=path))
    recorder.start("r", question="q", workflow="linear", created=CREATED, request={"k": 5})
    store = recorder._store
    assert store is not None
    if moment == "answer":
        live(recorder)
    connection_of(store).execute("PRAGMA query_only=ON")
    if moment == "events":
        recorder.append(RunStarted(run="r", question="q", workflow="linear"))
    if moment == "journal":
        recorder.journal("r").put("k", entry())
    if moment == "passages":
        recorder.put_passages("r", [{"id": "w1", "text": "page"}])
    assert (recorder.keeps("r")) == (moment == "answer")
    live(recorder) if moment != "answer" else None
    answer = recorder.finish(full_answer("r"))
    assert [item.node for item in answer.warnings] == ["web", "record"]
    assert "cannot be written" in answer.warnings[-1].message
    recorder.close()


def test_text_that_json_cannot_hold_costs_the_record_alone(path: Path) -> None:
    recorder = Recorder(RunSettings(path=path))
    recorder.start("r", question="q", workflow="linear", created=CREATED, request={"k": 5})
    recorder.append(NodeStarted.model_construct(run="r", at=0.0, node="\udce9"))
    recorder.append(RunStarted(run="r", question="q", workflow="linear"))
    assert recorder.finish(full_answer("r")).warnings[-1].node == "record"
    recorder.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells start times")
def test_a_pid_that_was_given_to_another_process_is_not_taken_for_the_writer() -> None:
    current = Process.current()
    assert current.began is not None
    assert not replace(current, began="another-boot 12345").lives(heard=time.time())
