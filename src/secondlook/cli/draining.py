"""SIGTERM while a question is worked on: the step that it is at is finished first."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.app import Secondlook


@contextmanager
def draining(engine: Secondlook) -> Iterator[None]:
    """The first SIGTERM stops the run after its step, so that it can be taken up; a second one
    ends the process as ever."""
    if threading.current_thread() is not threading.main_thread():  # no signal comes here
        yield
        return
    before = signal.getsignal(signal.SIGTERM)

    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, before)
        engine.drain()

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
