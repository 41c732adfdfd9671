"""The process that runs one model. It is told requests on its input and answers on its output.

It is apart because llama.cpp cannot be interrupted while it reads a prompt, and because an abort
in it ends the whole process: whoever waits kills this process and starts it again.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from secondlook.models.gguf.llama import Model, Refused
from secondlook.models.gguf.wire import receive, send
from secondlook.processes import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Entry point of the process; the first message says which model to load, and how."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to decide
    inbox, outbox = _private_pipes()
    _confine()
    requests: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    is_idle = threading.Event()
    listener = threading.Thread(target=_listen, args=(inbox, requests, is_idle), daemon=True)
    listener.start()
    launch = requests.get()
    if launch is None:
        return
    try:
        model = Model.load(launch)
    except Refused as refusal:
        _refuse(outbox, refusal)
        return
    send(outbox, {"kind": "ready", "context_tokens": model.context_tokens})
    serve(model, requests.get, outbox, is_idle)


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Keeps the pipes to itself; what llama.cpp prints goes nowhere, its errors to the log."""
    inbox = os.fdopen(os.dup(0), "rb")
    outbox = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    return inbox, outbox


def _confine() -> None:
    """Dies with the parent, before the parent when memory runs out, and leaves no core file."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        die_with_parent()
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")


def _listen(
    inbox: IO[bytes],
    requests: queue.SimpleQueue[dict[str, Any] | None],
    is_idle: threading.Event,
) -> None:
    with contextlib.suppress(EOFError, OSError, ValueError):
        while True:
            requests.put(receive(inbox))
    if not is_idle.is_set():
        os._exit(0)  # the parent is gone; nobody waits for what is being made
    requests.put(None)


def serve(
    model: Model,
    next_request: Callable[[], dict[str, Any] | None],
    outbox: IO[bytes],
    is_idle: threading.Event,
) -> None:
    """Answers one request after the other until its input ends."""
    while True:
        is_idle.set()
        request = next_request()
        is_idle.clear()
        if request is None:
            return
        try:
            reply = answer(model, request, lambda piece: send(outbox, piece))
        except Refused as refusal:
            _refuse(outbox, refusal)
        else:
            send(outbox, reply)


def _refuse(outbox: IO[bytes], refusal: Refused) -> None:
    send(outbox, {"kind": "failed", "reason": refusal.reason, "why": str(refusal)})


def answer(
    model: Model, request: dict[str, Any], emit: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    if request["kind"] == "count":
        return {"kind": "done", "tokens": model.count(request["messages"])}
    return {"kind": "done", **model.complete(request, emit)}


if __name__ == "__main__":
    main()
