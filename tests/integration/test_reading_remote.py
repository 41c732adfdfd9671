"""Against a real HTTP server on this machine that speaks both protocols and really embeds: a
vector counts the text's letters, so a wrong order, a lost prefix or a lost text shows."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from secondlook.errors import ModelError, ModelUnavailable
from secondlook.reading import load_embedder
from secondlook.reading.embedders import RemoteEmbedder, open_remote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.reading.port import Vectors


def letters(text: str) -> list[float]:
    return [0.5 + text.lower().count(chr(97 + at)) for at in range(26)]


class Server(ThreadingHTTPServer):
    """Keeps what it was asked, and refuses or answers nonsense as often as a test says."""

    def __init__(self, *place: Any) -> None:
        super().__init__(*place)
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.refusals: list[tuple[int, dict[str, str]]] = []
        self.reply: bytes | None = None


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.server.refusals:
            code, headers = self.server.refusals.pop(0)
            self._send(code, {"error": f"refused with {code}"}, headers)
            return
        answers = {"/api/embed": self._ollama, "/v1/embeddings": self._openai}
        if self.server.reply is not None:
            self._raw(200, self.server.reply, {})
        elif self.path in answers:
            self._send(200, answers[self.path](body), {})
        else:
            self._send(404, {"error": "no such page"}, {})

    def _ollama(self, body: Any) -> Any:
        return {"model": body["model"], "embeddings": [letters(text) for text in body["input"]]}

    def _openai(self, body: Any) -> Any:
        rows = [
            {"object": "embedding", "index": at, "embedding": letters(text)}
            for at, text in enumerate(body["input"])
        ]
        return {"object": "list", "data": rows[::-1], "model": body["model"]}

    def _send(self, code: int, value: Any, headers: dict[str, str]) -> None:
        self._raw(code, json.dumps(value).encode(), headers)

    def _raw(self, code: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def unit(text: str) -> Vectors:
    vector = np.array(letters(text), np.float32)
    scaled: Vectors = vector / np.linalg.norm(vector)
    return scaled


@pytest.mark.parametrize("form", ["ollama:tiny@{}", "openai:tiny@{}/v1"])
def test_many_texts_come_back_in_order_as_unit_vectors(
    server: Server, address: str, form: str
) -> None:
    embedder = load_embedder(form.format(address))
    texts = [f"text {'abcdefg'[n % 7] * (n + 1)}" for n in range(150)]
    assert np.allclose(embedder.embed_passages(texts), [unit(text) for text in texts], atol=1e-6)
    assert [len(body["input"]) for _, _, body in server.requests] == [64, 64, 22]
    assert np.allclose(embedder.embed_query("query"), unit("query"), atol=1e-6)


def test_prefixes_reach_the_service(server: Server, address: str) -> None:
    embedder = open_remote("ollama", "nomic-embed-text", base_url=address)
    embedder.embed_passages(["", "half \ud800 pair"])
    embedder.embed_query("question")
    assert [text for _, _, body in server.requests for text in body["input"]] == [
        "search_document: ",
        "search_document: half \ufffd pair",
        "search_query: question",
    ]


def test_the_key_is_sent(server: Server, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "from the environment")
    open_remote("openai", "tiny").embed_query("x")
    open_remote("openai", "tiny", api_key="given").embed_query("x")
    keys = [headers["Authorization"] for _, headers, _ in server.requests]
    assert keys == ["Bearer from the environment", "Bearer given"]


def test_a_proxy_is_not_asked_about_this_machine(
    server: Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert open_remote("ollama", "tiny", base_url=address).dimensions == 26


def embedder_with_pauses(address: str) -> tuple[RemoteEmbedder, list[float]]:
    pauses: list[float] = []
    return RemoteEmbedder("ollama", "tiny", address, pause=pauses.append), pauses


def test_a_busy_service_is_asked_again(server: Server, address: str) -> None:
    server.refusals = [(429, {"Retry-After": "7"}), (503, {}), (500, {"Retry-After": "tomorrow"})]
    embedder, pauses = embedder_with_pauses(address)
    assert np.allclose(embedder.embed_query("x"), unit("x"), atol=1e-6)
    assert pauses == [7.0, 1.0, 2.0]


def test_patience_ends(server: Server, address: str) -> None:
    server.refusals = [(503, {"Retry-After": "9999"})] * 9
    embedder, pauses = embedder_with_pauses(address)
    with pytest.raises(ModelUnavailable, match="503") as raised:
        embedder.embed_query("x")
    assert "ollama serve" in (raised.value.hint or "")
    assert pauses == [20.0] * 3
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("code", "kind", "hint"),
    [
        (401, ModelUnavailable, "API key"),
        (404, ModelUnavailable, "ollama pull tiny"),
        (400, ModelError, None),
    ],
)
def test_a_refusal_that_will_not_change_is_not_repeated(
    server: Server, address: str, code: int, kind: type[ModelError], hint: str | None
) -> None:
    server.refusals = [(code, {})]
    embedder, pauses = embedder_with_pauses(address)
    with pytest.raises(kind, match=f"answered {code}") as raised:
        embedder.embed_query("x")
    assert (hint is None) == (raised.value.hint is None)
    assert (hint or "") in (raised.value.hint or "")
    assert pauses == []


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (b"<html>", "did not answer with JSON"),
        (b'{"unexpected": 1}', "in a form"),
        (b'{"embeddings": [[1, 2], [3, 4]]}', "2 vectors for 1 texts"),
        (b'{"embeddings": [[0, 0]]}', "no direction"),
    ],
)
def test_nonsense_from_the_service_is_an_error(
    server: Server, address: str, reply: bytes, says: str
) -> None:
    server.reply = reply
    embedder, _ = embedder_with_pauses(address)
    with pytest.raises(ModelError, match=says):
        embedder.embed_query("x")
