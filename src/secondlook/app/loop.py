"""The sync door: one event loop in a thread of its own.

It serves plain scripts and notebooks alike, where a loop is already running, and keeps what
belongs to a loop (worker processes, connections) alive from one question to the next.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine, Generator
    from concurrent.futures import Future

T = TypeVar("T")
_END = object()
_PATIENCE = 10.0
"""Seconds that work may take to end once it is cancelled."""


class LoopThread:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin `work`, and do not wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._started())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`. Ctrl-C cancels it before it is raised."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncGenerator[T]) -> Generator[T]:
        """The items one by one; leaving early ends their source."""
        waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        ended = threading.Event()

        async def feed() -> None:
            try:
                async with aclosing(items):
                    async for item in items:
                        waiting.put(item)
                waiting.put((_END, None))
            except BaseException as error:
                waiting.put((_END, error))
                raise
            finally:
                ended.set()

        future = asyncio.run_coroutine_threadsafe(feed(), self._started())
        try:
            while True:
                item = waiting.get()
                if isinstance(item, tuple) and item and item[0] is _END:
                    break
                yield item
        finally:
            future.cancel()
            # Whoever leaves early finds everything put away when he has left.
            ended.wait(_PATIENCE)
        if item[1] is not None:
            raise item[1]

    def close(self) -> None:
        with self._lock:
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="secondlook-loop", daemon=True
                )
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(_ended(asyncio.all_tasks(loop)))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_PATIENCE)
