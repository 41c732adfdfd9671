"""A server on a port: listening, starting, and ending so that nothing hangs and nothing is lost."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from secondlook.api.connections import Connection, make_room
from secondlook.api.security import is_everywhere, is_loopback
from secondlook.api.server import create_app
from secondlook.errors import SecondlookError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from secondlook.api.state import Served
    from secondlook.settings import Settings

log = logging.getLogger(__name__)
_SECONDS_TO_END: Final = 3
"""What open connections are given when the server stops."""
_WAITING_TO_BE_TAKEN: Final = 512


@dataclass(frozen=True, slots=True)
class Listening:
    """A port that is ours; nobody is answered on it yet."""

    socket: socket.socket
    host: str

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    @property
    def url(self) -> str:
        """As a browser on this machine reaches it."""
        host = self.host
        if is_everywhere(host):
            host = "::1" if ":" in host else "127.0.0.1"
        return self._at(host)

    @property
    def url_elsewhere(self) -> str | None:
        """As other machines reach it, as far as this one can tell."""
        host = address_in_network(self.socket.family) if is_everywhere(self.host) else self.host
        return None if host is None or is_loopback(host) else self._at(host)

    def _at(self, host: str) -> str:
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def address_in_network(family: int) -> str | None:
    """This machine's address where packets to other networks would leave it; none is sent."""
    documented = "2001:db8::1" if family == socket.AF_INET6 else "192.0.2.1"
    with socket.socket(family, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect((documented, 9))
        except OSError:  # there is no way out
            return None
        return str(asked.getsockname()[0])


def listen(host: str, port: int) -> Listening:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.create_server(address[:2], family=family, backlog=_WAITING_TO_BE_TAKEN)
    except (OSError, OverflowError, UnicodeError) as error:
        raise _cannot_listen(host, port, error) from error
    return Listening(made, host)


def _cannot_listen(host: str, port: int, error: Exception) -> UsageError:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return UsageError(
            f"port {port} of {host} is in use, maybe by another secondlook serve",
            hint=f"open http://{host}:{port} to see; secondlook serve --port 0 takes a free one",
        )
    if number == errno.EACCES:
        return UsageError(
            f"port {port} is kept for the administrator", hint="take one above 1023: --port 8765"
        )
    return UsageError(
        f"this machine cannot listen on {host!r}: {error}",
        hint="--host takes an address of this machine, such as 127.0.0.1",
    )


def serve(
    settings: Settings,
    listening: Listening,
    *,
    token: str | None = None,
    debug: bool = False,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Answer until stopped. Ctrl-C raises `KeyboardInterrupt` once everything is put away."""
    app = create_app(settings, token=token, host=listening.host)
    make_room()
    config = uvicorn.Config(
        app,
        http=Connection,
        log_config=_logging(debug=debug),
        access_log=debug,
        lifespan="on",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
    )
    Server(config, app.state.served, started).run(sockets=[listening.socket])


class Server(uvicorn.Server):
    """Ends the runs before it waits for whoever watches them."""

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
            self._warming = asyncio.create_task(_warm(self._served))
            self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._drains:
            await asyncio.to_thread(self._served.runs.drain)
        await asyncio.to_thread(self._served.runs.stop)
        await asyncio.to_thread(self._served.jobs.close)
        await super().shutdown(sockets=sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self._served.runs.hurry()  # told twice
        if sig == signal.SIGTERM:
            self._drains = self.should_exit = True  # an orderly end: nothing is raised after it
        else:
            super().handle_exit(sig, frame)


async def _warm(served: Served) -> None:
    """The first question should not wait for the library to open and the models to load."""
    from secondlook.reading import warm_up

    chosen = served.settings
    if chosen.embedding.model == "embedded":
        threads = chosen.embedding.threads or None
        await asyncio.to_thread(warm_up, threads=threads, reader=chosen.search.rerank)
    try:
        await served.libraries.aengine()
    except SecondlookError as error:
        log.warning("%s", error.message)  # who asks is told as well


def _logging(*, debug: bool) -> dict[str, Any]:
    """Errors alone on stderr; with `debug` every request too."""
    level = "INFO" if debug else "ERROR"
    form = {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}
    handler = {"class": "logging.StreamHandler", "formatter": "plain"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": form},
        "handlers": {"stderr": handler},
        "loggers": {
            name: {"handlers": ["stderr"], "level": level, "propagate": False}
            for name in ("uvicorn", "secondlook", "python_multipart")
        },
    }
