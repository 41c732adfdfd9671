"""A run as server-sent events, from the start or from where a client left off."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event

from secondlook.api.asking.events import EVENT_TYPES, Stopped
from secondlook.api.asking.log import Entry
from secondlook.api.wire import wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable

    from starlette.types import Receive, Scope, Send

    from secondlook.api.asking.events import SeenEvent
    from secondlook.api.asking.live import LiveRun
    from secondlook.events import Event
    from secondlook.memory.runs import StoredRun

KEEP_ALIVE_SECONDS: Final = 15.0
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
STREAM_DOCS: dict[str, Any] = {
    "description": "Server-sent events: `id` is the number to come back with, `event` is one of "
    f"{', '.join(f'`{name}`' for name in EVENT_TYPES)}, `data` is JSON (docs/runs.md). "
    "The last one is `answered` or `stopped`.",
    "content": {
        "text/event-stream": {
            "itemSchema": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "event": {"enum": list(EVENT_TYPES)},
                    "data": {"type": "string", "contentMediaType": "application/json"},
                },
                "required": ["id", "event", "data"],
            },
            "example": 'id: 1\nevent: run_started\ndata: {"type": "run_started", '
            '"run": "20260102-1f2e3d4c5b6a", "at": 0.0, "question": "How deep is berth 4?", '
            '"workflow": "linear"}\n\n',
        }
    },
}


class EventStream(EventSourceResponse):
    """`left` is called when nobody reads any more, for whatever reason."""

    def __init__(self, pieces: AsyncIterable[bytes], *, left: Callable[[], None]) -> None:
        super().__init__(pieces, headers=_HEADERS)
        self._left = left

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._left()


def live_stream(live: LiveRun, after: int = 0, *, left: Callable[[], None]) -> EventStream:
    async def pieces() -> AsyncIterator[bytes]:
        async with aclosing(live.log.follow(after, idle=KEEP_ALIVE_SECONDS)) as entries:
            async for entry in entries:
                yield KEEPALIVE_COMMENT if entry is None else sent(entry)

    return EventStream(pieces(), left=left)


def stored_stream(stored: StoredRun, events: list[Event], after: int) -> EventStream:
    """Of a run that is in memory no more. Its numbers are not those that were sent while it went
    on, so who comes back is given the end alone: the answer holds all that was missed."""
    seen: list[SeenEvent] = [*events]
    if stored.status == "interrupted":
        seen.append(Stopped(run=stored.run, why="it was interrupted"))
    entries = [Entry(number, event) for number, event in enumerate(seen, 1)]
    if after > 0:
        entries = [Entry(max(after + 1, one.number), one.event) for one in entries[-1:]]
    return EventStream(_all(entries), left=lambda: None)


def sent(entry: Entry) -> bytes:
    return format_sse_event(
        data_str=wire(entry.event), event=entry.event.type, id=str(entry.number)
    )


async def _all(entries: Iterable[Entry]) -> AsyncIterator[bytes]:
    for entry in entries:
        yield sent(entry)
