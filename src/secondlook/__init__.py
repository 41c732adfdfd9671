"""Secondlook answers questions over your own documents, and looks twice before it answers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.app import Conversation, Secondlook, aask, ask, astream
    from secondlook.library import Library

__all__ = [
    "Answer",
    "Conversation",
    "Library",
    "Secondlook",
    "__version__",
    "aask",
    "ask",
    "astream",
]
__version__ = "0.1.0"

_ROOMS = {
    "Answer": "secondlook.answer",
    "Conversation": "secondlook.app",
    "Library": "secondlook.library",
    "Secondlook": "secondlook.app",
    "aask": "secondlook.app",
    "ask": "secondlook.app",
    "astream": "secondlook.app",
}


def __getattr__(name: str) -> object:
    # Engines take a second to import; `import secondlook` and `secondlook --help` must not wait.
    if name in _ROOMS:
        return getattr(importlib.import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'secondlook' has no attribute {name!r}")
