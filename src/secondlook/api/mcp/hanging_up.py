"""Standard input that can be ended from here.

Whoever waits for a line of standard input cannot be interrupted: the read ends when the client
writes or leaves. So the server reads from a pipe that a thread fills, and Ctrl-C closes the pipe,
which ends the server as if the client had left: runs are stopped and recorded.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_STDIN = 0
_BLOCK = 1 << 16
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def standard_input_that_ends_on_signals() -> Iterator[None]:
    """Ctrl-C ends standard input, and is raised when all is put away; a second one is not
    waited for."""
    received: list[int] = []
    pipe = _Pipe()

    def end(number: int, _: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        pipe.end()

    before = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        pipe.restore()
    if signal.SIGINT in received:
        raise KeyboardInterrupt


class _Pipe:
    """In the place of standard input."""

    def __init__(self) -> None:
        self._given = os.dup(_STDIN)
        reading, self._writing = os.pipe()
        os.dup2(reading, _STDIN)
        os.close(reading)
        threading.Thread(target=self._fill, name="secondlook-stdin", daemon=True).start()

    def end(self) -> None:
        """What the thread still writes goes nowhere; its descriptor stays taken."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._writing, inheritable=False)
        os.close(nowhere)

    def restore(self) -> None:
        self.end()
        os.dup2(self._given, _STDIN)

    def _fill(self) -> None:
        while data := _read(self._given):
            sent = 0
            while sent < len(data):
                try:
                    sent += os.write(self._writing, data[sent:])
                except OSError:  # nobody reads any more
                    return
        self.end()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _BLOCK)
    except OSError:  # a terminal that went away
        return b""
