"""A client that goes stops its run: nobody else would ever read the answer."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from secondlook.api.asking.live import CLIENT_LEFT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import Request

    from secondlook.api.asking.live import LiveRun
    from secondlook.api.asking.runs import Runs


def stop(runs: Runs, run: LiveRun) -> None:
    if not run.ended:
        runs.cancel(run.id, CLIENT_LEFT)


@asynccontextmanager
async def stopped_when_gone(request: Request, runs: Runs, run: LiveRun) -> AsyncIterator[None]:
    watching = asyncio.create_task(_watch(request, runs, run))
    try:
        yield
    finally:
        watching.cancel()
        stop(runs, run)


async def _watch(request: Request, runs: Runs, run: LiveRun) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stop(runs, run)
