"""GGUF files made by hand: enough of a head to be read, nothing that could be run."""

from __future__ import annotations

import struct
from typing import Any

_UINT32, _STRING, _ARRAY = 4, 8, 9


def gguf_bytes(entries: dict[str, Any], *, version: int = 3, magic: bytes = b"GGUF") -> bytes:
    """Whole numbers, texts, and lists of either."""
    head = magic + struct.pack("<IQQ", version, 0, len(entries))
    return head + b"".join(_text(key) + _typed(value) for key, value in entries.items())


def _text(value: str) -> bytes:
    data = value.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _kind(value: Any) -> int:
    return _STRING if isinstance(value, str) else _UINT32


def _bare(value: Any) -> bytes:
    return _text(value) if isinstance(value, str) else struct.pack("<I", value)


def _typed(value: Any) -> bytes:
    if not isinstance(value, list):
        return struct.pack("<I", _kind(value)) + _bare(value)
    kind = _kind(value[0]) if value else _UINT32
    return struct.pack("<IIQ", _ARRAY, kind, len(value)) + b"".join(map(_bare, value))
