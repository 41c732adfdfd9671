"""Putting a document's text together, piece by piece, with exact maps of pages and headings."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.document import Extracted, Heading, Page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.retrieval.parse.source import Budget

PARAGRAPH = "\n\n"
DEEPEST_HEADING = 9

_SUSPECT = re.compile(
    r"[\x00-\x08\v\f\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
_LINE_ENDS = re.compile(r"[\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BLANK_LINES = re.compile(r"\n{3,}")


def clean(text: str) -> str:
    """NFC with "\\n" line ends, and without control characters or lone surrogates."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _SUSPECT.search(text):
        text = _UNWANTED.sub("", _LINE_ENDS.sub("\n", _paired(text)))
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _paired(text: str) -> str:
    """Halves of a surrogate pair that came in separately are joined; others are lost for good."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def tidy(text: str) -> str:
    """A clean block: no blanks at line ends, never more than one blank line."""
    text = "\n".join(line.rstrip() for line in clean(text).split("\n"))
    return _BLANK_LINES.sub(PARAGRAPH, text).strip("\n").rstrip()


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


@dataclass(slots=True)
class About:
    """What a file says about itself, as found; judged when the document is finished."""

    title: str | None = None
    author: str | None = None
    date: str | None = None
    notes: list[str] = field(default_factory=list)
    card: bool = False


class Composer:
    """Collects paragraphs, headings and pages; every offset it hands out is exact."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._pages: list[Page] = []
        self._page: tuple[int, int | None] | None = None
        self._after_line = -1
        self.about = About()

    def paragraph(self, text: str) -> None:
        self._append(one_line(text))

    def block(self, text: str) -> int:
        """Text whose line breaks mean something. Says where it begins."""
        return self._append(tidy(text))

    def line(self, text: str) -> None:
        """A row of a table or an item of a list: one line, close to the one before."""
        is_next = self._after_line == self._length and not self._at_page_start
        self._append(one_line(text), "\n" if is_next else PARAGRAPH)
        self._after_line = self._length

    def row(self, cells: Iterable[str]) -> None:
        self.line(" | ".join(cell for cell in map(one_line, cells) if cell))

    def end_lines(self) -> None:
        """What follows is another list or table."""
        self._after_line = -1

    def heading(self, level: int, text: str) -> None:
        words = one_line(text)
        if words:
            start = self._append(words)
            level = min(max(level, 1), DEEPEST_HEADING)
            self._headings.append(Heading(level, start, start + len(words)))

    def join(self, text: str, separator: str) -> None:
        """Goes on with the paragraph that was last added, be it on the page before."""
        self._append(one_line(text), separator)

    def mark_heading(self, level: int, start: int, end: int) -> None:
        """A heading inside of a block that was added at a known place."""
        self._headings.append(Heading(min(max(level, 1), DEEPEST_HEADING), start, end))

    def start_page(self, number: int) -> None:
        self.end_page()
        self._page = (number, None)

    def end_page(self) -> None:
        if self._page is not None:
            number, start = self._page
            start = self._length if start is None else start
            self._pages.append(Page(number, start, self._length))
        self._page = None

    @property
    def _at_page_start(self) -> bool:
        return self._page is not None and self._page[1] is None

    @property
    def length(self) -> int:
        return self._length

    def finish(self, kind: str) -> Extracted:
        self.end_page()
        about = self.about
        return Extracted(
            text="".join(self._parts),
            title=about.title,
            author=about.author,
            date=about.date,
            kind=kind,
            pages=tuple(self._pages),
            headings=tuple(sorted(self._headings, key=lambda item: item.start)),
            notes=tuple(about.notes),
            card=about.card,
        )

    def _append(self, text: str, separator: str = PARAGRAPH) -> int:
        if not text:
            self._budget.beat()
            return self._length
        if self._length:
            self._parts.append(separator)
            self._length += len(separator)
        start = self._length
        if self._page is not None and self._page[1] is None:
            self._page = (self._page[0], start)
        self._parts.append(text)
        self._length += len(text)
        self._budget.spend_chars(len(text))
        return start
