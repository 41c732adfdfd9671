"""A mirror of the hub of models, on loopback; as slow or as faulty as a test wants it."""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

CONTENT = b"GGUF" + bytes(range(256)) * 10_000
SHA = "a" * 40
_TRICKLE = 4096


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
    quick: int = 1 << 40
    """Bytes of a reply that come at once; the rest trickles until `hurries` is set."""
    hurries: Event = field(default_factory=Event)

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


class _Handler(BaseHTTPRequestHandler):
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
            sent = body[: self.mirror.left]
            quick = len(sent) if self.mirror.hurries.is_set() else self.mirror.quick
            self.wfile.write(sent[:quick])
            for at in range(quick, len(sent), _TRICKLE):
                self.mirror.hurries.wait(0.1)
                self.wfile.write(sent[at : at + _TRICKLE])
            self.mirror.left = max(0, self.mirror.left - len(body))

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def mirrored(mirror: Mirror) -> Iterator[Mirror]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"mirror": mirror}))
    mirror.address = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield mirror
    finally:
        server.shutdown()
        server.server_close()
