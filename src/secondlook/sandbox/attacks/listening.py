"""Doors on this machine that an attack would knock at: it is seen from outside whether it did."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

HOST = "127.0.0.1"


class Listeners:
    """A TCP, a UDP and two unix sockets, and who of them was reached."""

    def __init__(self, folder: Path, name: str) -> None:
        self._reached: list[str] = []
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self.unix_path = str(folder / "door")
        self.abstract = name
        self._sockets = {
            "TCP": socket.create_server((HOST, 0)),
            "UDP": _datagrams(),
            "unix": _unix(self.unix_path),
            "abstract unix": _unix("\0" + name),
        }
        Path(self.unix_path).chmod(0o777)
        self._stopping, self._stop = socket.socketpair()
        for said, each in self._sockets.items():
            each.setblocking(False)  # noqa: FBT003  # its only parameter
            self._selector.register(each, selectors.EVENT_READ, said)
        self._selector.register(self._stopping, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def tcp_port(self) -> int:
        return int(self._sockets["TCP"].getsockname()[1])

    @property
    def udp_port(self) -> int:
        return int(self._sockets["UDP"].getsockname()[1])

    def reached(self) -> list[str]:
        """Since it was last asked."""
        with self._lock:
            names, self._reached = self._reached, []
        return names

    def _listen(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                self._answer(self._sockets[key.data], key.data)

    def _answer(self, door: socket.socket, name: str) -> None:
        # Whoever knocked may be gone again: that it knocked is what counts.
        with contextlib.suppress(OSError):
            if name == "UDP":
                door.recvfrom(1024)
            else:
                door.accept()[0].close()
        with self._lock:
            self._reached.append(name)

    def close(self) -> None:
        self._stop.send(b".")
        self._thread.join()
        self._selector.close()
        for each in (*self._sockets.values(), self._stop, self._stopping):
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _datagrams() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((HOST, 0))
    return made


def _unix(address: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(address)
    made.listen()
    return made
