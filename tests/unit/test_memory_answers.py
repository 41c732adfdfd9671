"""The answer memory's file: what is put in comes out, by likeness, and only where it belongs."""

from __future__ import annotations

import sqlite3
import stat
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.record import RunStore
from secondlook.errors import RunError
from secondlook.settings.sections import RunSettings
from secondlook.store.answers import AnswerMemory, Asking, CitedText
from secondlook.store.database import memory_file
from tests.support.answer_memory import ASKING, put

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NORTH, EAST = [1.0, 0.0], [0.0, 1.0]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return memory_file(tmp_path / "runs.db")


@pytest.fixture
def memory(file: Path) -> Iterator[AnswerMemory]:
    with AnswerMemory(file, library="/papers", embedder=lambda: "gte@1") as opened:
        yield opened


def test_what_is_put_in_is_found_by_likeness(memory: AnswerMemory) -> None:
    put(memory, "north", NORTH)
    put(memory, "between", [0.8, 0.6], research={"plan": [1, None, 0.5]})
    put(memory, "east", EAST)
    found = memory.find(NORTH, asking=ASKING, most=2)
    assert [item.entry.question for item in found] == ["north", "between"]
    assert [round(item.similarity, 4) for item in found] == [1.0, 0.8]
    assert found[1].entry.research == {"plan": [1, None, 0.5]}
    assert found[1].entry.cited == (CitedText.of("survey.0", "text"),)
    assert found[1].entry.run == "run-1"


def test_it_is_still_there_for_the_next_one(memory: AnswerMemory, file: Path) -> None:
    put(memory, "north", NORTH)
    memory.close()
    with AnswerMemory(file, library="/papers", embedder=lambda: "gte@1") as again:
        assert [item.question for item in again.list()] == ["north"]
    assert [item.question for item in memory.list()] == ["north"], "opened again by itself"


@pytest.mark.parametrize(
    "asking", [replace(ASKING, scope="one document"), replace(ASKING, manner="another model")]
)
def test_other_documents_or_another_manner_are_another_question(
    memory: AnswerMemory, asking: Asking
) -> None:
    put(memory, "north", NORTH)
    assert memory.find(NORTH, asking=asking) == []


def test_libraries_and_embedders_are_kept_apart(memory: AnswerMemory, file: Path) -> None:
    put(memory, "north", NORTH)
    for library, embedder in (("/letters", "gte@1"), ("/papers", "gte@2")):
        with AnswerMemory(file, library=library, embedder=lambda name=embedder: name) as other:  # type: ignore[misc]
            assert other.find(NORTH, asking=ASKING) == []
    assert memory.find([1.0, 0.0, 0.0], asking=ASKING) == [], "vectors of another length"


def test_the_very_same_question_is_kept_once(memory: AnswerMemory) -> None:
    first = put(memory, "north", NORTH)
    second = put(memory, "north", NORTH, run="run-2")
    assert [(item.id, item.run) for item in memory.list()] == [(second, "run-2")]
    assert second > first, "an id is never used twice"


def test_forgetting_takes_what_is_named(memory: AnswerMemory, file: Path) -> None:
    first, second = put(memory, "north", NORTH), put(memory, "east", EAST)
    with AnswerMemory(file, library="/letters") as other:
        assert other.forget([first]) == [], "another library's is out of reach"
        put(other, "south", NORTH)
    assert memory.forget([first, 99]) == [first]
    assert [item.id for item in memory.list()] == [second]
    assert memory.clear() == 1
    assert memory.clear(every_library=True) == 1
    assert memory.list() == []


def test_what_is_forgotten_is_gone_from_the_file(memory: AnswerMemory, file: Path) -> None:
    put(memory, "is the zebra mussel edible", NORTH)
    memory.clear()
    memory.close()
    assert b"zebra" not in file.read_bytes()


def test_the_oldest_go_where_there_are_too_many(file: Path) -> None:
    with AnswerMemory(file, keep=2) as memory:
        for name in ("first", "second", "third"):
            put(memory, name, NORTH)
        assert [item.question for item in memory.list()] == ["third", "second"]
        memory.prune(1)
        assert [item.question for item in memory.list()] == ["third"]


