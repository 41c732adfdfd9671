"""What a server costs beside the engine it serves, and whether it keeps its promises under load.

A real server in a process of its own, over the sample documents and the embedded default, is asked
50 questions at once, as streams, round after round. Of each round it is checked that no request
fails, that no event is lost (every stream equals what the server later says the run's events
were), and that nobody is passed over (how far the slowest is from the median, and that runs begin
in the order they came). The same questions, as many at a time, are then asked of the engine in a
process without a server: their throughput is what the ratio is to. At last ten readers that take
a few bytes at a time are put beside fifty quick ones.

    python -m benchmarks.serve [--asks 50] [--rounds 3]
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import psutil  # type: ignore[import-untyped,unused-ignore]

from benchmarks.common import parser, save
from secondlook.library.library import Library, samples_folder
from secondlook.settings import load

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

QUESTIONS = (
    "how thick is the sheet piling of the south quay",
    "who voted against the dredging",
    "who designed the lighthouse on Cape Varn",
    "how deep is berth 4",
    "when did the mains fail",
    "which channel does the harbour office listen on",
    "what does the dredging offer cost",
    "what is the mean depth of the berths",
)
SLOW_READERS = 10
BYTES_AT_A_TIME = 64
PAUSE = 0.05
_TIMEOUT = 300.0


@dataclass(slots=True)
class Asked:
    """One stream, as its client saw it."""

    run: str = ""
    seconds: float = 0.0
    events: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    error: str | None = None


@dataclass(slots=True)
class Round:
    seconds: float
    asked: list[Asked]
    resident: int


def _measured(
    folder: Path, given: argparse.Namespace
) -> tuple[list[Round], dict[str, Any], list[float]]:
    variables = {
        "SECONDLOOK_LIBRARY_PATH": str(folder / "library"),
        "SECONDLOOK_RUNS_PATH": str(folder / "runs.db"),
        "SECONDLOOK_SERVE_CONCURRENCY": str(given.concurrency),
    }
    os.environ.update(variables)
    with Library.open(settings=load().settings) as library:
        library.add(samples_folder())
    server, address = _started()
    try:
        rounds, slow = asyncio.run(_over_http(address, server, given))
    finally:
        server.terminate()
        server.wait(30)
    alone = json.loads(
        subprocess.run(
            [sys.executable, "-c", _IN_PROCESS, str(given.asks), str(given.rounds),
             str(given.concurrency), json.dumps(QUESTIONS)],
            check=True, capture_output=True, text=True,
        ).stdout
    )  # fmt: skip
    return rounds, slow, alone


_IN_PROCESS = """
import asyncio, json, sys, time
from secondlook.engine.secondlook import Secondlook
from secondlook.settings import load
asks, rounds, concurrency = map(int, sys.argv[1:4])
questions = json.loads(sys.argv[4])
async def main():
    engine = Secondlook.open(settings=load().settings)
    room = asyncio.Semaphore(concurrency)
    async def one(number):
        async with room:
            async for event in engine.astream(questions[number % len(questions)]):
                event.model_dump_json()
    await one(0)
    took = []
    for _ in range(rounds):
        began = time.monotonic()
        await asyncio.gather(*(one(number) for number in range(asks)))
        took.append(time.monotonic() - began)
    await engine.aclose()
    print(json.dumps(took))
