"""What a hostile web page, a stranger on the network or a broken client gets to see."""

from __future__ import annotations

import asyncio
import json
import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import httpx
import pytest
from mcp import Client

from secondlook.server.security import COOKIE, HEADERS, Security, Token
from tests.support.serving import BASE, Serving, client_of, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi.testclient import TestClient


TOKEN = "a token of sufficient length"  # noqa: S105  # of a test
ASK = {"question": "How deep is berth 4?"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with client_of(tmp_path_factory.mktemp("open")) as made:
        yield made


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with client_of(tmp_path_factory.mktemp("locked"), token=TOKEN) as made:
        yield made


def code(reply: Any) -> tuple[int, str]:
    assert reply.headers["content-type"] == "application/problem+json", reply.text
    told = reply.json()
    assert told["status"] == reply.status_code
    assert told["type"].endswith(told["code"])
    assert told["detail"]
    return reply.status_code, told["code"]


def test_whatever_a_server_that_stops_was_doing_is_told_so() -> None:
    told: list[Any] = []

    async def working(*_: Any) -> None:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        told.append(message)

    async def stopped() -> None:
        app = Security(working, guard=cast("Any", SimpleNamespace(refuses=lambda _: None)))
        scope = {"type": "http", "path": "/api/ask", "method": "POST", "headers": []}
        task = asyncio.ensure_future(app(scope, cast("Any", working), send))
        await asyncio.sleep(0)
        task.cancel()
        await task

    asyncio.run(stopped())
    assert told[0]["status"] == 503
    assert json.loads(told[1]["body"])["code"] == "stopping"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "",
        "[::1]evil.example",
        "localhost.",
        "localhost:8765:80",
        "192.168.0.7:8765",
        "localhost:x",
        "localhost/api",
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/health", "/api/runs", "/mcp", "/docs"])
def test_another_name_for_this_machine_is_refused(client: TestClient, host: str, path: str) -> None:
    """A page that makes its own name point here gets nothing (DNS rebinding)."""
    assert code(client.get(path, headers={"host": host})) == (421, "host_not_allowed")


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://127.0.0.1:9999",
        "http://127.0.0.1:8765.evil.example",
        "file://",
        "ftp://127.0.0.1:8765",
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/api/runs"), ("POST", "/api/ask"), ("POST", "/mcp"), ("GET", "/")]
)
def test_a_foreign_origin_is_refused(
    client: TestClient, origin: str, method: str, path: str
) -> None:
    body = {"json": ASK} if method == "POST" else {}
    reply = client.request(method, path, headers={"origin": origin}, **body)  # type: ignore[arg-type]
    assert code(reply) == (403, "origin_not_allowed")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_site_loads_is_refused(client: TestClient, site: str) -> None:
    """An image or a script of another page: it has no origin, and a browser says whence it is."""
    for mode in ("no-cors", "navigate"):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": mode}
        assert code(client.get("/api/runs", headers=headers)) == (403, "origin_not_allowed")
    no_cors = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
    assert code(client.get("/", headers=no_cors)) == (403, "origin_not_allowed")


@pytest.mark.parametrize(
    "kind", ["text/plain", "multipart/form-data; boundary=x", "", "text/plain; application/json"]
)
@pytest.mark.parametrize("path", ["/api/ask", "/api/runs/x/cancel", "/mcp", "/api/session"])
def test_what_a_foreign_form_can_send_is_refused(client: TestClient, kind: str, path: str) -> None:
    reply = client.post(path, content=json.dumps(ASK), headers={"content-type": kind})
    assert code(reply) == (415, "content_type_not_allowed")


def test_an_upload_says_that_it_is_ours(client: TestClient) -> None:
    files = {"files": ("note.txt", b"The quay is 7 metres deep.")}
    path = "/api/libraries/default/documents"
    assert code(client.post(path, files=files)) == (415, "content_type_not_allowed")
    assert client.post(path, files=files, headers={"X-Secondlook": "1"}).status_code == 202
    assert client.post(path, files=files, headers={"origin": BASE}).status_code == 202


