"""The answer memory's file: what is put in comes out, by likeness, and only where it belongs."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from secondlook.store.answers import AnswerMemory, Asking
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


@pytest.mark.parametrize(
    "asking", [replace(ASKING, scope="one document"), replace(ASKING, manner="another model")]
)
def test_other_documents_or_another_manner_are_another_question(
    memory: AnswerMemory, asking: Asking
) -> None:
    put(memory, "north", NORTH)
    assert memory.find(NORTH, asking=asking) == []


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
