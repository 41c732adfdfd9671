"""A server over a library of a test: in the test's own process, or on a port of this machine."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi.testclient import TestClient

from secondlook.server.app import Connection, Server, create_app
from secondlook.settings.sections import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.server.libraries import Libraries

BASE = "http://127.0.0.1:8765"


def settings_at(folder: Path, **sections: Any) -> Settings:
    """Library and runs lie in that folder; `serve={"queue": 1}` and the like set more."""
    own: dict[str, dict[str, Any]] = {
        "library": {"path": folder / "library"},
        "runs": {"path": folder / "runs.db"},
    }
    for name, values in sections.items():
        own[name] = {**own.get(name, {}), **values}
    return Settings.model_validate(own)


@contextmanager
def client_of(
    folder: Path, *, token: str | None = None, libraries: Libraries | None = None, **sections: Any
) -> Iterator[TestClient]:
    """A client of a server without a port: the app, started and stopped."""
    app = create_app(settings_at(folder, **sections), token=token, libraries=libraries)
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        yield client


@dataclass(frozen=True, slots=True)
class Serving:
    base_url: str
    app: Any
    server: uvicorn.Server


@contextmanager
def served(
    folder: Path, *, token: str | None = None, libraries: Libraries | None = None, **sections: Any
) -> Iterator[Serving]:
    """A real server on a free port of this machine, where the wire matters."""
    app = create_app(settings_at(folder, **sections), token=token, libraries=libraries)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        config = uvicorn.Config(
            app, http=Connection, log_level="error", timeout_graceful_shutdown=3
        )
        started = threading.Event()
        server = Server(config, app.state.served, started.set)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        assert started.wait(30), "the server did not start"
        try:
            yield Serving(f"http://127.0.0.1:{port}", app, server)
        finally:
            server.should_exit = True
            thread.join(60)  # on a slow machine suggestions are still being made
            assert not thread.is_alive(), "the server did not stop"
