"""What can be seen of a run besides the engine's own events."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from bisect import bisect_right
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

from secondlook.answer import Record
from secondlook.events import Event, RunStarted, Token
from secondlook.server.problems import ProblemDetails  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator


class Queued(Record):
    """It waits for others to end; told again whenever its place changes."""

    type: Literal["queued"] = "queued"
    run: str
    position: int
    """1 = the next."""


class Stopped(Record):
    """The last event of a run that ended without an answer."""

    type: Literal["stopped"] = "stopped"
    run: str
    why: str
    problem: ProblemDetails | None = None
    """Where it could not be carried out at all."""


SeenEvent = Event | Queued | Stopped
EVENT_TYPES = (
    "queued",
    "run_started",
    "node_started",
    "passages_found",
    "token",
    "redrafted",
    "warned",
    "node_finished",
    "routed",
    "answered",
    "stopped",
)


# What happened in a run, numbered: written once, read by anybody from any number on.

EACH: Final = 1_000_000
"""What an event adds to the number. Text between two is never that long."""
TAKEN_UP: Final = 1_000 * EACH
"""What is added where a run is taken up: many more than wait to be recorded at any time."""
_AT_ONCE = 256
"""Entries a reader takes from the list at a time."""


@dataclass(frozen=True, slots=True)
class Entry:
    number: int
    event: SeenEvent


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    loop: asyncio.AbstractEventLoop
    news: asyncio.Event

    def wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # the reader's loop has ended meanwhile
            self.loop.call_soon_threadsafe(self.news.set)


class EventLog:
    def __init__(self, events: Iterable[SeenEvent] = ()) -> None:
        self._events: list[SeenEvent] = []
        self._numbers: list[int] = []
        self._lock = threading.Lock()
        self._readers: set[_Waiting] = set()
        self._closed = False
        for event in events:
            self.append(event)

    def __len__(self) -> int:
        return len(self._events)

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def last(self) -> SeenEvent | None:
        return self._events[-1] if self._events else None

    @property
    def number(self) -> int:
        """That of the last event."""
        return self._numbers[-1] if self._numbers else 0

    def append(self, event: SeenEvent, *, last: bool = False) -> None:
        with self._lock:
            self._numbers.append(_next(self.number, event))
            self._events.append(event)
            self._closed = self._closed or last
            readers = tuple(self._readers)
        for reader in readers:
            reader.wake()

    def close(self) -> None:
        """Nothing more is known to come."""
        with self._lock:
            self._closed = True
            readers = tuple(self._readers)
        for reader in readers:
            reader.wake()

    def reopen(self) -> None:
        """The run goes on where it stopped."""
        with self._lock:
            self._closed = False

    def size(self) -> int:
        """Bytes of it as they would be sent."""
        return sum(len(event.model_dump_json()) for event in self._events)

    async def follow(
        self, after: int = 0, *, idle: float | None = None
    ) -> AsyncGenerator[Entry | None]:
        """Entries after that number until the last; None where nothing happened for so long.

        Who lags behind is given text that came in pieces as one piece, and of the places in the
        queue the latest alone: the number is that of the last of them.
        """
        waiting = _Waiting(asyncio.get_running_loop(), asyncio.Event())
        at = bisect_right(self._numbers, after)
        cut = after if at < len(self._numbers) else 0
        self._readers.add(waiting)
        try:
            while True:
                waiting.news.clear()
                with self._lock:
                    new = self._events[at : at + _AT_ONCE]
                    numbers = self._numbers[at : at + _AT_ONCE]
                    ended = self._closed and at + len(new) == len(self._events)
                entries = [_unseen(Entry(*one), cut) for one in zip(numbers, new, strict=True)]
                for entry in merged(_told(entries, ended=ended)):
                    yield entry
                at += len(new)
                cut = 0
                if ended:
                    return
                if not new and not await _heard(waiting.news, idle):
                    yield None
        finally:
            self._readers.discard(waiting)


def _next(number: int, event: SeenEvent) -> int:
    """The number of an event that follows that number. What is not recorded must not count."""
    following = (number // EACH + 1) * EACH
    match event:
        case Token():
            return min(number + len(event.text), following - 1)
        case Queued() | Stopped():
            return min(number + 1, following - 1)
        case RunStarted() if number >= EACH:
            return following + TAKEN_UP
    return following


def _unseen(entry: Entry, after: int) -> Entry:
    """Of a piece of text, what follows that number."""
    left = entry.number - after
    if isinstance(entry.event, Token) and 0 < left < len(entry.event.text):
        rest = entry.event.text[-left:]
        return Entry(entry.number, entry.event.model_copy(update={"text": rest}))
    return entry


def _told(entries: list[Entry], *, ended: bool) -> list[Entry]:
    """Without the end of a run that was taken up afterwards: for who comes now it did not end."""
    last = entries[-1].number if entries and ended else None
    return [
        entry for entry in entries if not isinstance(entry.event, Stopped) or entry.number == last
    ]


def merged(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Neighbours that say the same as one that says it all."""
    for kind, group in groupby(entries, key=lambda entry: type(entry.event)):
        together = list(group)
        if kind is Token and len(together) > 1:
            yield Entry(together[-1].number, _joined(together))
        elif kind is Queued:
            yield together[-1]
        else:
            yield from together


def _joined(entries: list[Entry]) -> Token:
    tokens = [entry.event for entry in entries if isinstance(entry.event, Token)]
    return tokens[0].model_copy(update={"text": "".join(token.text for token in tokens)})


async def _heard(news: asyncio.Event, idle: float | None) -> bool:
    try:
        async with asyncio.timeout(idle):
            await news.wait()
    except TimeoutError:
        return False
    return True
