"""A library of a few passages: cut by hand, read by the real reader."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.errors import WebSearchError
from secondlook.passage import Hit, Passage
from secondlook.reading.languages import trained_for
from secondlook.retrieval.web.port import WebPassage

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from secondlook.reading.port import Choose, Reader, Reading
    from secondlook.retrieval.index.port import Filter
    from secondlook.retrieval.search import SearchOptions
    from secondlook.retrieval.web.port import WebResult

_LONGEST = 1_600
"""Characters of a passage, about what a library cuts."""


def passages_of(text: str, title: str = "Document") -> list[Passage]:
    """Pieces of a text, cut at the ends of lines."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    made: list[Passage] = []
    start = 0
    while start < len(text):
        end = _cut(text, start)
        if text[start:end].strip():
            name = f"{digest[:16]}.{len(made)}"
            piece = text[start:end]
            made.append(Passage(name, digest[:16], digest, title, piece, start, end))
        start = end
    return made


def _cut(text: str, start: int) -> int:
    end = start + _LONGEST
    if end >= len(text):
        return len(text)
    line = text.rfind("\n", start + 1, end)
    return line + 1 if line > start else end


@dataclass(frozen=True, slots=True)
class SmallShelf:
    held: Sequence[Passage]
    reader: Reader

    @property
    def reader_name(self) -> str:
        return self.reader.name

    @property
    def reader_languages(self) -> tuple[str, ...]:
        return trained_for(self.reader)

    def find(self, query: str, options: SearchOptions, where: Filter) -> list[Hit]:  # noqa: ARG002
        return [
            Hit(one, 1 / rank, 1 / rank, dense_rank=rank, lexical_rank=rank)
            for rank, one in enumerate(self.held, 1)
        ]

    def read(
        self,
        query: str,
        passages: Sequence[Passage],
        *,
        choose: Choose | None = None,
    ) -> list[Reading]:
        return self.reader.read(query, [one.text for one in passages], choose=choose)

    def read_text(self, query: str, text: str) -> Reading:
        return self.reader.read(query, [text])[0]

    def similarity(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [0.0 for _ in pairs]

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        return [[0.0] for _ in texts]

    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        return {one.id: one for one in self.held if one.id in set(ids)}

    def paths(self, documents: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        return dict.fromkeys(documents, ())

    def page(self, document: str, at: int) -> int | None:  # noqa: ARG002
        return None

    def size(self) -> tuple[int, int]:
        return len({one.document for one in self.held}), len(self.held)


@dataclass(slots=True)
class SmallPages:
    held: dict[str, WebPassage] = field(default_factory=dict)

    def put(self, passages: Sequence[WebPassage]) -> None:
        self.held.update((one.id, one) for one in passages)

    def get(self, ids: Sequence[str]) -> dict[str, WebPassage]:
        return {name: self.held[name] for name in ids if name in self.held}


@dataclass(frozen=True, slots=True)
class SmallWeb:
    """A web of one page."""

    text: str
    name: str = "one page"

    async def search(self, query: str, *, results: int) -> list[WebResult]:
        raise WebSearchError(f"only pages are to be had here, not {results} results for {query!r}")

    async def find(self, query: str) -> list[WebPassage]:  # noqa: ARG002
        return [
            WebPassage(
                id=f"web-{one.id}",
                document=f"web-{one.document}",
                sha256=one.sha256,
                url="https://example.org/page",
                title="Page",
                text=one.text,
                start=one.start,
                end=one.end,
                fetched="2026-01-01T00:00:00+00:00",
                score=1 / rank,
            )
            for rank, one in enumerate(passages_of(self.text), 1)
        ]

    async def aclose(self) -> None:
        """Nothing is open."""