# Tokens


@pytest.mark.parametrize("path", ["/api/runs", "/v1/models", "/mcp", "/metrics", "/anything"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": TOKEN},
        {"cookie": f"secondlook={TOKEN}"},
        {"cookie": "=;;;"},
    ],
)
def test_without_the_token_nothing_is_told(
    locked: TestClient, path: str, headers: dict[str, str]
) -> None:
    reply = locked.get(path, headers=headers)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    if not path.startswith("/v1"):  # errors in the form of OpenAI
        assert code(reply) == (401, "token_needed")


def test_every_operation_asks_for_the_token(locked: TestClient) -> None:
    """Whatever is added later, too."""
    document = locked.get("/openapi.json", headers={"authorization": f"Bearer {TOKEN}"}).json()
    open_ones = {"/api/health", "/api/session"}
    for path, operations in document["paths"].items():
        for method in operations:
            reply = locked.request(method, path)
            expected = {200, 204, 405, 415, 422} if path in open_ones else {401}
            assert reply.status_code in expected, (method, path)


def test_a_refused_method_names_every_one_that_there_is(tmp_path: Path) -> None:
    with client_of(tmp_path) as client:
        reply = client.request(
            "PATCH", "/api/libraries/default/documents", headers={"X-Secondlook": "1"}
        )
    assert code(reply) == (405, "method_not_allowed")
    assert reply.headers["allow"] == "GET, POST"


def test_a_browser_gets_a_cookie_for_it(tmp_path: Path) -> None:
    with client_of(tmp_path, token=TOKEN) as client:
        wrong = client.post("/api/session", json={"token": "another"})
        assert code(wrong) == (401, "token_wrong")
        assert "set-cookie" not in wrong.headers
        signed_in = client.post("/api/session", json={"token": TOKEN})
        assert signed_in.status_code == 204
        cookie = signed_in.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert TOKEN not in cookie
        assert client.get("/api/runs").status_code == 200


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
    token = Token(TOKEN)
    assert token.admits(None, others.replace("{ours}", f"{COOKIE}={token.cookie}"))
    assert not token.admits(None, others.replace("{ours}", f"{COOKIE}={TOKEN}"))
    assert not token.admits(None, others.replace("{ours}", f"x{COOKIE}={token.cookie}"))


# Sizes and forms


def test_a_body_that_comes_drop_by_drop_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondlook.server.security._SECONDS_TO_SEND", 0.2)
    with served(tmp_path) as server:
        port = port_of(server)
        with socket.create_connection(("127.0.0.1", port), timeout=20) as slow:
            slow.sendall(
                b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
            )
            assert b"408" in slow.recv(100)


# What leads out of the folders that are open


def test_a_link_leads_nobody_out_of_the_open_folders(tmp_path: Path) -> None:
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
    assert {one["name"] for one in found["documents"] if one["status"] == "ready"} == {"plain.md"}


# Names


@pytest.mark.parametrize("path", ["/", "/api/health", "/docs", "/api/nothing", "/api/ask"])
def test_every_reply_says_what_a_browser_may_do_with_it(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert {name: headers[name] for name in HEADERS} == HEADERS
    if path.startswith("/api"):
        assert headers["cache-control"] == "no-store"


def test_who_never_says_what_it_wants_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondlook.server.app._SECONDS_TO_ASK", 0.3)
    whole = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with served(tmp_path) as server:
        port = port_of(server)
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


def port_of(server: Serving) -> int:
    return int(server.base_url.rpartition(":")[2])


def test_a_large_body_is_refused_before_it_is_read(client: TestClient) -> None:
    question = json.dumps({"question": "x" * (1 << 20)})
    reply = client.post("/api/ask", content=question, headers={"content-type": "application/json"})
    assert code(reply) == (413, "body_too_large")
