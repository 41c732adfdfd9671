"""Wherever answers and replies are remembered, they are remembered the same way."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from secondlook.answer import CallUsage
from secondlook.engine.record import Recorder, RunStore
from secondlook.models.budget import earlier_of
from secondlook.models.journal import Calls, Journal, JournalEntry, MemoryJournal, content_of
from secondlook.settings.sections import RunSettings
from secondlook.store.answers import AnswerMemory, Asking
from secondlook.store.database import memory_file
from tests.support.answer_memory import ASKED, ASKING, REWORDED, put
from tests.support.memory_runs import CREATED, entry, full_answer
from tests.support.run_stores import ENGINES, settings_on


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


# Whatever keeps a journal keeps it the same way.


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
