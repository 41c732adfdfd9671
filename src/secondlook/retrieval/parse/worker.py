"""The process that parses: paths on its input, outcomes on its output."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import sys
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from secondlook.processes import (
    confine,
    die_with_parent,
    own_pipes,
    receive_bytes,
    send_bytes,
)
from secondlook.retrieval.parse.extract import as_extraction_error, extract
from secondlook.retrieval.parse.source import Parsed, ParseLimits

if TYPE_CHECKING:
    from collections.abc import Callable

BEAT_SECONDS = 0.5
_RETIRE_SHARE = 3  # beyond this share of its memory a worker makes room for a fresh one


def send(stream: IO[bytes], message: object) -> None:
    """One message with its length in front; None is a sign of life and has no body."""
    send_bytes(stream, b"" if message is None else pickle.dumps(message, protocol=5))


def receive(stream: IO[bytes]) -> Any:
    """The next message. Raises EOFError when the other side is gone."""
    # Both ends are this program: parser processes run as the same user, unconfined.
    body = receive_bytes(stream, sys.maxsize)
    return pickle.loads(body) if body else None  # noqa: S301


def main() -> None:
    inbox, outbox = own_pipes()
    jobs: queue.SimpleQueue[object] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox, jobs), daemon=True).start()
    limits = jobs.get()
    if not isinstance(limits, ParseLimits):
        raise TypeError(f"expected the limits first, got {limits!r}")
    confine(limits.memory_bytes)
    die_with_parent()
    serve(jobs.get, outbox, limits)


def _listen(inbox: IO[bytes], jobs: queue.SimpleQueue[object]) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            jobs.put(receive(inbox))
    os._exit(0)  # the parent is gone; nobody waits for a result


def serve(next_job: Callable[[], object], outbox: IO[bytes], limits: ParseLimits) -> None:
    last = float("-inf")

    def beat() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > BEAT_SECONDS:
            last = now
            send(outbox, None)

    while (path := next_job()) is not None:
        last = float("-inf")
        beat()
        try:
            parsed = extract(Path(str(path)), limits, beat=beat)
        except BaseException as error:  # noqa: BLE001 - SystemExit from a parser costs one file
            parsed = [Parsed("", "", 0, error=as_extraction_error(error))]
        send(outbox, (parsed, _peak_bytes() > limits.memory_bytes // _RETIRE_SHARE))


def _peak_bytes() -> int:
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
