"""txtai: an embeddings index with vectors from outside, dense and hybrid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from txtai import Embeddings

from benchmarks.peers_contract import WANTED, Mode, Part, System

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from benchmarks.peers_contract import Embedding, Text, Vectors


class Index:
    def __init__(
        self, texts: Sequence[Text], embedding: Embedding, folder: Path, *, hybrid: bool
    ) -> None:
        self._texts, self._folder, self._hybrid = texts, folder, hybrid
        self._transform = transform_of(embedding)
        self._embeddings: Any = None

    def build(self) -> None:
        self._embeddings = Embeddings(
            method="external", transform=self._transform, hybrid=self._hybrid
        )
        self._embeddings.index((text.id, text.whole, None) for text in self._texts)

    def save(self) -> None:
        # The function that embeds cannot be written to disk; txtai asks for it again on loading.
        self._embeddings.config.pop("transform", None)
        self._embeddings.save(str(self._folder / ("hybrid" if self._hybrid else "dense")))

    def search(self, question: str) -> list[str]:
        return [str(name) for name, _ in self._embeddings.search(question, WANTED)]


def transform_of(embedding: Embedding) -> Callable[[list[str]], Vectors]:
    """One function for passages and questions alike; txtai does not say which it asks for."""

    def transform(texts: list[str]) -> Vectors:
        return embedding.passages(texts)

    return transform


def make(texts: Sequence[Text], embedding: Embedding, folder: Path) -> System:
    dense = Index(texts, embedding, folder, hybrid=False)
    hybrid = Index(texts, embedding, folder, hybrid=True)
    return System(
        parts={
            "dense": Part(dense.build, dense.save),
            "hybrid": Part(hybrid.build, hybrid.save),
        },
        modes={
            "dense": Mode(("dense",), dense.search),
            "hybrid": Mode(("hybrid",), hybrid.search),
        },
        distributions=("txtai", "faiss-cpu"),
        passages=lambda: len(texts),
    )
