"""Runs that another process works on, watched through the record that both share."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from secondlook.api.asking.events import Stopped
from secondlook.api.asking.log import EventLog
from secondlook.api.asking.refusals import goes_on
from secondlook.api.asking.streaming import EventStream, pieces, stored_stream
from secondlook.errors import RunError, RunMissing
from secondlook.events import Answered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from secondlook.api.asking.runs import Runs
    from secondlook.events import Event
    from secondlook.memory.runs import RunStatus

SHORTEST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 2.0
"""Seconds between two looks at the record: rarer while nothing happens."""
_GROWTH = 1.5
_MOST_FAILURES = 30
"""Looks in a row at a record that cannot be read, before the stream ends without a last event."""
STOPS_WITHIN: Final = 5.0
"""Seconds in which another process is expected to stop. A server looks every second."""
INTERRUPTED: Final = "it was interrupted"
DELETED: Final = "it was deleted"


async def recorded_stream(runs: Runs, run: str, after: int) -> EventStream:
    """The events of a run that is not in this server's memory, for as long as it goes on."""
    status, events = await asyncio.to_thread(runs.record.news, run, 0)
    log = EventLog()
    _take(log, run, status, events)
    if log.closed:
        return stored_stream(log, after)
    return EventStream(_followed(runs, run, log, after), left=lambda: None)


async def _followed(runs: Runs, run: str, log: EventLog, after: int) -> AsyncIterator[bytes]:
    feeding = asyncio.create_task(_feed(runs, run, log))
    try:
        async for piece in pieces(log, after):
            yield piece
    finally:
        feeding.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await feeding


async def _feed(runs: Runs, run: str, log: EventLog) -> None:
    """Look at the record until the run has ended, whoever ended it, or this server does."""
    pause, failures = SHORTEST_PAUSE, 0
    while not log.closed:
        await asyncio.sleep(pause)
        known = len(log)
        try:
            status, events = await asyncio.to_thread(runs.record.news, run, known)
            _take(log, run, status, events)
            failures = 0
        except RunMissing:
            log.append(Stopped(run=run, why=DELETED), last=True)
        except RunError:
            failures += 1
        if runs.ending or failures == _MOST_FAILURES:
            log.close()
        pause = SHORTEST_PAUSE if len(log) > known else min(pause * _GROWTH, LONGEST_PAUSE)


async def stopped_elsewhere(runs: Runs, run: str) -> RunStatus:
    """Ask whoever works on a run to stop, and tell how the run stands once nobody does."""
    status = await _status(runs, run)
    if status != "running":
        return status
    stops = await asyncio.to_thread(runs.record.stops, run)
    await asyncio.to_thread(stops.ask, run)
    try:
        async with asyncio.timeout(STOPS_WITHIN):
            while status == "running":
                await asyncio.sleep(SHORTEST_PAUSE)
                status = await _status(runs, run)
    except TimeoutError:
        await asyncio.to_thread(stops.withdraw, run)
        raise goes_on(run, await asyncio.to_thread(stops.worker, run)) from None
    return status


async def _status(runs: Runs, run: str) -> RunStatus:
    return (await asyncio.to_thread(runs.record.get, run)).status


def _take(log: EventLog, run: str, status: RunStatus, events: list[Event]) -> None:
    for event in events:
        log.append(event, last=isinstance(event, Answered))
    if not log.closed and status != "running":
        log.append(Stopped(run=run, why=INTERRUPTED), last=True)
