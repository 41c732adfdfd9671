"""MCP over standard input and output: one library, one client, until it hangs up."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from secondlook.api.asking.runs import Runs
from secondlook.api.libraries import Libraries
from secondlook.api.library.jobs import Jobs
from secondlook.api.mcp.hanging_up import standard_input_that_ends_on_signals
from secondlook.api.mcp.server import make_server
from secondlook.api.mcp.service import Service

if TYPE_CHECKING:
    from secondlook.settings import Settings


async def serve_stdio(settings: Settings) -> None:
    """Returns when the client closes standard input."""
    libraries = Libraries(settings)
    runs, jobs = Runs(settings, libraries), Jobs(libraries)
    service = Service(settings=settings, libraries=libraries, runs=runs, jobs=jobs)
    try:
        await make_server(service).run_stdio_async()
    finally:
        await asyncio.shield(asyncio.to_thread(_put_away, service))


def _put_away(service: Service) -> None:
    service.jobs.close()
    service.runs.close()


def serve_on_stdio(settings: Settings) -> None:
    """Until the client hangs up. Ctrl-C stops what is running, and is raised then."""
    with standard_input_that_ends_on_signals():
        asyncio.run(serve_stdio(settings))
