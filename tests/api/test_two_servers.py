"""Two real servers on one library and one PostgreSQL: what one begins, the other goes on with."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from secondlook.settings.sections import StoreAddress
from tests.support.asking_http import QUESTION, events_of, library_at
from tests.support.chat_server import ChatServer, Said
from tests.support.serving import client_of
from tests.support.unprivileged import SECONDLOOK, environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.support.postgres import Postgres

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent so there")
SECONDS = 240.0
"""Far more than anything here takes, also on a machine that has much else to do."""
_MOST_TRIES = 20
Seen = tuple[int, str, dict[str, Any]]
"""An event: number, kind and content."""


class Held:
    """A model that says what the passage says, to as many as a test lets through."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self._let_through = threading.Semaphore(0)

    def __call__(self, body: dict[str, Any]) -> Said:
        self.asked.release()
        self._let_through.acquire(timeout=SECONDS)
        known = "7.8 metres" in body["messages"][-1]["content"]
        return Said(["Berth 4 is 7.8 metres deep [1]." if known else "Nothing is known of it."])

    def let_through(self, many: int = 1_000) -> None:
        self._let_through.release(many)


def story(events: Iterable[Seen]) -> list[tuple[str, str]]:
    """What happened, whatever pieces its text came in, without what only one server tells."""
    told: list[tuple[str, str]] = []
    for _, kind, event in events:
        if kind == "token" and told and told[-1][0] == kind:
            told[-1] = (kind, told[-1][1] + event["text"])
        elif kind == "token":
            told.append((kind, event["text"]))
        elif kind not in {"queued", "stopped"}:
            told.append((kind, json.dumps(event, sort_keys=True)))
    return told


@dataclass(frozen=True, slots=True)
class Member:
    process: subprocess.Popen[str]
    url: str

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        with httpx.Client(trust_env=False, timeout=SECONDS) as client:
            return client.request(method, f"{self.url}/api{path}", **options)

    def ask(self) -> httpx.Response:
        body = {"question": QUESTION, "workflow": "linear", "detach": True}
        return self.call("POST", "/ask", json=body)

    def stop(self, run: str) -> str:
        """How it stands then. Where much else goes on, the other may not have heard of it yet."""
        for _ in range(_MOST_TRIES):
            reply = self.call("POST", f"/runs/{run}/cancel")
            if reply.status_code == httpx.codes.ACCEPTED:
                return str(reply.json()["status"])
            assert reply.json()["code"] == "run_elsewhere", reply.text
        raise AssertionError(f"{run} goes on")

    def watch(self, run: str, after: int = 0) -> Iterator[Seen]:
        """Its events until the stream ends."""
        url = f"{self.url}/api/runs/{run}/events"
        with (
            httpx.Client(trust_env=False, timeout=SECONDS) as client,
            client.stream("GET", url, params={"after": after}) as reply,
        ):
            fields: dict[str, str] = {}
            for line in reply.iter_lines():
                name, _, value = line.partition(": ")
                fields[name] = value
                if not line and "data" in fields:
                    yield int(fields["id"]), fields["event"], json.loads(fields["data"])
                    fields = {}


@dataclass(frozen=True, slots=True)
class Fleet:
    folder: Path
    """Where the library lies."""
    store: str
    model: str
    members: list[Member]
    """Those that nobody has ended yet."""


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
    store, model = postgres.new_database(), f"openai:held@{server.url}/v1"
    own = {
        "SECONDLOOK_LIBRARY_PATH": str(folder / "library"),
        "SECONDLOOK_RUNS_PATH": str(folder / "runs.db"),
        "SECONDLOOK_RUNS_STORE": store,
        "SECONDLOOK_MODELS_DEFAULT": model,
        "SECONDLOOK_SERVE_CONCURRENCY": "1",
        "XDG_CONFIG_HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
    }
    command = [*SECONDLOOK, "serve", "--port", "0", "--json"]
    with ExitStack() as ending, (folder / "stderr").open("a") as errors:
        begun = []
        for _ in range(2):  # beside each other
            process = subprocess.Popen(
                command, env=environment(own), stdout=subprocess.PIPE, stderr=errors, text=True
            )
            ending.callback(process.communicate)
            ending.callback(process.kill)
            begun.append(process)
        yield Fleet(folder, store, model, [Member(one, _address(one)) for one in begun])


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return str(json.loads(process.stdout.readline())["url"])


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
    first, other = fleet.members
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


@pytest.mark.parametrize(("ends", "sent"), [(signal.SIGTERM, 1), (signal.SIGKILL, 2)])
def test_a_run_left_by_a_server_that_ended_or_died_is_resumed_by_another(
    fleet: Fleet, held: Held, server: ChatServer, ends: signal.Signals, sent: int
) -> None:
    """Told to end, it finishes its step; killed, the call that was under way is sent once more,
    under the same key."""
    ending = fleet.members.pop()
    run = ending.ask().json()["run"]
    assert held.asked.acquire(timeout=SECONDS)
    ending.process.send_signal(ends)
    if ends == signal.SIGTERM:
        while ending.ask().status_code != 503:  # what it still takes waits, and is left too
            pass
        held.let_through(1)
    ending.process.wait(SECONDS)
    held.let_through()
    record = {"path": fleet.folder / "runs.db", "store": StoreAddress(fleet.store)}
    with client_of(fleet.folder, runs=record, models={"default": fleet.model}) as client:
        assert client.get(f"/api/runs/{run}").json()["status"] == "interrupted"
        assert client.post(f"/api/runs/{run}/resume").status_code == 202
        assert events_of(client.get(f"/api/runs/{run}/events").text)[-1].event == "answered"
        assert client.get(f"/api/runs/{run}").json()["answer"]["status"] == "answered"
    assert list(keys_sent(server).values()) == [sent]
