"""Haystack: in-memory store, embedding retriever, and BM25 joined to it by rank fusion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from haystack import Document, Pipeline, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from benchmarks.peers_contract import DEEP, WANTED, Mode, Part, System, lasting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.peers_contract import Embedding, Text


@component
class SharedDocumentEmbedder:
    def __init__(self, shared: Embedding) -> None:
        self._shared = shared

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        vectors = self._shared.passages([document.content for document in documents])
        for document, vector in zip(documents, vectors.tolist(), strict=True):
            document.embedding = vector
        return {"documents": documents}


@component
class SharedTextEmbedder:
    def __init__(self, shared: Embedding) -> None:
        self._shared = shared

    @component.output_types(embedding=list[float])  # type: ignore[untyped-decorator]
    def run(self, text: str) -> dict[str, list[float]]:
        return {"embedding": self._shared.query(text).tolist()}


class Store:
    def __init__(self, texts: Sequence[Text], embedding: Embedding, folder: Path) -> None:
        self._texts, self._embedding, self._folder = texts, embedding, folder
        self._documents: Any = None

    def build(self) -> None:
        # Instance-local, so that an earlier build is freed.
        self._documents = InMemoryDocumentStore(shared=False)
        indexing = Pipeline()
        indexing.add_component("embedder", SharedDocumentEmbedder(self._embedding))
        indexing.add_component("writer", DocumentWriter(self._documents))
        indexing.connect("embedder", "writer")
        documents = [Document(id=text.id, content=text.whole) for text in self._texts]
        indexing.run({"embedder": {"documents": documents}})

    def save(self) -> None:
        self._documents.save_to_disk(str(self._folder / "store.json"))

    def dense(self, depth: int = WANTED) -> Any:
        pipeline = Pipeline()
        pipeline.add_component("embedder", SharedTextEmbedder(self._embedding))
        pipeline.add_component("dense", InMemoryEmbeddingRetriever(self._documents, top_k=depth))
        pipeline.connect("embedder.embedding", "dense.query_embedding")
        return pipeline

    def hybrid(self, depth: int) -> Any:
        pipeline = self.dense(depth)
        pipeline.add_component("bm25", InMemoryBM25Retriever(self._documents, top_k=depth))
        joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=WANTED)
        pipeline.add_component("joiner", joiner)
        pipeline.connect("bm25", "joiner")
        pipeline.connect("dense", "joiner")
        return pipeline


def found_dense(pipeline: Any, question: str) -> list[str]:
    answer = pipeline.run({"embedder": {"text": question}})
    return [str(document.id) for document in answer["dense"]["documents"]]


def found_hybrid(pipeline: Any, question: str) -> list[str]:
    answer = pipeline.run({"embedder": {"text": question}, "bm25": {"query": question}})
    return [str(document.id) for document in answer["joiner"]["documents"]]


def make(texts: Sequence[Text], embedding: Embedding, folder: Path) -> System:
    store = Store(texts, embedding, folder)
    return System(
        # One store: it counts words for BM25 as documents are written, wanted or not.
        parts={"store": Part(store.build, store.save)},
        modes={
            "dense": Mode(("store",), lasting(store.dense, found_dense)),
            "hybrid": Mode(("store",), lasting(lambda: store.hybrid(WANTED), found_hybrid)),
            "hybrid, pools of 100": Mode(
                ("store",), lasting(lambda: store.hybrid(DEEP), found_hybrid)
            ),
        },
        distributions=("haystack-ai",),
        passages=lambda: len(texts),
    )
