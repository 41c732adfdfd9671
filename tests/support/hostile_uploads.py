"""Uploads that were put together by hand: names, forms and ends that no browser would send."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support.library_http import LIBRARY, OWN

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tests.support.library_http import Client

BOUNDARY = "cut"
END = b"--cut--\r\n"
NAMES = (
    "../../../climbed.txt",
    "..\\..\\climbed.txt",
    "/etc/climbed.txt",
    "C:\\climbed.txt",
    "\\\\host\\share\\climbed.txt",
    "..%2f..%2fclimbed.txt",
    "uploads/.incoming-x/names.json",
    ".incoming-x",
    "..",
    ".",
    "",
    "/",
    "~/.ssh/authorized_keys",
    "write.lock",
    "library.json",
    "con.txt",
    "NUL",
    "a.txt:stream",
    "a.txt.",
    "A.TXT",
    "name\x00.txt",
    "name\u202etxt.exe",
    "\N{SNOWMAN}" * 300 + ".txt",
    "x" * 4000 + ".txt",
    "a." + "y" * 300,
    "e\u0301.txt",
    "\u00e9.txt",
    "\ufdfa.txt",
    "!/inside.txt",
    "a.zip!/inside.txt",
    "$(touch climbed).txt",
    "'; drop table files; --.txt",
    "<script>alert(1)</script>.txt",
    "-rf.txt",
)


def part(name: bytes | str, data: bytes, *, field: bytes = b"files") -> bytes:
    """A file of a form; quotes and ends of lines in its name are written as browsers do."""
    given = name.encode("utf-8", "surrogatepass") if isinstance(name, str) else name
    for bad, good in ((b'"', b"%22"), (b"\r", b"%0D"), (b"\n", b"%0A")):
        given = given.replace(bad, good)
    head = b'--cut\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n\r\n'
    return head % (field, given) + data + b"\r\n"


def sent(client: Client, body: bytes, *, boundary: str = BOUNDARY) -> Any:
    kind = f"multipart/form-data; boundary={boundary}"
    return client.post(f"{LIBRARY}/documents", content=body, headers={**OWN, "Content-Type": kind})


def broken(rng: random.Random, whole: Sequence[bytes]) -> bytes:
    """A form whose pieces are left out, doubled, moved, cut or changed."""
    pieces = [piece for piece in whole if rng.random() > 0.1]
    if rng.random() < 0.3:
        rng.shuffle(pieces)
    body = bytearray(b"".join(piece * rng.choice((1, 1, 1, 1, 1, 2)) for piece in pieces))
    for _ in range(rng.choice((0, 0, 1, 3))):
        at = rng.randrange(len(body) + 1)
        body[at : at + rng.randrange(4)] = rng.choice(_MARKS)
    return bytes(body[: rng.randrange(len(body) + 1)] if rng.random() < 0.2 else body)


_MARKS = (b"", b"\r\n", b"\n", b"--cut", b"--cut--", b"--", b"\x00", b'"', b";", b":", b"\xff\xfe")


def pieces(rng: random.Random) -> list[bytes]:
    """The lines of a form with a few files, which hold nothing that would be kept."""
    found: list[bytes] = []
    for _ in range(rng.randrange(1, 4)):
        name = rng.choice(NAMES).encode("utf-8", "replace")[:200]
        field = rng.choice((b"files", b"files", b"files", b"other", b""))
        content = rng.choice((b"", b" ", b"\x00" * 10, b"--cut", b"\r\n"))
        found += part(name, content, field=field).splitlines(keepends=True)
    return [*found, END]


@dataclass(frozen=True, slots=True)
class Wire:
    """A connection on which a test says what it likes, and leaves when it likes."""

    host: str
    port: int

    @classmethod
    def to(cls, base_url: str) -> Wire:
        host, _, port = base_url.removeprefix("http://").partition(":")
        return cls(host, int(port))

    def head(self, *lines: str) -> bytes:
        named = (
            f"POST {LIBRARY}/documents HTTP/1.1",
            f"Host: {self.host}:{self.port}",
            "X-Secondlook: 1",
            f"Content-Type: multipart/form-data; boundary={BOUNDARY}",
        )
        return "\r\n".join((*named, *lines, "", "")).encode()

    def leave_after(self, data: bytes, *, politely: bool) -> None:
        """Hangs up; politely: says first that nothing more comes, and reads what there is."""
        with socket.create_connection((self.host, self.port), timeout=30) as line:
            line.sendall(data)
            if politely:
                line.shutdown(socket.SHUT_WR)
                while line.recv(1 << 16):
                    pass
