"""From the bytes of a page to its text, in the parser's own process.

What a stranger wrote is parsed where a crash, a hang or a bomb costs one page. The parser reads
files, so the bytes pass through a temporary one; its name is ours and says how they are read.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import ExtractionError, WebSearchError
from secondlook.retrieval.parse import ParseLimits, ParserPool
from secondlook.retrieval.parse.charset import is_text
from secondlook.retrieval.web.body import as_utf8

if TYPE_CHECKING:
    from secondlook.document import Extracted
    from secondlook.retrieval.parse import Parsed
    from secondlook.retrieval.web.fetch import Fetched

ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8"
_NAMES = {
    "text/html": "page.html",
    "application/xhtml+xml": "page.html",
    "application/pdf": "page.pdf",
    "application/x-pdf": "page.pdf",
    "text/plain": "page.txt",
    "text/markdown": "page.md",
    "": "page",
}
_KINDS = frozenset({"html", "text", "markdown", "pdf"})
_OK = 200
_PDF_WITHIN = 1024
_SNIFFED = 64 << 10
_MOST_PAGES = 1000
_MOST_CHARS = 5_000_000
_EXPANDED_BYTES = 64 << 20
_MEMORY_BYTES = 2 << 30
_FIRST_PAGE = b"<p>" + b"Long enough for its language to be told. " * 4
_CLOSING_TRIES = 100
_CLOSING_PAUSE = 0.01
_GROWTH = 4
"""A byte of an old charset may become so many in UTF-8, and its mark stands in front."""


def check_readable(fetched: Fetched) -> None:
    """Raises `WebSearchError` where no text is to be expected of an answer."""
    if fetched.status != _OK:
        raise WebSearchError(f"the server answered with status {fetched.status}")
    if fetched.content_type not in _NAMES:
        raise WebSearchError(f"it is {fetched.content_type[:80]!r}, not a page or a PDF")
    if not fetched.body.strip():
        raise WebSearchError("the page is empty")
    if not _is_pdf(fetched.body) and not is_text(fetched.body[:_SNIFFED]):
        raise WebSearchError("it calls itself a page but holds binary data")


def _is_pdf(body: bytes) -> bool:
    return b"%PDF-" in body[:_PDF_WITHIN]


class PageReader:
    """One parser process, started for the first page and kept until `close`."""

    def __init__(self, *, seconds: float, body_bytes: int) -> None:
        limits = ParseLimits(
            idle_seconds=seconds,
            total_seconds=seconds,
            file_bytes=_GROWTH * body_bytes + _GROWTH,
            text_chars=_MOST_CHARS,
            members=1,
            expanded_bytes=_EXPANDED_BYTES,
            pages=_MOST_PAGES,
            memory_bytes=_MEMORY_BYTES,
            ocr="off",
        )
        self._pool = ParserPool(1, limits)
        # The pool serves one caller at a time.
        self._turn = threading.Lock()
        self._is_started = threading.Event()

    def read(self, fetched: Fetched) -> Extracted:
        """Blocks. Raises `WebSearchError` where there is no text to be had."""
        check_readable(fetched)
        body = fetched.body
        body = body if _is_pdf(body) else as_utf8(body, fetched.charset)
        return _only_text(self._parse_bytes(body, _NAMES[fetched.content_type]))

    def warm_up(self) -> None:
        """Starts the process beside the search: it takes about as long as a search does."""
        threading.Thread(target=self._start, name="secondlook-web", daemon=True).start()

    def close(self) -> None:
        """Ends the process, busy or not."""
        for _ in range(_CLOSING_TRIES):
            try:
                self._pool.close()
            except RuntimeError:
                # The pool is just hiring: a thread that has not started yet cannot be joined.
                time.sleep(_CLOSING_PAUSE)
            else:
                return

    def _start(self) -> None:
        if not self._is_started.is_set():
            self._is_started.set()
            # What goes wrong here goes wrong again, and is told, where a page is read.
            with contextlib.suppress(WebSearchError, OSError):
                self._parse_bytes(_FIRST_PAGE, "page.html")

    def _parse_bytes(self, body: bytes, name: str) -> list[Parsed]:
        with tempfile.TemporaryDirectory(prefix="secondlook-web-") as folder:
            path = Path(folder) / name
            path.write_bytes(body)
            return self._parse(path)

    def _parse(self, path: Path) -> list[Parsed]:
        try:
            with self._turn:
                return [parsed for _, found in self._pool.parse([(0, path)]) for parsed in found]
        except (OSError, ValueError) as error:  # the pool was closed meanwhile
            raise WebSearchError(f"the page could not be parsed: {error}") from error


def _only_text(parsed: list[Parsed]) -> Extracted:
    error: ExtractionError | None = None
    for document in parsed:
        error = error or document.error
        if document.extracted is not None and document.extracted.kind in _KINDS:
            return document.extracted
    raise WebSearchError(f"it holds no text to read: {error or 'of no known kind'}")
