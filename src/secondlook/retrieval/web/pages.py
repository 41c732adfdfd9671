"""From the bytes of a page to its text, in the parser's own process, where a crash, a hang or a
bomb costs one page. The bytes pass through a temporary file with a name of ours."""

from __future__ import annotations

import hashlib
import math
import re
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from secondlook.errors import WebSearchError
from secondlook.reading.embedders import approximate_starts
from secondlook.retrieval.chunk import DEFAULT_OPTIONS, ChunkOptions, chunk, with_context
from secondlook.retrieval.parse.pool import ParserPool
from secondlook.retrieval.parse.source import ParseLimits, is_text
from secondlook.retrieval.terms import query_terms, terms
from secondlook.retrieval.web.fetch import Fetched, as_utf8
from secondlook.retrieval.web.port import WebPassage, WebResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.document import Extracted

ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8"
_NAMES = {
    "text/html": "page.html", "application/xhtml+xml": "page.html", "application/pdf": "page.pdf",
    "application/x-pdf": "page.pdf", "text/plain": "page.txt", "text/markdown": "page.md",
    "": "page",
}  # fmt: skip
_KINDS = frozenset({"html", "text", "markdown", "pdf"})
_OK = 200


def check_readable(fetched: Fetched) -> None:
    if fetched.status != _OK:
        raise WebSearchError(f"the server answered with status {fetched.status}")
    if fetched.content_type not in _NAMES:
        raise WebSearchError(f"it is {fetched.content_type[:80]!r}, not a page or a PDF")
    if not fetched.body.strip():
        raise WebSearchError("the page is empty")
    if not _is_pdf(fetched.body) and not is_text(fetched.body[: (64 << 10)]):
        raise WebSearchError("it calls itself a page but holds binary data")


def _is_pdf(body: bytes) -> bool:
    return b"%PDF-" in body[:1024]


class PageReader:
    def __init__(self, *, seconds: float, body_bytes: int) -> None:
        # A byte of an old charset may become four in UTF-8, and its mark stands in front.
        limits = ParseLimits(
            idle_seconds=seconds,
            total_seconds=seconds,
            file_bytes=4 * body_bytes + 4,
            members=1,
            text_chars=5_000_000,
            expanded_bytes=64 << 20,
            pages=1000,
            memory_bytes=2 << 30,
            ocr="off",
        )
        self._pool = ParserPool(1, limits)
        # The pool serves one caller at a time.
        self._turn = threading.Lock()

    def read(self, fetched: Fetched) -> Extracted:
        """Blocks. Raises `WebSearchError` where there is no text to be had."""
        check_readable(fetched)
        body = fetched.body
        body = body if _is_pdf(body) else as_utf8(body, fetched.charset)
        with tempfile.TemporaryDirectory(prefix="secondlook-web-") as folder:
            path = Path(folder) / _NAMES[fetched.content_type]
            path.write_bytes(body)
            try:
                with self._turn:
                    parsed = [one for _, found in self._pool.parse([(0, path)]) for one in found]
            except (OSError, ValueError) as error:  # the pool was closed meanwhile
                raise WebSearchError(f"the page could not be parsed: {error}") from error
        for one in parsed:
            if one.extracted is not None and one.extracted.kind in _KINDS:
                return one.extracted
        reason = next((one.error for one in parsed if one.error), None)
        raise WebSearchError(f"it holds no text to read: {reason or 'of no known kind'}")

    def close(self) -> None:
        self._pool.close()


# Pages and snippets as passages, cut like the documents of a library.

_NOT_STORABLE = re.compile("[\ud800-\udfff\x00]")


@dataclass(frozen=True, slots=True)
class Cutter:
    token_starts: Callable[[str], list[int]] = approximate_starts
    options: ChunkOptions = field(default=DEFAULT_OPTIONS)

    def page(self, url: str, extracted: Extracted, result: WebResult) -> list[WebPassage]:
        text = _storable(extracted.text)
        first = _passage(url, text, _title(extracted.title, result.title, url))
        return [
            replace(
                first,
                id=f"{first.document}.{ordinal}",
                text=text[span.start : span.end],
                start=span.start,
                end=span.end,
                heading=tuple(map(_storable, span.heading)),
            )
            for ordinal, span in enumerate(chunk(extracted, self.token_starts, self.options))
        ]


def snippet(url: str, result: WebResult, why: str) -> list[WebPassage]:
    """What the search engine showed of a page that could not be read; nothing where it did not."""
    text = " ".join(_storable(result.snippet).split())[:2000].rstrip()
    return [replace(_passage(url, text, _title(result.title, "", url)), unread=why)] if text else []


def _passage(url: str, text: str, title: str) -> WebPassage:
    document, fetched = document_id(url), datetime.now(UTC).isoformat(timespec="seconds")
    digest = _digest(text)
    return WebPassage(f"{document}.0", document, digest, url, title, text, 0, len(text), fetched)


def document_id(url: str) -> str:
    return f"web-{_digest(url)[:16]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _storable(text: str) -> str:
    """One sign for one that no store takes, so that positions in the text stay right."""
    return _NOT_STORABLE.sub("\ufffd", text)


def _title(first: str | None, second: str, url: str) -> str:
    named = (" ".join(_storable(name or "").split()) for name in (first, second))
    return next(filter(None, named), urlsplit(url).hostname or url)[:300]


# Best passages first, by words: a page has dozens of passages, and the reader's time is dear.

_SATURATION = 1.2
_LENGTH_SHARE = 0.75
_EACH_PAGE = 12


def best_first(
    passages: Sequence[WebPassage], query: str, *, language: str, keep: int
) -> list[WebPassage]:
    """At most `keep` passages with their scores; equal ones in the order given. No page crowds out
    the others: each may give its share, and twelve in any case."""
    counts = [
        Counter(terms(with_context(one.title, one.heading, one.text), language)) for one in passages
    ]
    scores = _bm25(counts, set(query_terms(query, language)))
    scored = [replace(one, score=score) for one, score in zip(passages, scores, strict=True)]
    share = max(_EACH_PAGE, keep // max(1, len({one.document for one in passages})))
    taken: Counter[str] = Counter()
    kept = []
    for one in sorted(scored, key=lambda passage: -passage.score):
        taken[one.document] += 1
        if taken[one.document] <= share:
            kept.append(one)
    return kept[:keep]


def _bm25(counts: Sequence[Counter[str]], asked: set[str]) -> list[float]:
    mean = max(1.0, sum(count.total() for count in counts) / max(1, len(counts)))
    rarity: dict[str, float] = {}
    for term in sorted(asked):  # sums of floats depend on their order, that of a set on the process
        holding = sum(term in count for count in counts)
        rarity[term] = math.log(1 + (len(counts) - holding + 0.5) / (holding + 0.5))
    scores = []
    for count in counts:
        damped = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * (count.total() / mean))
        found = ((weight, count[term]) for term, weight in rarity.items())
        scores.append(sum(w * (n * (_SATURATION + 1) / (n + damped)) for w, n in found))
    return scores
