"""Which headings and which page stand above a place in a document."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.document import Extracted

# What may follow a heading's words before the text under it: closing marks, an underline.
_AFTER_HEADING = re.compile(
    r"[ \t#=*_]*+(?:\n[ \t]*+(?:={2,}+|-{2,}+|~{2,}+)[ \t]*+(?=\n|\Z))?+\s*+"
)
_LONGEST_MARK = 8


class Outline:
    """The heading tree and page map of one document, made for questions by offset."""

    def __init__(self, document: Extracted) -> None:
        text = document.text
        self._pages = document.pages
        self._page_starts = [page.start for page in document.pages]
        self._levels = [heading.level for heading in document.headings]
        self._paths = _paths(document)
        self.starts = [_line_start(text, heading.start) for heading in document.headings]
        """Where each heading begins, with the marks before its words."""
        self.bodies = [_body(text, heading.end) for heading in document.headings]
        """Where the text under each heading begins."""

    def page(self, at: int) -> int | None:
        index = bisect_right(self._page_starts, at) - 1
        return self._pages[index].number if index >= 0 else None

    def path(self, start: int, end: int) -> tuple[str, ...]:
        """The headings in force where a passage's own words begin."""
        index = bisect_right(self.starts, start) - 1
        if index < 0:
            return ()
        if self.starts[index] == start:
            index = self._last_of_run(index, end)
        return self._paths[index]

    def rises(self, start: int, section: int) -> bool:
        """Whether the heading at `section` closes the section in which `start` lies."""
        here = bisect_right(self.starts, start) - 1
        there = bisect_right(self.starts, section) - 1
        if here < 0 or there < 0:
            return False
        return self._levels[there] < self._levels[here]

    def _last_of_run(self, index: int, end: int) -> int:
        """The innermost of the headings that follow one another without text between."""
        while index + 1 < len(self.starts) and self.starts[index + 1] <= self.bodies[index] < end:
            index += 1
        return index


def _paths(document: Extracted) -> list[tuple[str, ...]]:
    paths = []
    stack: list[tuple[int, str]] = []
    for heading in document.headings:
        while stack and stack[-1][0] >= heading.level:
            stack.pop()
        stack.append((heading.level, " ".join(document.text[heading.start : heading.end].split())))
        paths.append(tuple(words for _, words in stack if words))
    return paths


def _line_start(text: str, at: int) -> int:
    """The start of the heading's line where only marks such as "## " stand before its words."""
    line = text.rfind("\n", max(0, at - _LONGEST_MARK), at) + 1
    if line == 0 and at > _LONGEST_MARK:
        return at
    lead = text[line:at]
    return line + len(lead) - len(lead.lstrip())


def _body(text: str, heading_end: int) -> int:
    found = _AFTER_HEADING.match(text, heading_end)
    return found.end() if found else heading_end
