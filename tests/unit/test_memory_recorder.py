"""Recording never stands in an answer's way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.engine.record import Recorder
from secondlook.events import NodeStarted, RunStarted
from secondlook.settings.sections import RunSettings
from tests.support.memory_runs import CREATED, connection_of, entry, full_answer

if TYPE_CHECKING:
    from pathlib import Path


def recorder_at(path: Path, *, keep: int = 10) -> Recorder:
    return Recorder(RunSettings(path=path, keep=keep))


def start(recorder: Recorder, run: str = "r", *, created: str = CREATED) -> None:
    recorder.start(run, question="q", workflow="linear", created=created, request={"k": 5})


def live(recorder: Recorder) -> None:
    """All that a workflow does with the record of its run."""
    recorder.append(RunStarted(run="r", question="q", workflow="linear"))
    recorder.append(NodeStarted(run="r", at=1.5, node="a"))
    recorder.put_passages("r", [{"id": "w1", "text": "page"}])
    recorder.journal("r").put("k", entry())
    assert recorder.journal("r").get("k") == entry()
    assert recorder.passages("r", ["w1", "w2"]) == {"w1": {"id": "w1", "text": "page"}}
    assert recorder.passages("r", ["w1"]) == {"w1": {"id": "w1", "text": "page"}}


def test_a_file_that_cannot_be_opened_becomes_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    file.write_bytes(b"not a database at all, but long enough to be one" * 100)
    recorder = recorder_at(file)
    start(recorder)
    live(recorder)
    answer = recorder.finish(full_answer("r"))
    assert answer.warnings[:-1] == full_answer("r").warnings
    warning = answer.warnings[-1]
    assert (warning.node, warning.error) == ("record", "RunError")
    assert "is damaged" in warning.message
    assert warning.consequence == "the run is not recorded, or not all of it"

    file.unlink()
    start(recorder, "later")
    assert recorder.finish(full_answer("later")) == full_answer("later")
    recorder.close()


@pytest.mark.parametrize("moment", ["events", "journal", "passages", "answer"])
def test_a_disk_that_fails_midway_costs_the_record_alone(tmp_path: Path, moment: str) -> None:
    recorder = recorder_at(tmp_path / "runs.db")
    start(recorder)
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


def test_text_that_json_cannot_hold_costs_the_record_alone(tmp_path: Path) -> None:
    recorder = recorder_at(tmp_path / "runs.db")
    start(recorder)
    recorder.append(NodeStarted.model_construct(run="r", at=0.0, node="\udce9"))
    recorder.append(RunStarted(run="r", question="q", workflow="linear"))
    assert recorder.finish(full_answer("r")).warnings[-1].node == "record"
    recorder.close()
