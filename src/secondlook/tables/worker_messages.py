"""How the worker process and its parent talk: JSON with its length in front, nothing to unpickle.

NaN and infinities are written as JSON's common extension, so that a table's numbers survive.
"""

from __future__ import annotations

import json
import struct
from typing import IO, Any

_LENGTH = struct.Struct("<Q")
_LONGEST = 1 << 30


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    body = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode()
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any]:
    """The next message. Raises EOFError when the other side is gone or speaks something else."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    if length > _LONGEST:
        raise EOFError(f"a message of {length:,} bytes")
    try:
        message = json.loads(_exactly(stream, length))
    except (ValueError, RecursionError) as error:
        raise EOFError("a message that is no JSON") from error
    if not isinstance(message, dict):
        raise EOFError("a message that is no object")  # noqa: TRY004 - as if it were gone
    return message


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data
