"""Two real servers on one library and one PostgreSQL: what one begins, the other goes on with."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from secondlook.memory.runs import RunStore
from secondlook.settings import RunSettings, StoreAddress
from tests.support.asking_http import library_at
from tests.support.chat_server import ChatServer
from tests.support.fleet import SECONDS, Fleet, Held, RoundRobin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.fleet import Member
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


@pytest.fixture
def pair(fleet: Fleet) -> list[Member]:
    return fleet.living(2)


def keys_sent(server: ChatServer) -> Counter[str]:
    """How often each call of a model was sent."""
    return Counter(request.headers["idempotency-key"] for request in server.chats if request.body)


def test_a_run_is_watched_and_resumed_on_the_other_when_its_own_is_told_to_end(
    fleet: Fleet, pair: list[Member], held: Held, server: ChatServer
) -> None:
    first, other = pair
    run = first.ask().json()["run"]
    assert held.asked.acquire(timeout=SECONDS)
    assert other.call("GET", f"/runs/{run}").json()["status"] == "running"
    refused = other.call("POST", f"/runs/{run}/resume")
    assert (refused.status_code, refused.json()["code"]) == (409, "run_in_progress")
    watching = other.watch(run)
    assert next(watching)[1] == "run_started"

    first.process.send_signal(signal.SIGTERM)
    while first.ask().status_code != STOPPING:  # what it still takes waits, and is left too
        pass
    held.let_through(1)
    assert first.process.wait(SECONDS) == 0
    seen = list(watching)
    assert seen[-1][1] == "stopped"
    store = StoreAddress(fleet.store)
    with RunStore.of(RunSettings(path=fleet.folder / "runs.db", store=store)) as record:
        entries = [entry.state for _, entry in record.journal(run).entries()]
    assert entries == ["sent", "reply"], "the step was finished"

    assert other.call("POST", f"/runs/{run}/resume").status_code == 202
    rest = list(other.watch(run, seen[-1][0]))
    assert rest[0][1] == "run_started"
    assert rest[-1][2]["answer"]["status"] == "answered"
    assert sum(keys_sent(server).values()) == 1, "the reply was there"


def test_all_questions_are_answered_when_one_of_two_is_killed_under_load(
    pair: list[Member], held: Held, server: ChatServer
) -> None:
    client = RoundRobin(pair)
    with ThreadPoolExecutor(ASKS) as pool:
        runs = list(pool.map(lambda _: client.ask(), range(ASKS)))
        answers = pool.map(client.answer, runs)
        held.let_through(ANSWERED_BEFORE)
        for _ in range(ANSWERED_BEFORE + len(pair)):  # each server waits for one more
            assert held.asked.acquire(timeout=SECONDS)
        pair[0].process.kill()
        pair[0].process.wait()
        held.let_through()
        told = [(answer["run"], answer["status"], answer["short"]) for answer in answers]
    assert [run for run, _, _ in told] == runs
    assert {status for _, status, _ in told} == {"answered"}
    assert all("7.8" in short for _, _, short in told)
    sent = keys_sent(server)
    assert len(sent) == ASKS
    assert sorted(sent.values()) == [*[1] * (ASKS - 1), 2], "the one that was under way, once more"
