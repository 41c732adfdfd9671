"""Recording never stands in an answer's way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.engine.record import Recorder, RunStore
from secondlook.events import Answered, NodeStarted, RunStarted
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


def test_a_run_is_recorded(tmp_path: Path) -> None:
    recorder = recorder_at(tmp_path / "runs.db")
    assert list(tmp_path.iterdir()) == []
    start(recorder)
    live(recorder)
    answer = recorder.finish(full_answer("r"), at=2.0)
    recorder.append(Answered(run="r", at=2.0, answer=answer))
    assert answer == full_answer("r")
    assert recorder.passages("r", ["w1"]) == {"w1": {"id": "w1", "text": "page"}}
    recorder.close()
    recorder.close()
    with RunStore.open(tmp_path / "runs.db", create=False) as store:
        assert store.get("r").answer == answer
        assert [event.type for event in store.events("r")] == [
            "run_started",
            "node_started",
            "answered",
        ]
        assert store.events("r")[-1].at == 2.0


def test_nothing_is_stored_where_nothing_is_to_be_kept(tmp_path: Path) -> None:
    recorder = recorder_at(tmp_path / "runs.db", keep=0)
    start(recorder)
    live(recorder)
    assert recorder.earlier("r").usage.calls == 0
    assert recorder.finish(full_answer("r")) == full_answer("r")
    recorder.close()
    assert list(tmp_path.iterdir()) == []


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


def test_a_run_that_was_left_is_taken_up_by_another_process(tmp_path: Path) -> None:
    first = recorder_at(tmp_path / "runs.db")
    start(first)
    live(first)
    first.leave("r")
    assert first._store is not None
    assert first._store.get("r").status == "interrupted"
    first.close()
    second = recorder_at(tmp_path / "runs.db")
    start(second)
    assert second._store is not None
    assert second._store.get("r").status == "running"
    assert second.journal("r").get("k") == entry()
    assert second.passages("r", ["w1"]) == {"w1": {"id": "w1", "text": "page"}}
    assert (second.earlier("r").usage.calls, second.earlier("r").usage.seconds) == (1, 1.5)
    second.finish(full_answer("r"))
    second.close()
