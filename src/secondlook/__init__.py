"""Secondlook answers questions over your own documents, and looks twice before it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.library import Library

__all__ = ["Library", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # Engines take a second to import; `import secondlook` and `secondlook --help` must not wait.
    if name == "Library":
        from secondlook.library import Library

        return Library
    raise AttributeError(f"module 'secondlook' has no attribute {name!r}")
