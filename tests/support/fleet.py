"""Real `serve` processes on one library and one PostgreSQL, and a client that asks them in turn."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from tests.support.chat_server import Said
from tests.support.unprivileged import SECONDLOOK, environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

QUESTION = "How deep is berth 4?"
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


@dataclass(slots=True)
class Fleet:
    folder: Path
    """Where the library lies."""
    store: str
    model: str
    members: list[Member] = field(default_factory=list)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    """All that were started, also those that never told their address."""

    def living(self, many: int) -> list[Member]:
        """So many of them; those that are missing start beside each other."""
        alive = [member for member in self.members if member.process.poll() is None]
        processes = [self._process() for _ in range(many - len(alive))]
        self.processes += processes
        made = [Member(process, _address(process)) for process in processes]
        self.members += made
        return [*made, *alive]

    def _process(self) -> subprocess.Popen[str]:
        own = {
            "SECONDLOOK_LIBRARY_PATH": str(self.folder / "library"),
            "SECONDLOOK_RUNS_PATH": str(self.folder / "runs.db"),
            "SECONDLOOK_RUNS_STORE": self.store,
            "SECONDLOOK_MODELS_DEFAULT": self.model,
            "SECONDLOOK_SERVE_CONCURRENCY": "1",
            "XDG_CONFIG_HOME": str(self.folder),
            "XDG_DATA_HOME": str(self.folder),
        }
        with (self.folder / "stderr").open("a") as errors:
            return subprocess.Popen(
                [*SECONDLOOK, "serve", "--port", "0", "--json"],
                env=environment(own),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return str(json.loads(process.stdout.readline())["url"])


class RoundRobin:
    """Asks the servers in turn, passes over one that is gone, and takes up what it left."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._turns = itertools.cycle(members)
        self._lock = threading.Lock()

    def ask(self) -> str:
        reply = self._next().ask()
        assert reply.status_code == 202, reply.text
        return str(reply.json()["run"])

    def watch(self, run: str) -> list[Seen]:
        """All that is told of it until it has its answer, whoever works on it."""
        seen: list[Seen] = []
        for _ in range(_MOST_TRIES):
            with contextlib.suppress(httpx.TransportError):  # that one is gone: on to the next
                for one in self._next().watch(run, seen[-1][0] if seen else 0):
                    seen.append(one)  # noqa: PERF402  # what came before it broke is kept
                if seen and seen[-1][1] == "answered":
                    return seen
                self._resume(run)
        raise AssertionError(f"{run} did not end")

    def _resume(self, run: str) -> None:
        for _ in range(_MOST_TRIES):
            with contextlib.suppress(httpx.TransportError):
                reply = self._next().call("POST", f"/runs/{run}/resume")
                assert reply.status_code in {202, 409}, reply.text
                return
        raise AssertionError("nobody is there")

    def _next(self) -> Member:
        with self._lock:
            return next(self._turns)