asyncio.run(main())
"""
"""The same questions without a server. Events are written as JSON there too."""


def _started() -> tuple[subprocess.Popen[str], str]:
    server = subprocess.Popen(
        [sys.executable, "-m", "secondlook", "serve", "--port", "0", "--no-open", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    if server.stdout is None:
        raise AssertionError
    return server, json.loads(server.stdout.readline())["url"]


async def _over_http(
    address: str, server: subprocess.Popen[str], given: argparse.Namespace
) -> tuple[list[Round], dict[str, Any]]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=address, timeout=_TIMEOUT, limits=limits) as client:
        await _ask(client, 0)  # models are loaded with the first question
        rounds = [await _round(client, server, given.asks) for _ in range(given.rounds)]
        for each in rounds:
            for asked in each.asked:
                await _compare(client, asked)
        slow = await _beside_slow_readers(client, address, server, given.asks)
    return rounds, slow


async def _round(client: httpx.AsyncClient, server: subprocess.Popen[str], asks: int) -> Round:
    began = time.monotonic()
    asked = await asyncio.gather(*(_ask(client, number) for number in range(asks)))
    return Round(time.monotonic() - began, list(asked), _resident(server))


async def _ask(client: httpx.AsyncClient, number: int) -> Asked:
    asked = Asked()
    began = time.monotonic()
    body = {"question": QUESTIONS[number % len(QUESTIONS)], "stream": True}
    try:
        async with client.stream("POST", "/api/ask", json=body) as reply:
            reply.raise_for_status()
            async for event in _events(reply):
                asked.events.append(event)
        asked.run = asked.events[-1][1]["run"]
    except (httpx.HTTPError, LookupError) as error:
        asked.error = repr(error)
    asked.seconds = time.monotonic() - began
    return asked


async def _events(reply: httpx.Response) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    number, data = 0, ""
    async for line in reply.aiter_lines():
        name, _, value = line.partition(":")
        if name == "id":
            number = int(value)
        elif name == "data":
            data = value
        elif not line and data:
            yield number, json.loads(data)
            data = ""


async def _compare(client: httpx.AsyncClient, asked: Asked) -> None:
    """What the client saw against what the server says there was."""
    if asked.error is not None:
        return
    async with client.stream("GET", f"/api/runs/{asked.run}/events") as reply:
        there = [event async for event in _events(reply)]
    numbers = [number for number, _ in asked.events]
    if numbers != sorted(set(numbers)) or asked.events[-1][1]["type"] != "answered":
        asked.error = f"numbers {numbers[:3]} to {numbers[-1]}, {asked.events[-1][1]['type']} last"
    elif _comparable(asked.events) != _comparable(there):
        asked.error = f"{len(asked.events)} events seen, {len(there)} there"


def _comparable(events: list[tuple[int, dict[str, Any]]]) -> list[Any]:
    """Without tokens, which may be merged: a stream and a record break a text at other places."""
    text = "".join(event["text"] for _, event in events if event["type"] == "token")
    others = [event for _, event in events if event["type"] not in {"token", "queued"}]
    return [text, *others]


async def _beside_slow_readers(
    client: httpx.AsyncClient, address: str, server: subprocess.Popen[str], asks: int
) -> dict[str, Any]:
    before = _resident(server)
    readers = [asyncio.to_thread(_read_slowly, address, number) for number in range(SLOW_READERS)]
    slow = asyncio.gather(*readers)
    measured = await _round(client, server, asks)
    ended = await slow
    return {
        "readers": SLOW_READERS,
        "their_answers": sum(ended),
        "round_seconds": round(measured.seconds, 2),
        "errors": sum(asked.error is not None for asked in measured.asked),
        "resident_growth_mb": round((measured.resident - before) / 2**20, 1),
    }


def _read_slowly(address: str, number: int) -> bool:
    """Whether a client that takes its time gets its answer."""
    body = json.dumps({"question": QUESTIONS[number % len(QUESTIONS)], "stream": True}).encode()
    place = urlsplit(address)
    head = (
        f"POST /api/ask HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    taken = b""
    with socket.create_connection((place.hostname, place.port), timeout=_TIMEOUT) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        wire.sendall(head.encode() + body)
        while piece := wire.recv(BYTES_AT_A_TIME):
            taken += piece
            if len(taken) < 100 * BYTES_AT_A_TIME:  # slow for as long as the others are asking
                time.sleep(PAUSE)
    return b"event: answered" in taken


def _resident(server: subprocess.Popen[str]) -> int:
    process = psutil.Process(server.pid)
    return sum(one.memory_info().rss for one in (process, *process.children(recursive=True)))


def _out_of_order(one: Round) -> int:
    """Most places by which anybody was passed, by where in the queue they first stood."""

    def position(asked: Asked) -> int:
        first = asked.events[0][1]
        return int(first["position"]) if first["type"] == "queued" else 0

    begun = sorted((asked for asked in one.asked if asked.events), key=position)
    ended = sorted(begun, key=lambda asked: asked.seconds)
    return max(abs(begun.index(asked) - ended.index(asked)) for asked in begun)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--asks", type=int, default=50)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--concurrency", type=int, default=os.cpu_count() or 1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="secondlook-serve-") as folder:
        rounds, slow, alone = _measured(Path(folder), given)
    errors = [asked.error for each in rounds for asked in each.asked if asked.error]
    times = [[asked.seconds for asked in each.asked] for each in rounds]
    http, engine = statistics.median(each.seconds for each in rounds), statistics.median(alone)
    found = {
        "asks_at_once": given.asks,
        "worked_on_at_once": given.concurrency,
        "rounds": given.rounds,
        "errors": len(errors),
        "first_errors": errors[:3],
        "events": sum(len(asked.events) for each in rounds for asked in each.asked),
        "round_seconds": [round(each.seconds, 2) for each in rounds],
        "in_process_seconds": [round(seconds, 2) for seconds in alone],
        "throughput_beside_in_process": round(engine / http, 3),
        "slowest_by_median": round(max(max(one) / statistics.median(one) for one in times), 2),
        "begun_out_of_order": max(_out_of_order(each) for each in rounds),
        "resident_mb": [round(each.resident / 2**20, 1) for each in rounds],
        "slow_readers": slow,
    }
    save("serve", found)


if __name__ == "__main__":
    main()