def test_who_only_looks_makes_no_file(memory: AnswerMemory, file: Path) -> None:
    assert memory.list() == []
    assert memory.find(NORTH, asking=ASKING) == []
    assert memory.forget([1]) == []
    assert memory.clear() == 0
    memory.prune(0)
    assert not file.exists()


def test_a_temporary_one_ends_with_itself(tmp_path: Path) -> None:
    with AnswerMemory.temporary() as one, AnswerMemory.temporary() as other:
        put(one, "north", NORTH)
        assert len(one.find(NORTH, asking=ASKING)) == 1
        assert other.find(NORTH, asking=ASKING) == []
    assert one.list() == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_nobody_else_may_read_it(memory: AnswerMemory, file: Path) -> None:
    put(memory, "north", NORTH)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_its_own_is_beside_the_record_of_runs(tmp_path: Path) -> None:
    runs = RunSettings(path=tmp_path / "mine.db", keep=7)
    memory = AnswerMemory.own(runs, tmp_path / "papers")
    assert memory.file == tmp_path / "mine-memory.db"
    assert memory.library == str((tmp_path / "papers").resolve())


def test_a_run_that_is_removed_is_forgotten_too(memory: AnswerMemory, tmp_path: Path) -> None:
    put(memory, "north", NORTH, run="run-1")
    put(memory, "east", EAST, run="run-2")
    with RunStore.open(tmp_path / "runs.db") as store:
        for name in ("run-1", "run-2", "run-3"):
            store.start(name, question="?", workflow="research", created="2026-01-02")
        store.remove("run-1")
        assert [item.run for item in memory.list()] == ["run-2"]
        memory.clear()
        memory.close()
        memory_file(store.path).unlink()
        store.remove("run-3")  # with nothing remembered at all


def test_a_damaged_entry_is_as_good_as_none(memory: AnswerMemory, file: Path) -> None:
    put(memory, "north", NORTH)
    put(memory, "east", EAST)
    memory.close()
    db = sqlite3.connect(file)
    db.execute("UPDATE answers SET research = '{' WHERE question = 'north'")
    db.execute("UPDATE answers SET cited = '[[1, 2, 3]]' WHERE question = 'east'")
    db.commit()
    db.close()
    assert [(item.cited, dict(item.research)) for item in memory.list()] == [((), {})] * 2


def test_a_file_that_is_none_is_told(memory: AnswerMemory, file: Path) -> None:
    file.write_bytes(b"not a database at all, but long enough to be looked at" * 50)
    with pytest.raises(RunError, match=r"the answer memory .* is damaged") as caught:
        memory.list()
    assert caught.value.hint == "move the file away: a new one is begun"


def test_the_record_of_runs_is_not_taken_for_it(memory: AnswerMemory, file: Path) -> None:
    RunStore.open(file).close()
    with pytest.raises(RunError, match="is the database of another program") as caught:
        memory.list()
    assert "answer memory" in (caught.value.hint or "")


def test_a_newer_one_is_left_alone(memory: AnswerMemory, file: Path) -> None:
    put(memory, "north", NORTH)
    memory.close()
    db = sqlite3.connect(file)
    db.execute("PRAGMA user_version=2")
    db.close()
    with pytest.raises(RunError, match=r"the answer memory .* newer version"):
        memory.list()


def test_a_locked_file_is_told(
    memory: AnswerMemory, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondlook.store.database.BUSY_SECONDS", 0.01)
    put(memory, "north", NORTH)
    db = sqlite3.connect(file)
    db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(RunError, match=r"the answer memory .* in use by another process"):
        put(memory, "east", EAST)
    assert len(memory.find(NORTH, asking=ASKING)) == 1, "reading goes on beside a writer"
    db.close()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with (
        AnswerMemory(tmp_path / "file" / "memory.db") as memory,
        pytest.raises(RunError, match=r"the answer memory .* cannot be written"),
    ):
        put(memory, "north", NORTH)


def test_text_that_is_no_unicode_is_stored(memory: AnswerMemory) -> None:
    put(memory, "how \udcff deep", NORTH)
    assert memory.list()[0].question == "how ? deep"
