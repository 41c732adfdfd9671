"""What the small local models do for the rest of the product. They take strings, nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns text into unit vectors whose dot product is a similarity."""

    @property
    def name(self) -> str:
        """What a library records about who made its vectors, e.g. "gte-small@3f2a9c0d11ee".
        Equal names mean exchangeable vectors."""

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """Longer passages are cut; chunking stays below it."""

    def token_starts(self, text: str) -> list[int]:
        """Character offset of each token's start, for counting tokens while chunking."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors: ...

    def embed_query(self, text: str) -> Vectors: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What one look at a question and a passage yields. Scores are raw logits."""

    relevance: float
    answerable: float
    start: int
    end: int
    """The best answer span: characters [start, end) of the passage; start == end when none."""
    span_score: float
    """Start plus end logit of the best span."""
    null_score: float
    """The same for "no answer here"; span_score - null_score is the margin."""
    windows: int = 1
    """Over how many windows a long passage was read."""


class Reader(Protocol):
    @property
    def name(self) -> str: ...

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """One reading per passage, in the order given. Deterministic."""
