"""What the web gives to the rest of the product: results of a search, and passages of pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from secondlook.passage import Passage


@dataclass(frozen=True, slots=True)
class WebResult:
    """One line of a search engine's answer. Nothing of it has been checked."""

    url: str
    title: str = ""
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class WebPassage:
    """A piece of a web page as it was read. `text` is the page's extracted text at [start, end)."""

    id: str  # the document's id, a dot, and the passage's place in the page
    document: str  # "web-" and the first 16 hex digits of the SHA-256 of the URL
    sha256: str  # of the page's extracted text in UTF-8
    url: str  # where the text came from in the end, after all redirects
    title: str
    text: str
    start: int
    end: int
    fetched: str  # when the page was read: ISO 8601, UTC
    heading: tuple[str, ...] = ()
    page: int | None = None
    score: float = 0.0  # BM25 against the query, among the passages that were found with it
    unread: str | None = None  # why; `text` then is the search engine's snippet

    @property
    def is_snippet(self) -> bool:
        return self.unread is not None

    def as_passage(self) -> Passage:
        shared = {name: getattr(self, name) for name in Passage.__dataclass_fields__}
        return Passage(**shared)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "heading": list(self.heading)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> WebPassage:
        return cls(**{**stored, "heading": tuple(stored["heading"])})


class SearchEngine(Protocol):
    async def search(self, query: str, *, results: int) -> list[WebResult]: ...


class WebSearch(SearchEngine, Protocol):
    async def find(self, query: str) -> list[WebPassage]:
        """Passages of the pages found, best by words first. Raises `WebSearchError`."""

    async def aclose(self) -> None: ...
