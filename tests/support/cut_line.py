"""A line between browser and server that a test can cut and mend."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator


class Line:
    """Passes bytes on to a server. While it is cut, every connection is closed at once."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._server = (str(parts.hostname), int(parts.port or 80))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._ends: set[socket.socket] = set()
        self._whole = True
        self.base_url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def cut(self) -> None:
        with self._lock:
            self._whole = False
            ends = list(self._ends)
        for end in ends:
            _shut(end)

    def mend(self) -> None:
        with self._lock:
            self._whole = True

    def serve(self) -> None:
        with contextlib.suppress(OSError):  # the line is taken down
            while True:
                self._connect(self._listening.accept()[0])

    def close(self) -> None:
        _shut(self._listening)
        self._listening.close()
        self.cut()

    def _connect(self, near: socket.socket) -> None:
        if not self._whole:
            near.close()
            return
        far = socket.create_connection(self._server)
        with self._lock:
            self._ends |= {near, far}
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
        _shut(other)
        with self._lock:
            self._ends.discard(one)
        one.close()


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def line_to(server: str) -> Iterator[Line]:
    line = Line(server)
    thread = threading.Thread(target=line.serve, daemon=True)
    thread.start()
    try:
        yield line
    finally:
        line.close()
        thread.join(10)
