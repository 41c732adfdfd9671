"""Connections: who opens one says what it wants within a while, and there are only so many.

Whoever can reach the server can open connections, with or without a token. Each takes one of the
few files that a process may have open; without any left nobody is answered and no document read.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

_SECONDS_TO_ASK = 20.0
"""From the first byte of a request, or from connecting, to the end of its headers."""
_WANTED_FILES: Final = 8192
_KEPT_FOR_FILES: Final = 256
"""What the library, the record and the models may have open besides."""
_most_open = 4096
"""Where the system sets no limit, or none that can be seen."""


def make_room() -> None:
    """As many open files as this process may have, within reason; some of them are kept back."""
    global _most_open  # noqa: PLW0603  # a limit of the process, set once as it starts to serve
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, _WANTED_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # a system may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    files = _WANTED_FILES if soft == resource.RLIM_INFINITY else soft
    _most_open = files - min(_KEPT_FOR_FILES, files // 2)


class Connection(H11Protocol):
    """h11 alone: it bounds the size of headers, which the other parser of uvicorn does not."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > _most_open:
            transport.abort()
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:  # the headers are complete
            self._wait_no_more()
        elif self._waiting is None and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(_SECONDS_TO_ASK, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
