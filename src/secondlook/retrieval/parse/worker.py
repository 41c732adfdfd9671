"""The process that parses: paths on its input, outcomes on its output. Started as a plain program:
`multiprocessing` would import the caller's main script again."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import struct
import sys
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from secondlook.processes import die_with_parent
from secondlook.retrieval.parse.extract import as_extraction_error, extract
from secondlook.retrieval.parse.source import Parsed, ParseLimits

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH = struct.Struct("<Q")
BEAT_SECONDS = 0.5
_RETIRE_SHARE = 3  # beyond this share of its memory a worker makes room for a fresh one


def send(stream: IO[bytes], message: object) -> None:
    """One message with its length in front; None is a sign of life and has no body."""
    body = b"" if message is None else pickle.dumps(message, protocol=5)
    stream.write(LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next message. Raises EOFError when the other side is gone."""
    head = stream.read(LENGTH.size)
    length = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else -1
    body = stream.read(length) if length > 0 else b""
    if len(body) != length:
        raise EOFError
    # Both ends are this program: parser processes run as the same user, unconfined.
    return pickle.loads(body) if length else None  # noqa: S301


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to decide
    # The pipes are kept, and the standard streams lead nowhere: parsers chatter.
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=1 << 20)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    jobs: queue.SimpleQueue[object] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox, jobs), daemon=True).start()
    limits = jobs.get()
    if not isinstance(limits, ParseLimits):
        raise TypeError(f"expected the limits first, got {limits!r}")
    confine(limits)
    serve(jobs.get, outbox, limits)


def _listen(inbox: IO[bytes], jobs: queue.SimpleQueue[object]) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            jobs.put(receive(inbox))
    os._exit(0)  # the parent is gone; nobody waits for a result


def confine(limits: ParseLimits) -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    bounds = [limits.memory_bytes, *([] if hard == resource.RLIM_INFINITY else [hard])]
    with contextlib.suppress(ValueError, OSError):  # macOS knows the limit but refuses it
        resource.setrlimit(resource.RLIMIT_AS, (min(bounds), hard))
    die_with_parent()


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
