"""`/mcp` on the HTTP server: behind the same guard, over the same engines and the same queue."""

from __future__ import annotations

import importlib.util
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from starlette.routing import Route

from secondlook.server.problems import Problem, problem_response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope, Send

PATH = "/mcp"


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    if importlib.util.find_spec("mcp") is None:
        yield
        return
    from mcp.server.transport_security import TransportSecuritySettings

    from secondlook.server.mcp_server import make_server

    server = make_server(app.state.served)
    server.streamable_http_app(
        streamable_http_path=PATH,
        # Host, origin, token and size of a request are checked before it comes here.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=24 << 20,  # room for a document in base64
        max_sessions=1_000,
    )
    app.state.mcp = server.session_manager
    async with server.session_manager.run():
        yield


class _Endpoint:
    """An ASGI app, as the SDK writes its answers itself."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        manager = getattr(scope["app"].state, "mcp", None)
        if manager is not None:
            await manager.handle_request(scope, receive, send)
            return
        said, hint = "this server does not speak MCP", "pip install mcp, then start it again"
        missing = Problem(404, "mcp_extra_missing", said, hint=hint)
        await problem_response(missing, scope["path"])(scope, receive, send)


router = APIRouter(
    lifespan=_lifespan, routes=[Route(PATH, endpoint=_Endpoint(), include_in_schema=False)]
)
