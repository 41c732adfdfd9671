"""A run as server-sent events, from the start or from where a client left off."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event

from secondlook.api.asking.events import EVENT_TYPES
from secondlook.api.wire import wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable

    from starlette.types import Receive, Scope, Send

    from secondlook.api.asking.live import LiveRun
    from secondlook.api.asking.log import Entry, EventLog

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
            "example": 'id: 1000000\nevent: run_started\ndata: {"type": "run_started", '
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
    return EventStream(pieces(live.log, after), left=left)


def stored_stream(log: EventLog, after: int) -> EventStream:
    """Of a run that has ended. Who has it all already is given the end once more: a server that
    was killed may have sent events that it had not recorded."""
    return EventStream(pieces(log, min(after, log.number - 1)), left=lambda: None)


async def pieces(log: EventLog, after: int) -> AsyncIterator[bytes]:
    async with aclosing(log.follow(after, idle=KEEP_ALIVE_SECONDS)) as entries:
        async for entry in entries:
            yield KEEPALIVE_COMMENT if entry is None else sent(entry)


def sent(entry: Entry) -> bytes:
    return format_sse_event(
        data_str=wire(entry.event), event=entry.event.type, id=str(entry.number)
    )
