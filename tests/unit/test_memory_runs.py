"""The run store: what goes in comes out, and what cannot is said plainly."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.record import RunStore
from secondlook.errors import RunError
from secondlook.events import (
    NodeFinished,
    NodeStarted,
)
from secondlook.models.budget import Ledger
from secondlook.models.prices import Caps
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


def test_a_failed_write_keeps_the_events_waiting(store: RunStore, path: Path) -> None:
    start(store, "r")
    store.append(NodeStarted(run="r", node="a"))
    connection_of(store).execute("PRAGMA query_only=ON")
    with pytest.raises(RunError, match="cannot be written"):
        store.append(NodeFinished(run="r", node="b", said="done"))
    connection_of(store).execute("PRAGMA query_only=OFF")
    store.finish(full_answer("r"))
    assert [getattr(event, "node", "") for event in store.events("r")] == ["a", "b", ""]


def test_what_a_run_spent_is_known_to_the_one_that_takes_it_up(store: RunStore) -> None:
    start(store, "r", "other")
    store.journal("r").put("a", entry())
    store.journal("r").put("b", entry())
    store.journal("r").put("c", entry(node="answer"))
    store.journal("other").put("a", entry())
    store.append(NodeFinished(run="r", at=2.5, node="a", said="done"))
    spent = store.spent("r")
    assert (spent.calls, spent.tokens_in, spent.cost, spent.seconds) == (3, 30, 0.75, 2.5)
    assert [(call.node, call.calls, call.retries) for call in spent.by_node] == [
        ("grade", 2, 2),
        ("answer", 1, 1),
    ]
    ledger = Ledger(Caps(calls=4, seconds=3), clock=lambda: 0.0)
    ledger.restore(spent)
    assert ledger.remaining_seconds() == 0.5
    assert store.spent("nothing").cost == 0.0


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
