"""Wherever runs are recorded, they are recorded the same way: files and PostgreSQL alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.ownership import SILENT_TOO_LONG, Process
from secondlook.engine.record import Recorder, RunStore
from secondlook.errors import RunError, RunMissing, RunTaken
from secondlook.events import Answered, Event, NodeFinished, NodeStarted, RunStarted, Token
from secondlook.store.database import RUNS, open_database
from tests.support.memory_runs import CREATED, entry, full_answer
from tests.support.run_stores import ENGINES, settings_on
from tests.support.unprivileged import environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.settings.sections import RunSettings


DIE = """
import sys
from pathlib import Path
from secondlook.events import NodeFinished
from secondlook.models.journal import JournalEntry
from secondlook.engine.record import RunStore
from secondlook.settings.sections import RunSettings, StoreAddress
address = StoreAddress(sys.argv[2]) if sys.argv[2] else None
store = RunStore(RunSettings(path=Path(sys.argv[1]), store=address))
store.start("r", question="q", workflow="linear", created="2026-11-15T09:30:00Z")
journal = store.journal("r")
for number in range(1_000_000):
    store.append(NodeFinished(run="r", at=number, node="n", said=str(number)))
    journal.put(str(number), JournalEntry("t" * 500, "stop", "n", "r", "m", 1, 1))
    print(number, flush=True)
