"""The server: every router, the guard before them, and the port it listens on."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from secondlook import __version__
from secondlook.errors import SecondlookError, UsageError
from secondlook.server import (
    adding,
    answers,
    asking,
    docs,
    library,
    mcp,
    models,
    openai,
    pages,
    problems,
    sources,
    status,
    suggestions,
    threads,
    uploads,
)
from secondlook.server.jobs import Jobs
from secondlook.server.libraries import Libraries
from secondlook.server.runs import Runs
from secondlook.server.security import MEGABYTE, Guard, Limits, Security, Token, is_everywhere
from secondlook.server.state import Served
from secondlook.server.watching import Watching
from secondlook.telemetry import watch_queue

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import FrameType

    from secondlook.settings.sections import Settings

_DATA = (
    asking, threads, answers, library, adding, uploads, sources, suggestions, status, models,
)  # fmt: skip
ROUTERS = tuple(module.router for module in (*_DATA, openai, mcp, docs, pages))
_OPEN = frozenset({"", "assets", "docs"})  # first parts of the page's paths: they hold no data


def create_app(
    settings: Settings,
    *,
    libraries: Libraries | None = None,
    token: str | None = None,
    host: str | None = None,
    keeps: bool = False,
) -> FastAPI:
    """An ASGI app. `token`: what clients must show; `host`: where it listens; `keeps`: settings
    changed on the page are written to the person's own, else they count until it stops."""
    serve = settings.serve
    guard = Guard(
        host=host or serve.host,
        hosts=frozenset(name.lower() for name in serve.hosts),
        origins=frozenset(serve.origins),
        token=Token(token),
        guarded=lambda path: path.lstrip("/").partition("/")[0] not in _OPEN,
    )
    opened = libraries or Libraries(settings)
    jobs = Jobs(opened)
    watching = Watching(opened, jobs)
    made = Served(opened, Runs(settings, opened), jobs, watching, guard, keeps=keeps)
    app = FastAPI(
        title="Secondlook",
        version=__version__,
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.served = made
    watch_queue(settings, made.runs.counts)
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router)
    pages.install(app)
    docs.install(app)
    app.add_middleware(Limits, upload_bytes=serve.max_upload_mb * MEGABYTE)
    app.add_middleware(Security, guard=guard)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    made: Served = app.state.served
    try:
        for name in made.libraries.names():
            await asyncio.to_thread(made.jobs.take_up, name)
            await asyncio.to_thread(made.watching.begin, name)
        yield
    finally:
        made.fetches.close()
        await asyncio.to_thread(made.watching.close)
        await asyncio.to_thread(made.jobs.close)
        await asyncio.to_thread(made.runs.close)
        await asyncio.to_thread(made.viewer.close)


# A server on a port: listening, starting, and ending so that nothing hangs and nothing is lost.

log = logging.getLogger(__name__)
_SECONDS_TO_END: Final = 3  # for open connections when the server stops


@dataclass(frozen=True, slots=True)
class Listening:
    """A port that is ours; nothing is answered on it yet."""

    socket: socket.socket
    host: str

    @property
    def url(self) -> str:
        host = self.host
        if is_everywhere(host):
            host = "::1" if ":" in host else "127.0.0.1"
        port = self.socket.getsockname()[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def listen(host: str, port: int) -> Listening:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return Listening(socket.create_server(address[:2], family=family, backlog=512), host)
    except (OSError, OverflowError, UnicodeError) as error:
        hint = "--host takes an address of this machine, --port 0 a free port"
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            hint = f"open http://{host}:{port} to see what is there; --port 0 takes a free one"
        said = f"this machine cannot listen on port {port} of {host!r}: {error}"
        raise UsageError(said, hint=hint) from error


def serve(
    settings: Settings,
    listening: Listening,
    *,
    token: str | None = None,
    debug: bool = False,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Answer until stopped. Ctrl-C raises `KeyboardInterrupt` once everything is put away."""
    app = create_app(settings, token=token, host=listening.host, keeps=True)
    level = "INFO" if debug else "ERROR"  # errors on stderr; with `debug` every request too
    logger = {"handlers": ["stderr"], "level": level, "propagate": False}
    config = uvicorn.Config(
        app,
        http=Connection,
        log_config={
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
            "loggers": dict.fromkeys(("uvicorn", "secondlook", "python_multipart"), logger),
        },
        access_log=debug,
        lifespan="on",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        limit_concurrency=make_room(),
    )
    Server(config, app.state.served, started).run(sockets=[listening.socket])


class Server(uvicorn.Server):
    """Ends the runs before it waits for the clients that watch them."""

    def __init__(
        self, config: uvicorn.Config, served: Served, started: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(config)
        self._served = served
        self._started = started
        self._warming: asyncio.Task[None] | None = None
        self._drains = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if not self.should_exit:
            self._warming = asyncio.create_task(self._warm())
            self._started()

    async def _warm(self) -> None:
        """The first question should not wait for the library to open and the models to load."""
        from secondlook.reading import warm_up

        chosen = self._served.settings
        if chosen.embedding.model == "embedded":
            threads = chosen.embedding.threads or None
            await asyncio.to_thread(warm_up, threads=threads, reader=chosen.search.rerank)
        try:
            await self._served.libraries.aengine()
        except SecondlookError as error:
            log.warning("%s", error.message)  # every question gets this error, too

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._drains:
            await asyncio.to_thread(self._served.runs.drain)
        await asyncio.to_thread(self._served.runs.stop)
        await asyncio.to_thread(self._served.watching.close)
        await asyncio.to_thread(self._served.jobs.close)
        await super().shutdown(sockets=sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self._served.runs.hurry()  # the second signal
        if sig == signal.SIGTERM:
            self._drains = self.should_exit = True  # an orderly end: nothing is raised after it
        else:
            super().handle_exit(sig, frame)


# Connections: each says what it wants within a while, and there are only so many.

_SECONDS_TO_ASK = 20.0  # from connecting, or a request's first byte, to the end of its headers
_WANTED_FILES: Final = 8192


def make_room() -> int:
    """How many connections there may be: open files, but for those that the rest needs."""
    if sys.platform == "win32":
        return 4096
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, _WANTED_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # a system may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    files = _WANTED_FILES if soft == resource.RLIM_INFINITY else soft
    return files - min(256, files // 2)


class Connection(H11Protocol):
    """h11 alone: it bounds the size of headers, which the other parser of uvicorn does not."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.limit_concurrency and len(self.connections) > self.limit_concurrency:
            transport.abort()  # uvicorn would keep it open, and answer what it asks with 503
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:  # the headers are complete
            self._wait_no_more()
        elif self._waiting is None and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(_SECONDS_TO_ASK, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
