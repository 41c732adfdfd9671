"""What became of a job, from what was seen of it and how it ended."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import TYPE_CHECKING

from secondlook.sandbox.port import Failure, Outcome
from secondlook.sandbox.replies import TooMuch, Unreadable, read_reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.sandbox.port import Limits, Status
    from secondlook.sandbox.watching import Witnessed


def outcome_of(
    seen: Witnessed, *, token: str, limits: Limits, ended: Callable[[], tuple[int, int] | None]
) -> Outcome:
    """`ended` gives exit code (negative: the signal) and most memory; asked only where needed."""
    outcome = _judged(seen, token, limits, ended)
    return replace(
        outcome,
        stdout=seen.output.decode("utf-8", "replace"),
        stdout_cut=seen.output_cut,
        seconds=seen.seconds,
        memory=max(outcome.memory, seen.memory),
    )


def _judged(
    seen: Witnessed, token: str, limits: Limits, ended: Callable[[], tuple[int, int] | None]
) -> Outcome:
    if seen.stopped is None and seen.reply:
        try:
            return read_reply(bytes(seen.reply), token=token, limits=limits)
        except TooMuch as problem:
            return Outcome("output", failure=Failure("OutputLimit", str(problem)))
        except Unreadable as problem:
            return Outcome("crashed", failure=Failure("UnreadableReply", str(problem)))
    end = ended()
    code, memory = end or (None, 0)
    if seen.stopped is not None:
        return Outcome(seen.stopped, failure=_stopped(seen.stopped, limits), memory=memory)
    return Outcome("crashed", failure=_crashed(code), memory=memory)


def _stopped(why: Status, limits: Limits) -> Failure:
    kinds = {
        "timeout": ("Timeout", f"It was stopped after {limits.seconds:g} seconds."),
        "memory": ("MemoryLimit", f"It used more than {limits.resident} bytes of memory."),
        "output": ("OutputLimit", "It wrote more than is read."),
    }
    return Failure(*kinds[why])


def _crashed(code: int | None) -> Failure:
    if code is None:
        return Failure("Crashed", "The sandbox was closed or ended while it ran.")
    if code >= 0:
        return Failure("Crashed", f"It ended without a reply (exit code {code}).")
    if code == -signal.SIGKILL:
        return Failure("Crashed", "It was killed; the machine may be out of memory.")
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return Failure("Crashed", f"It was ended by {name}.")
