"""The events of a run, numbered: written once, read by any number of readers from any number on."""

import asyncio
import contextlib
import threading
from bisect import bisect_right
from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal

from secondlook.answer import Record
from secondlook.events import Event, RunStarted, Token
from secondlook.server.problems import ProblemDetails


class Queued(Record):
    """It waits for others to end; sent again whenever its place changes."""

    type: Literal["queued"] = "queued"
    run: str
    position: int  # 1 = the next


class Stopped(Record):
    """The last event of a run that ended without an answer."""

    type: Literal["stopped"] = "stopped"
    run: str
    why: str
    problem: ProblemDetails | None = None  # where it could not be carried out at all


SeenEvent = Event | Queued | Stopped
EVENT_TYPES = (
    *("queued", "run_started", "node_started", "passages_found", "token", "redrafted"),
    *("warned", "node_finished", "routed", "answered", "stopped"),
)
EACH: Final = 1_000_000  # what an event adds to the number. Text between two is never that long
TAKEN_UP: Final = 1_000 * EACH  # where a run is taken up: more than ever wait to be recorded
_AT_ONCE = 256  # entries a reader takes from the list at a time


@dataclass(frozen=True, slots=True)
class Entry:
    number: int
    event: SeenEvent


class EventLog:
    def __init__(self, events: Iterable[SeenEvent] = ()) -> None:
        self._events: list[SeenEvent] = []
        self._numbers: list[int] = []
        self._lock = threading.Lock()
        self._readers: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self.closed = False
        for event in events:
            self.append(event)

    def __len__(self) -> int:
        return len(self._events)

    @property
    def last(self) -> SeenEvent | None:
        return self._events[-1] if self._events else None

    @property
    def number(self) -> int:
        return self._numbers[-1] if self._numbers else 0

    def append(self, event: SeenEvent, *, last: bool = False) -> None:
        with self._lock:
            self._numbers.append(_next(self.number, event))
            self._events.append(event)
            self.closed = self.closed or last
        self._wake()

    def close(self) -> None:
        """Nothing more is known to come."""
        self.closed = True
        self._wake()

    def reopen(self) -> None:
        self.closed = False

    def _wake(self) -> None:
        with self._lock:
            readers = list(self._readers.items())
        for news, loop in readers:
            with contextlib.suppress(RuntimeError):  # the reader's loop has ended meanwhile
                loop.call_soon_threadsafe(news.set)

    async def follow(
        self, after: int = 0, *, idle: float | None = None
    ) -> AsyncGenerator[Entry | None]:
        """Entries after that number until the last; None where nothing happened for so long. A
        reader that lags behind gets pieces of text as one, and only the latest queue place."""
        news = asyncio.Event()
        at = bisect_right(self._numbers, after)
        cut = after if at < len(self._numbers) else 0
        with self._lock:
            self._readers[news] = asyncio.get_running_loop()
        try:
            while True:
                news.clear()
                with self._lock:
                    new = self._events[at : at + _AT_ONCE]
                    numbers = self._numbers[at : at + _AT_ONCE]
                    ended = self.closed and at + len(new) == len(self._events)
                last = numbers[-1] if ended and numbers else None
                entries = [
                    _unseen(Entry(number, event), cut)
                    for number, event in zip(numbers, new, strict=True)
                    # The end of a run that was taken up afterwards is not its end any more.
                    if not isinstance(event, Stopped) or number == last
                ]
                for entry in merged(entries):
                    yield entry
                at += len(new)
                cut = 0
                if ended:
                    return
                if not new:
                    try:
                        async with asyncio.timeout(idle):
                            await news.wait()
                    except TimeoutError:
                        yield None
        finally:
            with self._lock:
                del self._readers[news]


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


def merged(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Neighbouring pieces of text as one piece, and the last of neighbouring queue places."""
    for kind, group in groupby(entries, key=lambda entry: type(entry.event)):
        together = list(group)
        tokens = [entry.event for entry in together if isinstance(entry.event, Token)]
        if len(tokens) > 1:
            text = "".join(token.text for token in tokens)
            yield Entry(together[-1].number, tokens[0].model_copy(update={"text": text}))
        elif kind is Queued:
            yield together[-1]
        else:
            yield from together
