"""Whatever keeps a journal keeps it the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.answer import CallUsage
from secondlook.engine.record import Recorder, RunStore
from secondlook.models.budget import earlier_of
from secondlook.models.journal import Calls, Journal, JournalEntry, MemoryJournal, content_of
from secondlook.settings.sections import RunSettings
from tests.support.memory_runs import CREATED, entry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["memory", "store", "recorder", "recorder that stores nothing"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    if request.param == "memory":
        yield MemoryJournal()
        return
    if request.param == "store":
        with RunStore.open(tmp_path / "runs.db") as store:
            store.start("r", question="q", workflow="linear", created=CREATED)
            yield store.journal("r")
        return
    keep = 0 if request.param.endswith("nothing") else 10
    recorder = Recorder(RunSettings(path=tmp_path / "runs.db", keep=keep))
    recorder.start("r", question="q", workflow="linear", created=CREATED)
    yield recorder.journal("r")
    recorder.close()


def test_a_reply_comes_back_as_it_was(journal: Journal) -> None:
    kept = entry('{"a": "\N{SNOWMAN}\n"}', cost=0.1 + 0.2)
    assert journal.get("k") is None
    journal.put("k", kept)
    assert journal.get("k") == kept
    assert journal.get("other") is None


def test_the_first_reply_of_a_key_stays(journal: Journal) -> None:
    journal.put("k", entry("first"))
    journal.put("k", entry("second"))
    assert journal.get("k") == entry("first")


USAGE = CallUsage(node="answer", role="answer", model="m", calls=1, tokens_in=10, cost=0.5)


def test_a_call_under_way_counts_and_is_sent_under_the_same_idempotency_key() -> None:
    journal = MemoryJournal()

    def paid() -> int:
        return earlier_of(journal.entries.items(), seconds=0.0).usage.calls

    key = Calls("r", journal).key("a")
    sending, token = Calls("r", journal).send(key, USAGE)
    assert content_of(sending) is None
    assert paid() == 1, "it may have been paid for"
    resumed = Calls("r", journal)
    assert journal.get(key) is None
    _, again = resumed.send(key, USAGE)
    assert again == token
    journal.put(key, JournalEntry.of(USAGE, "hello"))
    assert paid() == 2, "the one that was lost and the one that was answered"
    assert earlier_of(journal.entries.items(), seconds=0.0).usage.tokens_in == 20
