"""`/mcp` on the HTTP server: behind the same door, over the same engines and the same queue."""

from __future__ import annotations

import importlib.util
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.routing import Route

from secondlook.server.problems import Problem, problem_response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import FastAPI
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import Receive, Scope, Send

    from secondlook.server.state import Served, Service

PATH = "/mcp"
_MOST_SESSIONS = 1_000
_MOST_BODY = 24 << 20
"""Room for a document in base64; the door before it may allow less."""


def is_installed() -> bool:
    return importlib.util.find_spec("mcp") is not None


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    if not is_installed():
        yield
        return
    app.state.mcp = manager = _manager(_service(app.state.served))
    async with manager.run():
        yield


class _Endpoint:
    """An ASGI app, as the SDK writes its answers itself."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        manager = getattr(scope["app"].state, "mcp", None)
        if manager is not None:
            await manager.handle_request(scope, receive, send)
            return
        missing = Problem(
            404,
            "mcp_extra_missing",
            "this server does not speak MCP",
            hint="pip install mcp, then start it again",
        )
        await problem_response(missing, scope["path"])(scope, receive, send)


router = APIRouter(
    lifespan=_lifespan, routes=[Route(PATH, endpoint=_Endpoint(), include_in_schema=False)]
)


def _service(served: Served) -> Service:
    from secondlook.server.state import Service

    return Service(
        settings=served.settings,
        libraries=served.libraries,
        runs=served.runs,
        jobs=served.jobs,
    )


def _manager(service: Service) -> StreamableHTTPSessionManager:
    from mcp.server.transport_security import TransportSecuritySettings

    from secondlook.server.mcp_server import make_server

    server = make_server(service)
    # Host, origin, token and size of a request are looked at before it comes here.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=unchecked,
        max_request_body_size=_MOST_BODY,
        max_sessions=_MOST_SESSIONS,
    )
    return server.session_manager
