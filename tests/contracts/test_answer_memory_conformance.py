"""Wherever answers are remembered, they are remembered the same way."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.record import RunStore
from secondlook.settings.sections import RunSettings
from secondlook.store.answers import AnswerMemory, Asking
from secondlook.store.database import memory_file
from tests.support.answer_memory import ASKED, ASKING, REWORDED, put
from tests.support.memory_runs import CREATED, full_answer
from tests.support.run_stores import ENGINES, settings_on

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=ENGINES)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> RunSettings:
    return settings_on(request.param, tmp_path / "runs", request)


@pytest.fixture
def memory(settings: RunSettings) -> Iterator[AnswerMemory]:
    with AnswerMemory.own(settings, Path("/one"), embedder=lambda: "e") as opened:
        yield opened


def test_what_is_most_alike_comes_first(memory: AnswerMemory) -> None:
    first = put(memory, ASKED, [1.0, 0.0])
    second = put(memory, REWORDED, [0.6, 0.8])
    found = memory.find([1.0, 0.0], asking=ASKING)
    assert [(one.entry.id, round(one.similarity, 6)) for one in found] == [
        (first, 1.0),
        (second, 0.6),
    ]
    assert found[0].entry.question == ASKED
    assert found[0].entry.research["plan"]
    assert [one.id for one in memory.list()] == [second, first]
    assert memory.find([1.0, 0.0, 0.0], asking=ASKING) == []
    assert memory.find([1.0, 0.0], asking=Asking(scope="else", manner="usual")) == []


def test_the_same_question_is_remembered_once(memory: AnswerMemory) -> None:
    put(memory, ASKED, [1.0, 0.0])
    newer = put(memory, ASKED, [1.0, 0.0], run="run-2")
    assert [(one.id, one.run) for one in memory.list()] == [(newer, "run-2")]


def test_libraries_and_embedders_are_kept_apart(
    memory: AnswerMemory, settings: RunSettings
) -> None:
    put(memory, ASKED, [1.0, 0.0])
    with AnswerMemory.own(settings, Path("/two"), embedder=lambda: "e") as other:
        assert other.find([1.0, 0.0], asking=ASKING) == []
        assert other.list() == []
        assert other.forget([memory.list()[0].id]) == []
        assert other.clear() == 0
    with AnswerMemory.own(settings, Path("/one"), embedder=lambda: "another") as other:
        assert other.find([1.0, 0.0], asking=ASKING) == []
        assert len(other.list()) == 1


def test_who_only_looks_makes_nothing(memory: AnswerMemory, tmp_path: Path) -> None:
    assert memory.find([1.0], asking=ASKING) == []
    assert memory.list() == []
    assert memory.forget([1]) == []
    assert memory.clear(every_library=True) == 0
    memory.prune(1)
    assert list(tmp_path.iterdir()) == []


def test_the_oldest_beyond_what_is_kept_go(settings: RunSettings) -> None:
    few = settings.model_copy(update={"keep": 2})
    with AnswerMemory.own(few, Path("/one")) as memory:
        ids = [put(memory, f"{ASKED} {number}", [1.0]) for number in range(4)]
        assert [one.id for one in memory.list()] == [ids[3], ids[2]]
        memory.prune(1)
        assert [one.id for one in memory.list()] == [ids[3]]
        assert memory.forget([ids[3], 999]) == [ids[3]]


def test_what_was_remembered_of_a_run_goes_with_it(
    memory: AnswerMemory, settings: RunSettings
) -> None:
    put(memory, ASKED, [1.0, 0.0], run="r")
    put(memory, REWORDED, [1.0, 0.0], run="other")
    with RunStore(settings) as store:
        for run in ("r", "other"):
            store.start(run, question="q", workflow="linear", created=CREATED)
            store.finish(full_answer(run))
        store.remove("r")
        assert [one.run for one in memory.list()] == ["other"]
        store.prune(0)
    assert [one.run for one in memory.list()] == ["other"]


def test_a_damaged_entry_is_as_good_as_none(tmp_path: Path) -> None:
    runs = RunSettings(path=tmp_path / "runs.db")
    file = memory_file(runs.path)
    with AnswerMemory(runs, library="/papers", embedder=lambda: "e") as memory:
        put(memory, ASKED, [1.0, 0.0])
        put(memory, REWORDED, [0.0, 1.0])
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("UPDATE answers SET research = '{' WHERE question = ?", (ASKED,))
        db.execute("UPDATE answers SET cited = '[[1, 2, 3]]' WHERE question = ?", (REWORDED,))
    with AnswerMemory(runs, library="/papers", embedder=lambda: "e") as memory:
        assert [(item.cited, dict(item.research)) for item in memory.list()] == [((), {})] * 2
