"""A person's documents, made searchable."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.library.library import Library
    from secondlook.library.report import Text

__all__ = ["Library", "Text"]


def __getattr__(name: str) -> object:
    if name == "Library":
        from secondlook.library.library import Library

        return Library
    if name == "Text":
        from secondlook.library.report import Text

        return Text
    raise AttributeError(f"module 'secondlook.library' has no attribute {name!r}")