"""


@pytest.fixture(params=ENGINES)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> RunSettings:
    return settings_on(request.param, tmp_path, request)


@pytest.fixture
def store(settings: RunSettings) -> Iterator[RunStore]:
    with RunStore(settings) as opened:
        yield opened


def start(store: RunStore, *runs: str, created: str = CREATED) -> None:
    for run in runs:
        store.start(run, question=f"about {run}", workflow="linear", created=created)


def from_elsewhere(store: RunStore, *, silent: float = 0.0) -> None:
    """All runs of this store as if a process on another machine worked on them."""
    away = json.dumps(asdict(replace(Process.current(), host="elsewhere")))
    heard = store._database.now() - silent
    with store._database.transaction("FULL") as db:
        db.execute("UPDATE runs SET process = ?, heard = ?", (away, heard))


def test_an_answer_comes_back_exactly(store: RunStore, settings: RunSettings) -> None:
    answer = full_answer("r1")
    request = {"k": 5, "text": "% ? %s \N{SNOWMAN} \0 \udce9"}
    store.start("r1", question=answer.question, workflow="linear", created=CREATED, request=request)
    store.finish(answer)
    found = store.get("r1")
    assert (found.answer, found.request) == (answer, request)
    assert (found.status, found.stop_reason, found.created) == ("answered", "answered", CREATED)
    with RunStore(settings, create=False) as other:
        assert other.get("r1") == found


def test_events_come_back_in_order(store: RunStore, settings: RunSettings) -> None:
    start(store, "r", "other")
    events: list[Event] = [
        RunStarted(run="r", question="about r", workflow="linear"),
        NodeStarted(run="r", at=0.1, node="retrieve"),
        NodeFinished(run="r", at=0.3, node="retrieve", said="% ? \N{SNOWMAN} \0", numbers={"n": 1}),
        Token(run="r", at=0.4, text="The "),
    ]
    for event in events:
        store.append(event)
    last = Answered(run="r", at=0.6, answer=full_answer("r"))
    store.append(last)
    assert store.events("r") == [*events, last]
    assert store.events("r", after=2) == [*events[2:], last]
    assert store.events("r", after=len(events)) == store.events("r", after=99) == [last]
    assert store.events("other") == []


def test_runs_are_listed_newest_first_and_found_by_a_start(store: RunStore) -> None:
    start(store, "ab_old", created="2026-01-01T00:00:00+00:00")
    start(store, "ab%new", "ab_newest", created="2026-01-02T00:00:00+00:00")
    store.finish(full_answer("ab_old"))
    assert [item.run for item in store.list()] == ["ab_newest", "ab%new", "ab_old"]
    assert [item.run for item in store.list(1)] == ["ab_newest"]
    assert [item.run for item in store.page(2, short=False)] == ["ab_newest", "ab%new"]
    assert [item.status for item in store.list(None)] == ["running", "running", "answered"]
    assert store.get("ab_o").run == "ab_old"
    assert store.get("last").run == "ab_newest"
    with pytest.raises(RunMissing, match="3 runs begin with 'ab': ab_newest, ab%new, ab_old"):
        store.get("ab")
    with pytest.raises(RunMissing, match="there is no run '%'"):
        store.get("%")


def test_what_a_person_says_of_a_run_stays_beside_its_request(store: RunStore) -> None:
    start(store, "r")
    store.begin("r", {"choices": ["a"], "caller": {"library": "default"}})
    store.note("r", title="Berths")
    store.note("r", feedback="wrong")
    caller = {"library": "default", "title": "Berths", "feedback": "wrong"}
    assert store.get("r").request == {"choices": ["a"], "caller": caller}
    with pytest.raises(RunMissing, match="not recorded"):
        store.note("gone", title="Nobody's")


def test_replies_are_kept_in_order_and_the_first_of_a_key_stays(store: RunStore) -> None:
    start(store, "r", "other")
    journal = store.journal("r")
    for key in ("z", "a", "m", "a"):
        journal.put(key, entry(f"{key} \0 \N{SNOWMAN} {len(journal.entries())}", cost=0.1 + 0.2))
    assert [key for key, _ in journal.entries()] == ["z", "a", "m"]
    assert journal.get("a") == entry("a \0 \N{SNOWMAN} 1", cost=0.1 + 0.2)
    assert journal.get("b") is None
    assert store.journal("other").get("a") is None
    assert store.earlier("r").usage.calls == 3


def test_passages_of_a_run_are_its_own_and_the_last_stays(store: RunStore) -> None:
    start(store, "r", "other")
    store.put_passages("r", [{"id": f"w{n}", "text": f"page {n} \0 \udce9"} for n in range(1200)])
    store.put_passages("r", [{"id": "w1", "text": "newer"}])
    found = store.passages("r", [f"w{n}" for n in range(1200)])
    assert len(found) == 1200
    assert found["w1"] == {"id": "w1", "text": "newer"}
    assert found["w2"]["text"] == "page 2 \0 \udce9"
    assert store.passages("other", ["w1"]) == {}


def test_a_removed_run_leaves_nothing_and_stays_removed(store: RunStore) -> None:
    start(store, "r", "other")
    store.put_passages("r", [{"id": "w", "text": "t"}])
    store.journal("r").put("k", entry())
    store.append(NodeStarted(run="r", node="a"))
    store.remove("r")
    store.append(NodeFinished(run="r", node="a", said="late"))
    store.journal("r").put("k2", entry())
    store.put_passages("r", [{"id": "w", "text": "t"}])
    store.finish(full_answer("r"))
    assert [item.run for item in store.list()] == ["other"]
    for table in ("events", "journal", "passages"):
        assert store._database.select(f"SELECT * FROM {table}") == []  # noqa: S608


def test_pruning_keeps_the_newest_and_the_young_and_what_runs(store: RunStore) -> None:
    for day in range(1, 7):
        start(store, f"r{day}", created=f"2026-01-0{day}T00:00:00+00:00")
        if day != 1:
            store.finish(full_answer(f"r{day}"))
    assert store.prune(4, dry=True) == ["r2"]
    assert store.prune(4) == ["r2"]
    assert store.prune(10, before="2026-01-05T00:00:00+00:00") == ["r4", "r3"]
    assert [item.run for item in store.list()] == ["r6", "r5", "r1"]


# Who works on a run


def test_a_run_of_another_machine_runs_while_it_gives_signs_of_life(store: RunStore) -> None:
    start(store, "r")
    from_elsewhere(store, silent=SILENT_TOO_LONG - 30)
    assert store.get("r").status == "running"
    assert store.prune(0) == []
    from_elsewhere(store, silent=SILENT_TOO_LONG + 1)
    assert store.get("r").status == "interrupted"


def test_what_another_works_on_cannot_be_taken_up(store: RunStore, settings: RunSettings) -> None:
    start(store, "r")
    from_elsewhere(store)
    with pytest.raises(RunTaken, match="still being worked on") as caught:
        start(store, "r")
    assert caught.value.exit_code == 2
    recorder = Recorder(settings)
    try:
        with pytest.raises(RunTaken):
            recorder.start("r", question="q", workflow="linear", created=CREATED)
        assert recorder.keeps("r")
    finally:
        recorder.close()
    from_elsewhere(store, silent=SILENT_TOO_LONG + 1)
    start(store, "r")
    assert store.get("r").status == "running"


def test_who_lost_a_run_to_another_writes_it_no_more(store: RunStore) -> None:
    start(store, "r")
    from_elsewhere(store)
    with pytest.raises(RunTaken):
        store.append(NodeFinished(run="r", node="a", said="done"))
    with pytest.raises(RunTaken):
        store.finish(full_answer("r"))
    store.journal("r").put("k", entry())
    store.discard("r")
    assert store.get("r").status == "running"
    assert (store.events("r"), store.journal("r").get("k")) == ([], None)


def test_of_many_that_reach_for_a_run_one_gets_it(settings: RunSettings) -> None:
    """Each as a process of its own would: with its own connection and its own name."""
    names = [f"machine-{number}" for number in range(6)]
    stores = {name: RunStore(settings) for name in names}
    start(stores["machine-0"], "r")
    stores["machine-0"].leave("r")
    for name, store in stores.items():
        store._process = json.dumps(asdict(replace(Process.current(), host=name)))
    got: list[str] = []
    together = threading.Barrier(len(names))

    def reach(name: str) -> None:
        together.wait()
        try:
            start(stores[name], "r")
        except RunTaken:
            return
        got.append(name)

    threads = [threading.Thread(target=reach, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    row = stores["machine-0"]._database.select("SELECT process FROM runs")[0]
    for store in stores.values():
        store.close()
    assert len(got) == 1
    assert json.loads(row["process"])["host"] == got[0]


def test_the_wish_to_stop_a_run_is_seen_by_all_until_it_ends_or_is_taken_up(
    store: RunStore, settings: RunSettings
) -> None:
    for run in ("a", "b", "c"):
        start(store, run)
    with RunStore(settings) as other:
        for run in ("a", "b", "c", "none"):
            other.ask_to_stop(run)
        other.ask_to_stop("b", withdrawn=True)
    assert store.to_stop(["a", "b", "none"]) == ["a"]
    assert store.get("a").stop_reason is None, "it has none yet"
    assert f"process {os.getpid()} on" in store.worker("a")
    store.leave("a")
    start(store, "a")
    store.finish(full_answer("c"))
    store.ask_to_stop("c")
    assert store.to_stop(["a", "b", "c"]) == []
    assert store.get("c").stop_reason == full_answer("c").stop_reason
    assert store.worker("none") == "another process"


def test_a_newer_record_is_told_apart(settings: RunSettings) -> None:
    RunStore(settings).close()
    older = replace(RUNS, version=RUNS.version - 1)
    with pytest.raises(RunError, match="newer version of Secondlook"):
        open_database(settings, older)


@pytest.mark.parametrize("lines", [7, 22])
def test_a_killed_writer_loses_nothing_it_was_told_is_kept(
    settings: RunSettings, lines: int
) -> None:
    address = settings.store.get_secret_value() if settings.store else ""
    command = [sys.executable, "-c", DIE, str(settings.path), address]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    assert child.stdout is not None
    for _ in range(lines):
        told = int(child.stdout.readline())
    child.kill()
    rest = child.communicate()[0].split()
    # The last line may be cut short by the kill; the one before it is whole.
    told = max([told, *(int(line) for line in rest[:-1])])
    with RunStore(settings, create=False) as store:
        assert store.get("r").status == "interrupted"
        numbers = [event.at for event in store.events("r")]
        assert numbers[: told + 1] == list(range(told + 1))
        assert len(numbers) <= told + 3
        assert store.journal("r").get(str(told)) is not None
        assert store.earlier("r").usage.calls in {told + 1, told + 2, told + 3}
        start(store, "r")
        assert store.get("r").status == "running"
