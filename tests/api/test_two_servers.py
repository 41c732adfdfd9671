"""Two real servers on one library and one PostgreSQL: what one begins, the other goes on with."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.record import RunStore
from secondlook.settings.sections import RunSettings, StoreAddress
from tests.support.asking_http import events_of, library_at
from tests.support.chat_server import ChatServer
from tests.support.fleet import SECONDS, Fleet, Held, RoundRobin, story
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import Postgres

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent so there")
ASKS = 20 if os.environ.get("SECONDLOOK_SOAK") else 6
ANSWERED_BEFORE = ASKS // 4
STOPPING = 503


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    """Where the model is; who speaks there is another in each test."""
    with ChatServer(Held()) as running:
        yield running


@pytest.fixture(scope="module")
def fleet(
    postgres: Postgres, server: ChatServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    library_at(folder)
    made = Fleet(folder, postgres.new_database(), f"openai:held@{server.url}/v1")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def held(server: ChatServer) -> Iterator[Held]:
    model = Held()
    server.reply = model
    server.requests.clear()
    yield model
    model.let_through()


def keys_sent(server: ChatServer) -> Counter[str]:
    """How often each call of a model was sent."""
    return Counter(request.headers["idempotency-key"] for request in server.chats if request.body)


def test_a_run_is_watched_stopped_and_resumed_on_the_other(
    fleet: Fleet, held: Held, server: ChatServer
) -> None:
    first, other = fleet.living(2)
    run = first.ask().json()["run"]
    assert held.asked.acquire(timeout=SECONDS)
    assert other.call("GET", f"/runs/{run}").json()["status"] == "running"
    refused = other.call("POST", f"/runs/{run}/resume")
    assert (refused.status_code, refused.json()["code"]) == (409, "run_in_progress")
    watching = other.watch(run)
    began = next(watching)
    assert began[1] == "run_started"

    assert other.stop(run) == "interrupted"
    seen = [began, *watching]
    assert seen[-1][1] == "stopped"
    assert other.call("POST", f"/runs/{run}/resume").status_code == 202
    assert held.asked.acquire(timeout=SECONDS)
    held.let_through(2)  # the first of them hears it too late
    rest = list(first.watch(run, seen[-1][0]))
    assert rest[-1][2]["answer"]["status"] == "answered"
    assert list(keys_sent(server).values()) == [2], "once more, under the same key"
    for member in (first, other):
        assert story([*seen, *rest]) == story(member.watch(run)), "nothing lost, nothing twice"


@pytest.mark.slow
def test_all_questions_are_answered_when_one_of_two_is_killed_under_load(
    fleet: Fleet, held: Held, server: ChatServer
) -> None:
    pair = fleet.living(2)
    client = RoundRobin(pair)
    with ThreadPoolExecutor(ASKS) as pool:
        runs = list(pool.map(lambda _: client.ask(), range(ASKS)))
        watched = pool.map(client.watch, runs)
        held.let_through(ANSWERED_BEFORE)
        for _ in range(ANSWERED_BEFORE + len(pair)):  # each server waits for one more
            assert held.asked.acquire(timeout=SECONDS)
        pair[0].process.kill()
        pair[0].process.wait()
        held.let_through()
        told = dict(zip(runs, watched, strict=True))
    for run, seen in told.items():
        answer = seen[-1][2]["answer"]
        assert (answer["run"], answer["status"]) == (run, "answered")
        assert "7.8" in answer["short"]
        numbers = [number for number, kind, _ in seen if kind not in {"queued", "stopped"}]
        assert numbers == sorted(set(numbers)), "nothing twice"
        recorded = story(pair[1].watch(run))
        # What a server sent that was killed before it could record it is in no record.
        assert [one for one in story(seen) if one in recorded] == recorded, "nothing lost"
    sent = keys_sent(server)
    assert len(sent) == ASKS
    assert sorted(sent.values()) == [*[1] * (ASKS - 1), 2], "the one that was under way, once more"


def test_a_server_that_is_told_to_end_finishes_its_step_and_another_goes_on(
    fleet: Fleet, held: Held, server: ChatServer
) -> None:
    ending, *_ = fleet.living(1)
    run = ending.ask().json()["run"]
    assert held.asked.acquire(timeout=SECONDS)
    watching = ending.watch(run)
    seen = [next(watching)]
    ending.process.send_signal(signal.SIGTERM)
    while ending.ask().status_code != STOPPING:  # what it still takes waits, and is left too
        pass
    held.let_through(1)
    seen += watching
    assert seen[-1][1] == "stopped"
    assert ending.process.wait(SECONDS) == 0
    record = {"path": fleet.folder / "runs.db", "store": StoreAddress(fleet.store)}
    with RunStore.of(RunSettings.model_validate(record)) as store:
        entries = [entry.state for _, entry in store.journal(run).entries()]
    assert entries == ["sent", "reply"], "the step was finished"

    with client_of(fleet.folder, runs=record, models={"default": fleet.model}) as client:
        assert client.post(f"/api/runs/{run}/resume").status_code == 202
        text = client.get(f"/api/runs/{run}/events", params={"after": seen[-1][0]}).text
    rest = events_of(text)
    assert [rest[0].event, rest[-1].event] == ["run_started", "answered"]
    assert sum(keys_sent(server).values()) == 1, "the reply was there"
