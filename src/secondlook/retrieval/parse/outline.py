"""The bookmarks of a PDF, as headings to look for on its pages."""

from __future__ import annotations

from typing import Any

from secondlook.retrieval.parse.compose import one_line

_MOST_BOOKMARKS = 20_000
_DEEPEST = 8


def outline_headings(document: Any) -> dict[int, dict[str, int]]:
    """Page index -> words of the heading in lower case without blanks -> its level."""
    found: dict[int, dict[str, int]] = {}
    try:
        for number, bookmark in enumerate(document.get_toc(max_depth=_DEEPEST)):
            if number >= _MOST_BOOKMARKS:
                break
            _note(bookmark, found)
    except (RuntimeError, ValueError):  # a broken outline costs the headings, not the text
        return found
    return found


def _note(bookmark: Any, found: dict[int, dict[str, int]]) -> None:
    destination = bookmark.get_dest()
    index = destination.get_index() if destination is not None else None
    key = heading_key(bookmark.get_title())
    if index is not None and index >= 0 and key:
        found.setdefault(index, {}).setdefault(key, bookmark.level + 1)


def heading_key(words: str) -> str:
    return one_line(words).lower().replace(" ", "")
