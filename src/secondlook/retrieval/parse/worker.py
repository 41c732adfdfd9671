"""The process that parses: paths on its input, outcomes on its output."""

import contextlib
import os
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from secondlook.errors import ExtractionError
from secondlook.processes import confine, die_with_parent, own_pipes, receive, send
from secondlook.retrieval.parse.extract import as_extraction_error, extract
from secondlook.retrieval.parse.source import Parsed, ParseLimits

BEAT_SECONDS = 0.5
_RETIRE_SHARE = 3  # beyond this share of its memory a worker makes room for a fresh one


def main() -> None:
    _give_up_rights()  # before there is another thread, which would keep them
    inbox, outbox = own_pipes()
    jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox, jobs), daemon=True).start()
    limits = ParseLimits(**jobs.get())
    confine(limits.memory_bytes)
    die_with_parent()
    serve(jobs.get, outbox, limits)


def _give_up_rights() -> None:
    """Where the kernel has Landlock, a parser that a file has taken over writes to no file but
    scratch ones, and opens no connection."""
    if sys.platform != "linux":
        return
    from secondlook.sandbox import kernel

    if not kernel.version():
        return
    scratch = kernel.Allowed(tempfile.gettempdir(), kernel.WRITE)
    allowed = [kernel.Allowed("/", kernel.READ_AND_RUN), scratch]
    with contextlib.suppress(OSError):  # a container may forbid it
        kernel.forbid_new_privileges()
        kernel.restrict([*allowed, kernel.Allowed(os.devnull, kernel.USE_FILE)])


def _listen(inbox: IO[bytes], jobs: queue.SimpleQueue[dict[str, Any]]) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            jobs.put(receive(inbox))
    os._exit(0)  # the parent is gone; nobody waits for a result


def serve(next_job: Callable[[], dict[str, Any]], outbox: IO[bytes], limits: ParseLimits) -> None:
    last = float("-inf")

    def beat() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > BEAT_SECONDS:
            last = now
            send(outbox, {})

    while (path := (job := next_job()).get("path")) is not None:
        last = float("-inf")
        beat()
        reply: dict[str, Any]
        try:
            if "wish" in job:
                from secondlook.retrieval.parse.pages import look

                reply = look(Path(path), job["wish"], limits, beat)
            else:
                found = extract(Path(path), limits, beat=beat)
                reply = {"parsed": [_told(one) for one in found]}
        except BaseException as error:  # noqa: BLE001 - SystemExit from a parser costs one file
            why = as_extraction_error(error)
            reply = {"parsed": [_told(Parsed("", "", 0, error=why))], "error": _why(why)}
        is_spent = _peak_bytes() > limits.memory_bytes // _RETIRE_SHARE
        send(outbox, {**reply, "is_spent": is_spent})


def _told(parsed: Parsed) -> dict[str, Any]:
    why = None if parsed.error is None else _why(parsed.error)
    held = None if parsed.extracted is None else asdict(parsed.extracted)
    said = {"member": parsed.member, "sha256": parsed.sha256, "bytes": parsed.bytes}
    return {**said, "extracted": held, "error": why}


def _why(error: ExtractionError) -> list[str | None]:
    return [type(error).__name__, error.message, error.hint]


def _peak_bytes() -> int:
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
