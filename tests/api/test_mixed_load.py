"""A server under mixed load: questions, abandoned streams, uploads, stalled uploads, kills.

`make test` keeps it up for seconds, `make soak` for half an hour. Nobody is told of another error
than that there is too much to do, and when it is quiet again the server holds what it held before.
"""

import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil  # type: ignore[import-untyped,unused-ignore]
import pytest

from secondlook.server.runs import CANCELLED, SERVER_STOPS, Ask, LiveRun
from tests.support.asking_http import QUESTION, library_at
from tests.support.library_http import HARBOUR, LIBRARY, OWN
from tests.support.unprivileged import SECONDLOOK, environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and counts as Linux does")
SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
LIVES = 5 if SOAK else 2
SECONDS = (40.0, 200.0, 20.0) if SOAK else (5.0, 5.0, 1.0)  # to warm up; of load; before the end
QUIET = (
    600.0 if SOAK else 120.0
)  # by then a stalled upload was told that nothing came, and every job is done
STEADY = 40.0 if SOAK else 5.0  # seconds without a change: then it rests
EXPECTED = {200, 202, 204, 429, 503}
MEGABYTE = 1_000_000
MORE_MEMORY = 1.15


@dataclass(slots=True)
class Load:
    """Clients who do one thing after another until they are told to rest."""

    url: str = ""
    working: threading.Event = field(default_factory=threading.Event)
    dying: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    done: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def client(self, seed: int) -> None:
        pick = random.Random(seed)
        acts: tuple[Callable[[httpx.Client, random.Random], int], ...] = (
            self.ask,
            self.abandon,
            self.upload,
            self.stall,
            self.look,
        )
        while not self.over.is_set():
            if not self.working.wait(0.1):
                continue
            act = pick.choice(acts)
            with httpx.Client(base_url=self.url, trust_env=False, timeout=120) as client:
                try:
                    status = act(client, pick)
                except (httpx.TransportError, OSError) as error:
                    if not self.dying.is_set():
                        self.wrong.append(f"{act.__name__}: {error!r}")
                    time.sleep(0.2)
                    continue
            self.done[act.__name__] = self.done.get(act.__name__, 0) + 1
            if status not in EXPECTED:
                self.wrong.append(f"{act.__name__}: {status}")

    def ask(self, client: httpx.Client, _: random.Random) -> int:
        return client.post("/api/ask", json={"question": QUESTION, "stream": False}).status_code

    def abandon(self, client: httpx.Client, pick: random.Random) -> int:
        body = {"question": QUESTION, "stream": True}
        with client.stream("POST", "/api/ask", json=body) as reply:
            for _ in itertools.islice(reply.iter_lines(), pick.randrange(12)):
                pass
            return reply.status_code

    def upload(self, client: httpx.Client, pick: random.Random) -> int:
        name = f"note-{pick.randrange(8)}.md"
        text = f"{HARBOUR}\nMeasured {pick.randrange(10**6)} times.\n"
        files = [("files", (name, text.encode()))]
        reply = client.post(f"{LIBRARY}/documents", files=files, headers=OWN)
        if reply.status_code == httpx.codes.ACCEPTED and pick.random() < 0.5:
            self._wait(client, reply.json()["id"])
            for held in client.get(f"{LIBRARY}/documents").json().get("documents", []):
                if held["name"] == name:
                    gone = client.delete(f"{LIBRARY}/documents/{held['id']}", headers=OWN)
                    # Another client may have been first, or may be replacing it right now.
                    return 204 if gone.status_code in {404, 409} else gone.status_code
        return reply.status_code

    def _wait(self, client: httpx.Client, job: str) -> None:
        with client.stream("GET", f"{LIBRARY}/jobs/{job}/events") as events:
            for _ in events.iter_lines():
                pass

    def stall(self, _: httpx.Client, pick: random.Random) -> int:
        """It begins to send and stops; sometimes it waits to be told off."""
        status = self.stalled(None if SOAK and pick.random() < 0.5 else pick.random())
        return 202 if status in {None, httpx.codes.REQUEST_TIMEOUT} else status

    def stalled(self, seconds: float | None) -> int | None:
        """What it is told, where it waits for it: nothing where the server was killed."""
        host = urlsplit(self.url)
        assert host.hostname
        with socket.create_connection((host.hostname, host.port or 80), timeout=60) as wire:
            head = (
                f"POST {LIBRARY}/documents HTTP/1.1\r\nHost: {host.netloc}\r\nX-Secondlook: 1\r\n"
                "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 5000\r\n\r\n"
                '--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nhalf'
            )
            wire.sendall(head.encode())
            if seconds is not None:
                time.sleep(seconds)
                return None
            said = wire.recv(100)
        return int(said.split()[1]) if said else None

    def look(self, client: httpx.Client, pick: random.Random) -> int:
        paths = ("/", "/api/runs", "/api/health", "/api/settings", f"{LIBRARY}/documents")
        return client.get(pick.choice(paths)).status_code


