"""Answers, events and recorded runs are the same after a trip through JSON, whatever is in them."""

import json
import re
import sqlite3
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from secondlook.answer import EXIT_CODES, Answer, Claim, Status
from secondlook.engine.ownership import Process
from secondlook.engine.record import Recorder, RunStore
from secondlook.errors import RunError
from secondlook.events import (
    EVENT,
    Answered,
    Event,
    NodeFinished,
    NodeStarted,
    PassagesFound,
    RunStarted,
    Token,
)
from secondlook.settings.sections import RunSettings
from tests.support.memory_runs import CREATED, connection_of, entry, full_answer
from tests.support.researched import guess, refused, researched

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs" / "answer.schema.json"
WORDS = st.text(max_size=12)
NUMBERS = st.floats(allow_nan=False)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NUMBERS | WORDS


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([full_answer("r"), researched(), guess(), refused()]), WORDS, NUMBERS)
def test_an_answer_is_the_same_after_json(sample: Answer, text: str, number: float) -> None:
    changed = {
        "text": text,
        "usage": sample.usage.model_copy(update={"cost": number, "seconds": number}),
        "passages": tuple(
            one.model_copy(update={"title": text, "score": number}) for one in sample.passages
        ),
    }
    answer = sample.model_copy(update=changed)
    written = answer.model_dump_json()
    again = Answer.model_validate_json(written)
    assert again == answer
    assert again.model_dump_json() == written
    assert _types(again.model_dump()) == _types(answer.model_dump())
    assert Answer.model_validate(json.loads(written)) == answer


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(WORDS, SCALARS))
def test_an_event_is_the_same_after_json(numbers: dict[str, Any]) -> None:
    answer = full_answer("r")
    events: list[Event] = [
        Answered(run="r", at=1.5, answer=answer),
        PassagesFound(run="r", query="q", passages=answer.passages),
        NodeFinished(run="r", node="n", said="s", numbers=numbers, seconds=0.1),
    ]
    for event in events:
        again = EVENT.validate_json(event.model_dump_json())
        assert (again, type(again)) == (event, type(event))


def _types(value: object) -> object:
    """1, 1.0 and True are equal, but not the same."""
    if isinstance(value, dict):
        return {key: _types(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_types(inner) for inner in value]
    return type(value)


def test_nothing_can_be_changed_or_added() -> None:
    token = Token(run="r", text="x")
    with pytest.raises(ValidationError):
        token.text = "y"
    with pytest.raises(ValidationError):
        Claim(text="x", citations=(), proof="none")  # type: ignore[call-arg]


@pytest.mark.parametrize(("status", "code"), EXIT_CODES.items())
def test_every_status_has_an_exit_code(status: Status, code: int) -> None:
    assert full_answer("r").model_copy(update={"status": status}).exit_code == code
    assert set(EXIT_CODES) == set(get_args(Status))


def test_the_published_schema_is_that_of_the_code() -> None:
    published = json.loads(SCHEMA.read_text("utf-8"))
    assert published == Answer.model_json_schema(), "run scripts/answer-schema"


def test_every_field_is_described_in_the_documentation() -> None:
    page = (ROOT / "docs" / "answers.md").read_text("utf-8")
    described = {
        field
        for row in re.findall(r"^\| (`[^|]*`) \|", page, re.MULTILINE)
        for field in re.findall(r"`(\w+)`", row)
    }
    whole = Answer.model_json_schema()
    for name, part in {**whole["$defs"], "Answer": whole}.items():
        missing = part.get("properties", {}).keys() - described
        assert missing == set(), f"docs/answers.md does not describe {missing} of {name}"


# The run store: what goes in comes out, and what cannot is said plainly.


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
