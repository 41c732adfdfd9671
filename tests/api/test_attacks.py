"""Attacks on the server that got through once, or that it must go on holding against."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
import uvicorn
from mcp import Client

from secondlook.server import app as connections
from secondlook.server.app import Connection, Server, create_app
from secondlook.server.security import COOKIE, Guard, Token, _host_name
from tests.support.serving import served, settings_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


SHOWN = "0123456789abcdef0123"
"""As conditions of one query they overflowed the stack of the index and ended the server."""


# What ended or held up the server


# Who comes


@pytest.mark.parametrize(
    "others",
    [
        'theme={"dark": true}; {ours}',
        "no equals sign; {ours}",
        "=; ; {ours}; list=[1, 2]",
        f"{COOKIE}=of-another-port; {{ours}}",
        f"{{ours}}; {COOKIE}=of-another-port",
    ],
)
def test_cookies_of_other_servers_of_this_machine_do_not_lock_out(others: str) -> None:
    token = Token(SHOWN)
    sent = others.replace("{ours}", f"{COOKIE}={token.cookie}")
    assert token.admits(None, sent)
    assert not token.admits(None, others.replace("{ours}", f"{COOKIE}={SHOWN}"))
    assert not token.admits(None, others.replace("{ours}", f"x{COOKIE}={token.cookie}"))


@pytest.mark.parametrize(
    "host",
    [
        "[::1]evil.example",
        "[::1].evil.example",
        "localhost.",
        "localhost:8765:80",
        "localhost#.evil.example",
        "",
    ],
)
def test_a_host_is_one_of_our_names_and_no_more(host: str) -> None:
    name = _host_name(host)
    assert name is None or not Guard().knows(name)


# What leads out of the folders that are open


def test_a_link_leads_nobody_out_of_the_open_folders(tmp_path: Path) -> None:
    """By MCP as by HTTP."""
    secret, root = tmp_path / "secret.md", tmp_path / "open"
    root.mkdir()
    secret.write_text("# Secret\n\nThe password is swordfish.\n", encoding="utf-8")
    (root / "plain.md").write_text("# Plain\n\nNothing to see.\n", encoding="utf-8")
    (root / "link.md").symlink_to(secret)

    async def add(base_url: str) -> None:
        async with Client(f"{base_url}/mcp") as mcp:
            await mcp.call_tool("add", {"paths": [str(root)]})

    with served(tmp_path, serve={"roots": [str(root)]}) as server:
        asyncio.run(add(server.base_url))
        found = httpx.get(f"{server.base_url}/api/libraries/default/documents").json()
    held = {one["name"] for one in found["documents"] if one["status"] == "ready"}
    assert held == {"plain.md"}


# Connections that want nothing


@contextmanager
def listening_server(folder: Path) -> Iterator[int]:
    """With the connections of `secondlook serve`."""
    app = create_app(settings_at(folder))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        started = threading.Event()
        config = uvicorn.Config(app, http=Connection, log_level="error")
        server = Server(config, app.state.served, started.set)
        thread = threading.Thread(target=server.run, args=([taken],), daemon=True)
        thread.start()
        assert started.wait(30)
        try:
            yield taken.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(15)


def test_who_never_says_what_it_wants_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_SECONDS_TO_ASK", 0.3)
    whole = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with listening_server(tmp_path) as port:
        for sent in (b"", b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nX: "):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as half:
                half.sendall(sent)
                assert hung_up(half)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as again:
            again.sendall(whole)
            assert b"200 OK" in again.recv(4096)
            again.sendall(whole[:-2])  # the second request of a connection that was good
            assert hung_up(again)


def hung_up(held: socket.socket) -> bool:
    """Whether the other side ends it, and not this side's patience."""
    try:
        while held.recv(4096):
            pass
    except ConnectionResetError:
        return True
    return True


# What a stranger's table does in a chart
