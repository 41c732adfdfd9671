"""Local models out of a GGUF file, without a server: one worker process per model."""

from __future__ import annotations

from secondlook.models.gguf.chat import GgufChat
from secondlook.models.gguf.failures import UnusableModel

__all__ = ["GgufChat", "UnusableModel"]
