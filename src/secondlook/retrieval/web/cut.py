"""Pages and snippets as passages, cut like the documents of a library."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from secondlook.reading.approximate import approximate_starts
from secondlook.retrieval.chunk import DEFAULT_OPTIONS, ChunkOptions, chunk
from secondlook.retrieval.web.port import WebPassage

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.document import Extracted
    from secondlook.retrieval.web.port import WebResult

_ID_LENGTH = 16
_LONGEST_TITLE = 300
_LONGEST_SNIPPET = 2000
_NOT_STORABLE = re.compile("[\ud800-\udfff\x00]")


@dataclass(frozen=True, slots=True)
class Cutter:
    token_starts: Callable[[str], list[int]] = approximate_starts
    options: ChunkOptions = field(default=DEFAULT_OPTIONS)

    def page(self, url: str, extracted: Extracted, result: WebResult) -> list[WebPassage]:
        """The passages of a page, in its order."""
        text = _storable(extracted.text)
        document, digest, fetched = document_id(url), _digest(text), now()
        title = _title(extracted.title, result.title, url)
        return [
            WebPassage(
                id=f"{document}.{ordinal}",
                document=document,
                sha256=digest,
                url=url,
                title=title,
                text=text[span.start : span.end],
                start=span.start,
                end=span.end,
                fetched=fetched,
                heading=tuple(map(_storable, span.heading)),
            )
            for ordinal, span in enumerate(chunk(extracted, self.token_starts, self.options))
        ]


def snippet(url: str, result: WebResult, why: str) -> list[WebPassage]:
    """What the search engine showed of a page that could not be read; nothing where it did not."""
    text = " ".join(_storable(result.snippet).split())[:_LONGEST_SNIPPET].rstrip()
    if not text:
        return []
    document = document_id(url)
    return [
        WebPassage(
            id=f"{document}.0",
            document=document,
            sha256=_digest(text),
            url=url,
            title=_title(result.title, "", url),
            text=text,
            start=0,
            end=len(text),
            fetched=now(),
            unread=why,
        )
    ]


def document_id(url: str) -> str:
    return f"web-{_digest(url)[:_ID_LENGTH]}"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _storable(text: str) -> str:
    """One sign for one that no store takes, so that positions in the text stay right."""
    return _NOT_STORABLE.sub("\ufffd", text)


def _title(first: str | None, second: str, url: str) -> str:
    named = (" ".join(_storable(name or "").split()) for name in (first, second))
    return next(filter(None, named), urlsplit(url).hostname or url)[:_LONGEST_TITLE]
