"""What checkpointers of every engine have in common here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")
_NAMESPACE = "checkpoint_ns"


class WholeWrites:
    """Put before one of LangGraph's checkpointers; what that begins to write it writes.

    LangGraph neither waits for its writes when a run is cancelled nor lets them end. A write that
    stops half-way leaves a cursor or a transaction behind, and with it a lock.

    What cannot be written (a full disk, a server that stays away) does not end the run: an answer
    matters more. From then on nothing of it is written, because a checkpoint without the one before
    it is not whole; it can be taken up from the last that is.
    """

    failures: tuple[type[Exception], ...] = ()
    """What the engine raises where it cannot write."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.writing: set[asyncio.Task[Any]] = set()
        self.given_up = False

    async def aput(self, config: Any, checkpoint: Any, *others: Any) -> Any:
        put = super().aput  # type: ignore[misc]
        await self._tried(lambda: put(config, checkpoint, *others))
        place = {name: config["configurable"].get(name, "") for name in ("thread_id", _NAMESPACE)}
        return {"configurable": {**place, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(self, *arguments: Any, **options: Any) -> None:
        put = super().aput_writes  # type: ignore[misc]
        await self._tried(lambda: put(*arguments, **options))

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

    async def _tried(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        if self.given_up:
            return
        try:
            await self._whole(work)
        except self.failures:
            self.given_up = True

    async def _whole(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        task = asyncio.ensure_future(self.insisted(work))
        self.writing.add(task)
        task.add_done_callback(self.writing.discard)
        return await asyncio.shield(task)
