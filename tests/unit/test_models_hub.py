"""Models from a hub: a mirror on loopback that speaks the hub's protocol."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import ModelError, ModelUnavailable, UsageError
from secondlook.models import hub
from tests.support.model_desk import desk_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENT = b"GGUF" + bytes(range(256)) * 10_000
SHA = "a" * 40


@dataclass(slots=True)
class Mirror:
    files: dict[str, bytes]
    promised: str = ""
    """A hash that is not that of the file."""
    left: int = 1 << 40
    """Bytes that it serves; then connections end."""
    asked: list[str] = field(default_factory=list)
    """Ranges of the files that were asked for."""
    address: str = ""

    def info(self) -> dict[str, Any]:
        siblings = [
            {
                "rfilename": name,
                "size": len(content),
                "lfs": {
                    "sha256": self.promised or hashlib.sha256(content).hexdigest(),
                    "size": len(content),
                    "pointerSize": 100,
                },
            }
            for name, content in self.files.items()
        ]
        return {"id": "some/Model", "sha": SHA, "siblings": siblings, "tags": []}


class Handler(BaseHTTPRequestHandler):
    mirror: Mirror

    def do_GET(self) -> None:
        if self.path.startswith("/api/models/some/Model"):
            body = json.dumps(self.mirror.info()).encode()
            self.reply(body, {"Content-Type": "application/json"})
        else:
            self.file(is_head=False)

    def do_HEAD(self) -> None:
        self.file(is_head=True)

    def file(self, *, is_head: bool) -> None:
        content = self.mirror.files.get(self.path.rpartition("/")[2])
        if content is None or "some/Model" not in self.path:
            self.reply(b"", {"X-Error-Code": "RepoNotFound"}, 404)
            return
        span = self.headers.get("Range", "")
        first = int(found[1]) if (found := re.match(r"bytes=(\d+)-", span)) else 0
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": SHA}
        if first:
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        if not is_head:
            self.mirror.asked.append(span)
        self.reply(content[first:], headers, 206 if first else 200, is_head=is_head)

    def reply(
        self, body: bytes, headers: dict[str, str], status: int = 200, *, is_head: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if not is_head:
            self.wfile.write(body[: self.mirror.left])
            self.mirror.left = max(0, self.mirror.left - len(body))

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def served(mirror: Mirror) -> Iterator[Mirror]:
    handler = type("Handler", (Handler,), {"mirror": mirror})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    mirror.address = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield mirror
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    files = {"model-Q4_K_M.gguf": CONTENT, "model-Q8_0.gguf": CONTENT * 2, "README.md": b"#"}
    with served(Mirror(files)) as one:
        monkeypatch.setenv("HF_ENDPOINT", one.address)
        yield one


def test_a_model_is_fetched_once_and_checked(mirror: Mirror, tmp_path: Path) -> None:
    file = hub.described("some/Model")
    assert (file.path, file.size) == ("model-Q4_K_M.gguf", len(CONTENT))
    path = hub.fetched(file, tmp_path)
    assert path.read_bytes() == CONTENT
    assert [one.name for one in tmp_path.iterdir()] == ["model-Q4_K_M.gguf"]
    asked = len(mirror.asked)
    assert hub.fetched(file, tmp_path) == path
    assert len(mirror.asked) == asked


def test_a_fetch_that_broke_off_goes_on(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "time.sleep", lambda _: None
    )  # the hub's client waits before it tries again
    file = hub.described("some/Model")
    mirror.left = 1_200_000
    with pytest.raises(ModelUnavailable, match="could not be fetched"):
        hub.fetched(file, tmp_path)
    assert not list(tmp_path.glob("*.gguf"))
    mirror.left = 1 << 40
    assert hub.fetched(file, tmp_path).read_bytes() == CONTENT
    assert re.fullmatch(r"bytes=[1-9]\d{5,}-", mirror.asked[-1])


def test_another_content_is_not_kept(mirror: Mirror, tmp_path: Path) -> None:
    mirror.promised = "0" * 64
    with pytest.raises(ModelError, match="not the file that the hub describes"):
        hub.fetched(hub.described("some/Model"), tmp_path)
    assert not list(tmp_path.rglob("*.gguf"))


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("some/Other", ModelError, "the hub gives no some/Other"),
        ("some/Model/none.gguf", ModelError, "holds no none.gguf"),
        ("nonsense", UsageError, "no model that can be fetched"),
        ("some/Model/notes.txt", UsageError, "no model that can be fetched"),
    ],
)
def test_what_cannot_be_fetched(
    mirror: Mirror, name: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        hub.described(name)
    assert not mirror.asked


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelUnavailable, match="could not be fetched"):
        hub.described("qwen3-4b")


def test_a_full_disk_is_told_before(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with pytest.raises(ModelError, match="left"):
        hub.fetched(hub.described("some/Model"), tmp_path)
    assert not mirror.asked


def test_fetched_by_a_command_and_found_by_doctor(
    mirror: Mirror,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    desk = desk_in(tmp_path, monkeypatch, capsys)
    found = desk.run("models", "get", "some/Model", "--json")
    assert found.code == 0, found.err
    spec = found.json["model"]
    assert spec.startswith("gguf:")
    assert "To ask with it" in found.err
    assert spec in desk.run("doctor").out
    assert desk.run("models", "get", "some/Other").code == 1
