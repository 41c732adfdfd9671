"""What checkpointers of every engine have in common here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class WholeWrites:
    """Put before one of LangGraph's checkpointers; what that begins to write it writes.

    LangGraph neither waits for its writes when a run is cancelled nor lets them end. A write that
    stops half-way leaves a cursor or a transaction behind, and with it a lock.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.writing: set[asyncio.Task[Any]] = set()

    async def aput(self, *arguments: Any, **options: Any) -> Any:
        put = super().aput  # type: ignore[misc]
        return await self._whole(lambda: put(*arguments, **options))

    async def aput_writes(self, *arguments: Any, **options: Any) -> None:
        put = super().aput_writes  # type: ignore[misc]
        await self._whole(lambda: put(*arguments, **options))

    async def aget_tuple(self, *arguments: Any, **options: Any) -> Any:
        get = super().aget_tuple  # type: ignore[misc]
        return await self.insisted(lambda: get(*arguments, **options))

    async def written(self) -> None:
        """Wait for what is being written."""
        while self.writing:
            await asyncio.wait(self.writing)

    async def insisted(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do it, again where the engine says that it must be begun anew."""
        raise NotImplementedError

    async def begin_step_again(self, run: str) -> None:
        """Forget what the step in which a run stopped had written."""
        raise NotImplementedError

    async def _whole(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        task = asyncio.ensure_future(self.insisted(work))
        self.writing.add(task)
        task.add_done_callback(self.writing.discard)
        return await asyncio.shield(task)