@pytest.fixture
def load() -> Iterator[Load]:
    made = Load()
    crew = [threading.Thread(target=made.client, args=[seed]) for seed in range(12)]
    for one in crew:
        one.start()
    try:
        yield made
    finally:
        made.dying.set()
        made.over.set()
        for one in crew:
            one.join(QUIET)


def started(folder: Path) -> subprocess.Popen[str]:
    own = {
        "SECONDLOOK_LIBRARY_PATH": str(folder / "library"),
        "SECONDLOOK_RUNS_PATH": str(folder / "runs.db"),
        "XDG_CONFIG_HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
    }
    with (folder / "stderr").open("a") as errors:
        return subprocess.Popen(
            [*SECONDLOOK, "serve", "--port", "0", "--json"],
            env=environment(own),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )


def held_by(process: subprocess.Popen[str]) -> tuple[int, float]:
    """Descriptors and megabytes, with the processes it started."""
    me = psutil.Process(process.pid)
    family = [me, *me.children(recursive=True)]
    return me.num_fds(), sum(one.memory_info().rss for one in family) / MEGABYTE


def at_rest(process: subprocess.Popen[str]) -> tuple[int, float]:
    """What it holds once nothing is on its way any more: it has not changed for seconds."""
    until, held = time.monotonic() + QUIET, held_by(process)
    same_since = time.monotonic()
    while time.monotonic() - same_since < STEADY and time.monotonic() < until:
        time.sleep(0.5)
        now = held_by(process)
        if now[0] != held[0]:
            same_since = time.monotonic()
        held = now
    return held


def test_mixed_load_leaves_a_server_as_it_was(load: Load, tmp_path: Path) -> None:
    library_at(tmp_path)
    grown: list[dict[str, Any]] = []
    for life in range(LIVES):
        process = started(tmp_path)
        try:
            assert process.stdout is not None
            load.url = json.loads(process.stdout.readline())["url"]
            load.dying.clear()
            measured = []
            for seconds in SECONDS[:2]:
                load.working.set()
                time.sleep(seconds)
                load.working.clear()
                measured.append(at_rest(process))
            (fds, memory), (fds_after, memory_after) = measured
            grown.append({"descriptors": [fds, fds_after], "megabytes": [memory, memory_after]})
            assert process.poll() is None, "the server died"
            assert load.wrong == [], (tmp_path / "stderr").read_text()[-3000:]
            assert fds_after <= fds + 4, grown
            assert memory_after <= MORE_MEMORY * memory + 50, grown
            load.working.set()
            time.sleep(SECONDS[2])
            load.dying.set()
            process.send_signal(signal.SIGTERM if life % 2 else signal.SIGKILL)
            process.wait(60)
        finally:
            load.working.clear()
            process.kill()
            process.communicate()
    assert min(load.done.get(name, 0) for name in ("ask", "abandon", "upload", "stall", "look"))
    print(load.done, grown)  # noqa: T201 - what a soak found


def test_a_stalled_upload_is_told_that_the_server_stops(tmp_path: Path) -> None:
    library_at(tmp_path)
    process = started(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        assert process.stdout is not None
        told = pool.submit(Load(json.loads(process.stdout.readline())["url"]).stalled, None)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        assert told.result() == httpx.codes.SERVICE_UNAVAILABLE
        process.communicate()


def test_a_question_that_a_stopping_server_leaves_may_be_asked_again() -> None:
    for why, status in ((SERVER_STOPS, 503), (CANCELLED, 409)):
        live = LiveRun("r", Ask(question="why?"))
        live.stop(why)
        problem = live.failure().details("/api/ask")
        assert (problem.status, problem.code) == (status, "run_stopped")
