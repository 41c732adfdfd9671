"""What the small local models do for the rest of the product: strings in, numbers out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Choose: TypeAlias = "Callable[[Sequence[float]], Sequence[int]]"
"""The glance's relevance of each passage -> places of those that are worth a look."""


class Embedder(Protocol):
    """Turns text into unit vectors whose dot product is a similarity."""

    @property
    def name(self) -> str:
        """What a library records about who made its vectors: "secondlook-embedder-1@3f2a9c0d11ee".
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
    """What one look at a question and a passage yields. Scores are raw logits. A passage may be
    glanced at only: then `looked` is False, the relevance is a first guess and nothing else means
    anything."""

    relevance: float
    answerable: float
    start: int
    end: int  # The best answer span: characters [start, end) of the passage; start == end when none
    span_score: float  # Start plus end logit of the best span
    null_score: float  # The same for "no answer here"; span_score - null_score is the margin
    windows: int = 1  # Over how many windows a long passage was read
    looked: bool = True
    glance: float | None = None
    """The first guess at the relevance; None of a reader that looks at once."""


def glimpse(relevance: float, *, windows: int = 1) -> Reading:
    """What a glance alone yields."""
    return Reading(relevance, 0.0, 0, 0, 0.0, 0.0, windows=windows, looked=False, glance=relevance)


class Reader(Protocol):
    @property
    def name(self) -> str: ...

    def read(
        self, question: str, passages: Sequence[str], *, choose: Choose | None = None
    ) -> list[Reading]:
        """One reading per passage, in the order given. Deterministic. All are looked at, or, where
        `choose` is given, those that it chooses by a glance at each; of equal passages all are
        chosen where one is. A reader that cannot glance looks at all of them and asks nobody."""


class Judge(Protocol):
    """Tells how far texts support claims: what a reader with a support head does besides."""

    @property
    def name(self) -> str: ...

    @property
    def judges(self) -> bool:
        """Whether it can: weights may come without the head for it."""

    def judge(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        """A raw logit for each (claim, evidence), in the order given. Deterministic."""
