"""The app: every router, the guard before them, and what they share."""

from __future__ import annotations

import asyncio
import importlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

from secondlook import __version__
from secondlook.api import openapi, pages, problems
from secondlook.api.asking.runs import Runs
from secondlook.api.libraries import Libraries
from secondlook.api.library.jobs import Jobs
from secondlook.api.limits import MEGABYTE, Limits
from secondlook.api.openai.errors import OpenAIErrors
from secondlook.api.security import Guard, Security
from secondlook.api.state import Served
from secondlook.api.tokens import Token
from secondlook.telemetry.opening import watch_queue

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from secondlook.settings import Settings

ROUTERS = (
    "answers.routes",
    "asking.ask",
    "asking.routes",
    "docs_page",
    "enter",
    "graphs",
    "health",
    "library.documents",
    "library.following",
    "library.libraries",
    "library.searching",
    "library.sources",
    "library.suggesting",
    "library.tables",
    "library.uploading",
    "mcp.mounting",
    "metrics",
    "openai.routes",
    "pages",
    "session",
    "settings_shown",
)
"""Modules of this package, each with a `router`. A new one is a line here."""
_OPEN = frozenset({"", "assets", "docs", "enter"})
"""First parts of the paths that make up the page: they hold nothing of anybody."""


def create_app(
    settings: Settings,
    *,
    libraries: Libraries | None = None,
    token: str | None = None,
    host: str | None = None,
) -> FastAPI:
    """The server as an ASGI app. `token`: what clients must show; `host`: where it listens, if
    not where the settings say."""
    guard = _guard(settings, token=token, host=host)
    opened = libraries or Libraries(settings)
    made = Served(
        settings=settings,
        libraries=opened,
        runs=Runs(settings, opened),
        jobs=Jobs(opened),
        guard=guard,
    )
    app = FastAPI(
        title="Secondlook", version=__version__, lifespan=_lifespan, docs_url=None, redoc_url=None
    )
    app.state.served = made
    watch_queue(settings, made.runs.counts)
    problems.install(app)
    for name in ROUTERS:
        app.include_router(importlib.import_module(f"secondlook.api.{name}").router)
    pages.install(app)
    openapi.install(app)
    app.add_middleware(Limits, upload_bytes=settings.serve.max_upload_mb * MEGABYTE)
    app.add_middleware(Security, guard=guard)
    app.add_middleware(OpenAIErrors)
    return app


def _guard(settings: Settings, *, token: str | None, host: str | None) -> Guard:
    chosen = settings.serve
    return Guard(
        host=host or chosen.host,
        hosts=frozenset(name.lower() for name in chosen.hosts),
        origins=frozenset(chosen.origins),
        token=Token(token),
        guarded=is_guarded,
    )


def is_guarded(path: str) -> bool:
    """All but the page: what is added later is guarded unless it is named as open."""
    return path.lstrip("/").partition("/")[0] not in _OPEN


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    made: Served = app.state.served
    try:
        await asyncio.to_thread(made.jobs.take_up_all)
        yield
    finally:
        await asyncio.to_thread(made.jobs.close)
        await asyncio.to_thread(made.runs.close)
