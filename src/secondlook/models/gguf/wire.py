"""Messages between a model's worker and us: JSON with its length in front.

JSON and not pickle, because the worker reads files that strangers made.
"""

from __future__ import annotations

import json
import struct
from typing import IO, Any

LENGTH = struct.Struct("<I")


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    body = json.dumps(message).encode("ascii")
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any]:
    """The next message. Raises EOFError when the other side is gone."""
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    message = json.loads(_exactly(stream, length))
    if not isinstance(message, dict):
        raise ValueError(f"expected an object, got {message!r}")  # noqa: TRY004 - bad data, not a bug
    return message


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data
