"""The app: every router, the guard before them, and what they share."""

from __future__ import annotations

import asyncio
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
from secondlook.api.answers import routes as answers_routes_module
from secondlook.api.asking import ask as asking_ask_module
from secondlook.api.asking import routes as asking_routes_module
from secondlook.api import docs_page as docs_page_module
from secondlook.api import enter as enter_module
from secondlook.api import graphs as graphs_module
from secondlook.api import health as health_module
from secondlook.api.library import documents as library_documents_module
from secondlook.api.library import following as library_following_module
from secondlook.api.library import libraries as library_libraries_module
from secondlook.api.library import searching as library_searching_module
from secondlook.api.library import sources as library_sources_module
from secondlook.api.library import suggesting as library_suggesting_module
from secondlook.api.library import tables as library_tables_module
from secondlook.api.library import uploading as library_uploading_module
from secondlook.api.mcp import mounting as mcp_mounting_module
from secondlook.api import metrics as metrics_module
from secondlook.api.openai import routes as openai_routes_module
from secondlook.api import pages as pages_module
from secondlook.api import session as session_module
from secondlook.api import settings_shown as settings_shown_module

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from secondlook.settings import Settings

ROUTERS = (
    answers_routes_module.router,
    asking_ask_module.router,
    asking_routes_module.router,
    docs_page_module.router,
    enter_module.router,
    graphs_module.router,
    health_module.router,
    library_documents_module.router,
    library_following_module.router,
    library_libraries_module.router,
    library_searching_module.router,
    library_sources_module.router,
    library_suggesting_module.router,
    library_tables_module.router,
    library_uploading_module.router,
    mcp_mounting_module.router,
    metrics_module.router,
    openai_routes_module.router,
    pages_module.router,
    session_module.router,
    settings_shown_module.router,
)
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
    for router in ROUTERS:
        app.include_router(router)
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
