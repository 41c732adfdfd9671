"""Blocking calls beside the event loop, in threads that nobody has to wait for.

The loop's own threads are waited for when it ends: a name server that never answers would keep
a run from ending. These threads die with the process; what they call bounds itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")


async def aside(call: Callable[[], Value]) -> Value:
    """What `call` returns or raises. Cancelling stops the waiting, not the call."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Value] = loop.create_future()

    def tell(settle: Callable[[], None]) -> None:
        # The loop may be closed by now: then nobody waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if outcome.done() else settle())

    def work() -> None:
        try:
            value = call()
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            caught = error
            tell(lambda: outcome.set_exception(caught))
        else:
            tell(lambda: outcome.set_result(value))

    threading.Thread(target=work, name="secondlook-web", daemon=True).start()
    return await outcome
