"""Secondlook answers questions over your own documents, and looks twice before it answers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.engine.secondlook import Conversation, Graph, Secondlook, aask, ask, astream
    from secondlook.library.library import Library

__all__ = [
    "Answer",
    "Conversation",
    "Graph",
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
    "Conversation": "secondlook.engine.secondlook",
    "Graph": "secondlook.engine.secondlook",
    "Library": "secondlook.library.library",
    "Secondlook": "secondlook.engine.secondlook",
    "aask": "secondlook.engine.secondlook",
    "ask": "secondlook.engine.secondlook",
    "astream": "secondlook.engine.secondlook",
}


def __getattr__(name: str) -> object:
    # Engines take a second to import; `import secondlook` and `secondlook --help` must not wait.
    if name in _ROOMS:
        return getattr(importlib.import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'secondlook' has no attribute {name!r}")
