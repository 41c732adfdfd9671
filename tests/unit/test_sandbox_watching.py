"""The watcher, on pipes that are held by the test instead of a job."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from secondlook.sandbox.outcomes import Witnessed, outcome_of, watch
from secondlook.sandbox.port import Limits
from secondlook.sandbox.server import used_memory, used_memory_of

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "t"  # noqa: S105 - of no job at all


@dataclass
class Pipes:
    reply: int
    reply_end: int
    output: int
    output_end: int
    used: int = 0
    closed: set[int] = field(default_factory=set)

    def memory(self) -> int:
        return self.used

    def say(self, end: int, content: bytes, *, close: bool = True) -> None:
        os.write(end, content)
        if close:
            os.close(end)
            self.closed.add(end)


@contextmanager
def pipes() -> Iterator[Pipes]:
    held = Pipes(*os.pipe(), *os.pipe())
    try:
        yield held
    finally:
        ends = {held.reply, held.reply_end, held.output, held.output_end}
        for end in ends - held.closed:
            os.close(end)


def test_all_that_is_said_until_both_are_closed() -> None:
    with pipes() as job:
        job.say(job.output_end, b"printed")
        job.say(job.reply_end, b"reply")
        seen = watch(job, Limits(seconds=30))
    assert (bytes(seen.reply), bytes(seen.output)) == (b"reply", b"printed")
    assert (seen.stopped, seen.output_cut) == (None, False)


def test_silence_ends_at_the_deadline() -> None:
    with pipes() as job:
        job.say(job.output_end, b"so far", close=False)
        seen = watch(job, Limits(seconds=0.05))
    assert (seen.stopped, bytes(seen.output)) == ("timeout", b"so far")
    assert seen.seconds >= 0.05


def test_memory_is_watched() -> None:
    with pipes() as job:
        job.used = 11
        seen = watch(job, Limits(seconds=30, resident=10))
    assert (seen.stopped, seen.memory) == ("memory", 11)


def test_replies_and_output_beyond_the_limit() -> None:
    with pipes() as job:
        job.say(job.reply_end, b"x" * 10_000, close=False)
        assert watch(job, Limits(seconds=30, reply_bytes=10)).stopped == "output"
    with pipes() as job:
        job.say(job.output_end, b"x" * 100)
        job.say(job.reply_end, b"")
        seen = watch(job, Limits(seconds=30, stdout_bytes=60))
    assert (bytes(seen.output), seen.output_cut, seen.stopped) == (b"x" * 60, True, None)


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        ((3, 5), "exit code 3"),
        ((-11, 5), "SIGSEGV"),
        ((-9, 5), "killed"),
        ((-63, 5), "signal 63"),
        (None, "closed"),
    ],
)
def test_job_without_a_reply(ended: tuple[int, int] | None, told: str) -> None:
    outcome = outcome_of(Witnessed(), token=TOKEN, limits=Limits(), ended=lambda: ended)
    assert outcome.status == "crashed"
    assert outcome.failure is not None
    assert told in outcome.failure.message


def test_job_that_was_stopped_says_why_even_with_a_reply() -> None:
    seen = Witnessed(reply=bytearray(b"half"), output=bytearray(b"\xc3"), stopped="timeout")
    outcome = outcome_of(seen, token=TOKEN, limits=Limits(seconds=2), ended=lambda: (-9, 7))
    assert (outcome.status, outcome.stdout, outcome.memory) == ("timeout", "�", 7)
    assert outcome.failure is not None
    assert "2 seconds" in outcome.failure.message


def test_memory_of_a_process_by_its_handle() -> None:
    handle = os.pidfd_open(os.getpid())
    try:
        assert used_memory(handle) == pytest.approx(used_memory_of(os.getpid()), rel=0.1)
        assert used_memory(handle) > 1 << 20
    finally:
        os.close(handle)
    assert used_memory(handle) == 0
    plain_file = os.open(os.devnull, os.O_RDONLY)
    try:
        assert used_memory(plain_file) == 0
    finally:
        os.close(plain_file)
