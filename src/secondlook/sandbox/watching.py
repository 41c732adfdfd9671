"""Watches a job from outside: takes what it says within bounds, ends it when it goes beyond."""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from secondlook.sandbox.port import Limits, Status

_LOOK_EVERY = 0.02
"""Seconds between two looks at the memory."""
_AT_ONCE = 1 << 18
_FRAMING = 4096
"""Bytes of a reply besides its content."""
_OUTPUT_READ_FOR_EACH_KEPT = 256
"""What is printed beyond what is kept is read and thrown away; so much more ends the job."""
_LEAST_KEPT = 4096


class Watched(Protocol):
    """A job that runs. The watcher owns neither of the two descriptors."""

    @property
    def reply(self) -> int: ...
    @property
    def output(self) -> int: ...
    def memory(self) -> int:
        """Bytes that it uses now beyond what it began with; 0 where nobody can tell."""
        ...


@dataclass(slots=True)
class Witnessed:
    """What was seen of a job until it closed both descriptors, or had to be ended."""

    reply: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)
    output_cut: bool = False
    stopped: Status | None = None
    """Why it had to be ended."""
    memory: int = 0
    seconds: float = 0.0


def watch(job: Watched, limits: Limits) -> Witnessed:
    """Returns when there is no more to come, or at a limit; ending the job is the caller's part."""
    watcher = _Watcher(job, limits)
    while watcher.listening and watcher.seen.stopped is None:
        watcher.step()
    return watcher.seen


class _Watcher:
    def __init__(self, job: Watched, limits: Limits) -> None:
        self.seen = Witnessed()
        self.listening = {job.reply, job.output}
        self._job = job
        self._limits = limits
        self._started = time.monotonic()
        self._looked = 0.0
        self._printed = 0
        self._poll = select.poll()
        for descriptor in self.listening:
            self._poll.register(descriptor, select.POLLIN)

    def step(self) -> None:
        left = self._limits.seconds - self.seen.seconds
        for descriptor, _ in self._poll.poll(1000 * min(left, _LOOK_EVERY)):
            self._take(descriptor)
        self.seen.seconds = time.monotonic() - self._started
        if self.listening:
            self._look_at_memory()
            if self.seen.seconds >= self._limits.seconds:
                self._stop("timeout")

    def _take(self, descriptor: int) -> None:
        part = os.read(descriptor, _AT_ONCE)
        if not part:
            self._poll.unregister(descriptor)
            self.listening.discard(descriptor)
        elif descriptor == self._job.reply:
            self._keep_reply(part)
        else:
            self._keep_output(part)

    def _keep_reply(self, part: bytes) -> None:
        self.seen.reply += part
        if len(self.seen.reply) > self._limits.reply_bytes + _FRAMING:
            self._stop("output")

    def _keep_output(self, part: bytes) -> None:
        kept = self._limits.stdout_bytes
        room = kept - len(self.seen.output)
        self.seen.output += part[:room]
        self.seen.output_cut = self.seen.output_cut or len(part) > room
        self._printed += len(part)
        if self._printed > max(kept, _LEAST_KEPT) * _OUTPUT_READ_FOR_EACH_KEPT:
            self._stop("output")

    def _look_at_memory(self) -> None:
        if self.seen.seconds - self._looked < _LOOK_EVERY:
            return
        self._looked = self.seen.seconds
        self.seen.memory = max(self.seen.memory, self._job.memory())
        if self.seen.memory > self._limits.resident:
            self._stop("memory")

    def _stop(self, why: Status) -> None:
        self.seen.stopped = self.seen.stopped or why
