"""A model in a GGUF file as a chat model: counted, constrained, streamed, and stoppable."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.errors import ModelError
from secondlook.models.gguf.engine import Job, give_back, lease
from secondlook.models.gguf.failures import closed, overdue
from secondlook.models.gguf.header import read_header
from secondlook.models.gguf.process import Launch
from secondlook.models.port import ChatRequest, ChatResult, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DEFAULT_CONTEXT_TOKENS = 8192
"""More than our prompts need; the memory that a context takes grows with it."""


class GgufChat:
    """Runs in a worker process that all chats with the same file share. Calls queue up.

    A cancelled or overdue call kills that process, because reading a prompt cannot be
    interrupted; the next call starts it again. `on_queue` is told how many calls are ahead of
    one that has to wait, and 0 when its turn has come.
    """

    local = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        context_tokens: int | None = None,
        threads: int | None = None,
        on_queue: Callable[[int], None] | None = None,
    ) -> None:
        """Without `threads` it uses all cores that this process may use."""
        self.spec = f"gguf:{os.fspath(path)}"
        self.on_queue = on_queue
        self._path = Path(path).expanduser().absolute()
        self._launch = Launch(
            path=str(self._path),
            context_tokens=context_tokens or DEFAULT_CONTEXT_TOKENS,
            threads=threads or available_cores(),
        )
        self._engine = lease(self._launch)
        self._give_back = weakref.finalize(self, give_back, self._launch)

    @property
    def waiting(self) -> int:
        """Calls in line for this model, whoever made them, without the one being served."""
        return self._engine.waiting

    @property
    def worker_pid(self) -> int | None:
        """The process that holds the model; None while there is none."""
        return self._engine.pid

    async def complete(
        self, request: ChatRequest, on_text: Callable[[str], None] | None = None
    ) -> ChatResult:
        started = time.monotonic()
        first: list[float] = []

        def passed_on(text: str) -> None:
            if not first:
                first.append(time.monotonic() - started)
            if on_text is not None:
                on_text(text)

        reply = await self._call(_completion(request), passed_on, request.timeout)
        return ChatResult(
            text=reply["text"],
            finish=reply["finish"],
            tokens_in=reply["tokens_in"],
            tokens_out=reply["tokens_out"],
            tokens_cached=reply["tokens_cached"],
            seconds=time.monotonic() - started,
            first_token_seconds=first[0] if first else None,
        )

    async def count(self, messages: Sequence[Message]) -> int:
        """Exact: the model's own template and tokenizer."""
        reply = await self._call({"kind": "count", "messages": _plain(messages)})
        return int(reply["tokens"])

    async def context_tokens(self) -> int:
        """What the worker offers: as set, and no more than the model was trained for."""
        header = await asyncio.to_thread(read_header, self._path)
        return header.usable_context(self._launch.context_tokens)

    async def aclose(self) -> None:
        """Ends the worker unless another chat uses it."""
        await asyncio.to_thread(self._give_back)

    async def _call(
        self,
        message: dict[str, Any],
        on_text: Callable[[str], None] | None = None,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        if not self._give_back.alive:
            raise closed(self.spec)
        arrivals: asyncio.Queue[dict[str, Any] | ModelError] = asyncio.Queue()
        job = Job(message, _into(arrivals, asyncio.get_running_loop()))
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                self._engine.submit(job)
                return await self._follow(arrivals, on_text)
        except BaseException as error:
            self._engine.abandon(job)
            if isinstance(error, TimeoutError) and deadline.expired():
                raise overdue(self.spec, seconds or 0.0, job.ahead) from error
            raise

    async def _follow(
        self,
        arrivals: asyncio.Queue[dict[str, Any] | ModelError],
        on_text: Callable[[str], None] | None,
    ) -> dict[str, Any]:
        while True:
            arrived = await arrivals.get()
            if isinstance(arrived, ModelError):
                raise arrived
            match arrived["kind"]:
                case "text":
                    if on_text is not None:
                        on_text(arrived["text"])
                case "queued":
                    if self.on_queue is not None:
                        self.on_queue(arrived["ahead"])
                case _:
                    return arrived


def available_cores() -> int:
    """Cores that this process may use, which a container or a batch system may have limited."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _into(
    arrivals: asyncio.Queue[dict[str, Any] | ModelError], loop: asyncio.AbstractEventLoop
) -> Callable[[dict[str, Any] | ModelError], None]:
    def deliver(arrived: dict[str, Any] | ModelError) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed; nobody listens any more
            loop.call_soon_threadsafe(arrivals.put_nowait, arrived)

    return deliver


def _completion(request: ChatRequest) -> dict[str, Any]:
    return {
        "kind": "complete",
        "messages": _plain(request.messages),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "stop": list(request.stop),
        "schema": None if request.mode == "prompted" else request.schema,
    }


def _plain(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]
