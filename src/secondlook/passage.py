"""Passages: pieces of a document's text with their exact place in it, and search hits."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Where a passage lies: `text[start:end]` of its document, its page and headings."""

    start: int
    end: int
    page: int | None = None  # Page on which the passage starts; None where the format has no pages
    heading: tuple[str, ...] = ()  # Headings above the passage, outermost first


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document. `text` is exactly the document's text at [start, end)."""

    id: str
    document: str  # Id of the document: the first 16 hex digits of the SHA-256 of its bytes
    sha256: str
    title: str
    text: str
    start: int
    end: int
    page: int | None = None
    heading: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found by a search, with every score that led to its place."""

    passage: Passage
    score: float  # What the hits are ordered by: fusion, or the blend of fusion and reranker
    fusion_score: float
    dense_rank: int | None = None  # 1 is best; None when the dense search did not return it
    dense_score: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None
    rerank_score: float | None = None
    """The reader's relevance logit; None when the passage was not reranked."""
