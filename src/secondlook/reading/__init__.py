"""The small local models. They take strings, nothing else; nothing is imported until used."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from secondlook.reading.port import Embedder, Reader

__all__ = ["load_embedder", "load_reader"]


@lru_cache(maxsize=4)
def load_embedder(
    spec: str = "embedded",
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    threads: int | None = None,
) -> Embedder:
    """One embedder per process and spec."""
    if spec == "embedded":
        from secondlook.reading.embedder import OnnxEmbedder

        return OnnxEmbedder(threads=threads)
    raise UsageError(f"unknown embedder {spec!r}")


@lru_cache(maxsize=2)
def load_reader(spec: str = "embedded", *, threads: int | None = None) -> Reader:
    """One reader per process and spec."""
    if spec == "embedded":
        from secondlook.reading.reader import OnnxReader

        return OnnxReader(threads=threads)
    raise UsageError(f"unknown reader {spec!r}", hint="the only reader is 'embedded'")
