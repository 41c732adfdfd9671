"""Stop, deadlines and deaths of a real model's worker: each costs one call, never the next."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from secondlook.errors import ModelTimeout, ModelUnavailable
from secondlook.models.chat import ChatRequest, ChatResult, Message
from secondlook.models.gguf import GgufChat
from tests.support.gguf_models import smollm2
from tests.support.gguf_processes import assert_gone

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICK = ChatRequest((Message("user", "Say hello."),), max_tokens=3)
LONG_REPLY = ChatRequest((Message("user", "Tell a long story of the sea."),), max_tokens=1500)
LONG_PROMPT = ChatRequest((Message("user", "All about the sea. " * 360),), max_tokens=4)
"""Read for many seconds before the first word comes, and not interruptible while it is read."""


@pytest.fixture(scope="module")
def shared() -> Iterator[GgufChat]:
    opened = GgufChat(smollm2(), context_tokens=2048)
    yield opened
    asyncio.run(opened.aclose())


@pytest.fixture
def chat(shared: GgufChat) -> GgufChat:
    """With a process that is loaded and idle."""
    asyncio.run(shared.count(QUICK.messages))
    assert shared.worker_pid is not None
    return shared


def works_again(chat: GgufChat, *, after: int) -> None:
    result = asyncio.run(chat.complete(QUICK))
    assert result.tokens_out == 3
    assert chat.worker_pid != after
    assert_gone(after)


def pid_of(chat: GgufChat) -> int:
    pid = chat.worker_pid
    assert pid is not None
    return pid


async def cancelled(task: asyncio.Task[ChatResult]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_call_cancelled_in_the_middle_of_its_reply_is_stopped(chat: GgufChat) -> None:
    pid = pid_of(chat)

    async def cancel_after_three() -> None:
        pieces: list[str] = []
        enough = asyncio.Event()

        def heard(text: str) -> None:
            pieces.append(text)
            if len(pieces) == 3:
                enough.set()

        task = asyncio.create_task(chat.complete(LONG_REPLY, heard))
        await enough.wait()
        await cancelled(task)

    asyncio.run(cancel_after_three())
    works_again(chat, after=pid)


def test_a_deadline_stops_the_reading_of_a_prompt(chat: GgufChat) -> None:
    pid = pid_of(chat)
    request = ChatRequest(LONG_PROMPT.messages, max_tokens=4, timeout=0.15)
    with pytest.raises(ModelTimeout, match=r"did not answer within 0\.15 s"):
        asyncio.run(chat.complete(request))
    works_again(chat, after=pid)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("how", ["SIGKILL", "SIGABRT"])
def test_a_worker_that_dies_in_a_call_is_a_retryable_error(chat: GgufChat, how: str) -> None:
    pid = pid_of(chat)
    with pytest.raises(ModelUnavailable, match=how) as caught:
        asyncio.run(chat.complete(LONG_REPLY, lambda _: os.kill(pid, signal.Signals[how])))
    assert caught.value.retryable
    assert chat.spec in caught.value.message
    works_again(chat, after=pid)


def test_closing_ends_a_busy_worker_and_whoever_waits_for_it() -> None:
    async def close_in_the_middle() -> int:
        chat = GgufChat(smollm2(), context_tokens=512)
        begun = asyncio.Event()
        running = asyncio.create_task(chat.complete(LONG_REPLY, lambda _: begun.set()))
        await begun.wait()
        waiting = asyncio.create_task(chat.complete(QUICK))
        while not chat._engine.line:
            await asyncio.wait([waiting], timeout=0.01)
        pid = pid_of(chat)
        await chat.aclose()
        for task in (running, waiting):
            with pytest.raises(ModelUnavailable, match="was closed"):
                await task
        await chat.aclose()
        return pid

    assert_gone(asyncio.run(close_in_the_middle()))


PARENT = """
import asyncio, sys
from secondlook.models.gguf import GgufChat
from secondlook.models.chat import ChatRequest, Message
async def main():
    chat = GgufChat(sys.argv[1], context_tokens=2048)
    await chat.count((Message("user", "hi"),))
    print(chat.worker_pid, flush=True)
    request = ChatRequest((Message("user", sys.argv[2]),), max_tokens=1000)
    await chat.complete(request, lambda _: print("busy", flush=True))
asyncio.run(main())
"""


def orphan(prompt: str, *, wait_for_text: bool) -> int:
    """The worker of a parent that was killed while the worker was busy."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(smollm2()), prompt], stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        if wait_for_text:
            assert parent.stdout.readline() == "busy\n"
        parent.kill()
    return pid


def test_the_worker_ends_when_its_parent_is_killed_while_it_writes() -> None:
    assert_gone(orphan("Tell a long story.", wait_for_text=True))
