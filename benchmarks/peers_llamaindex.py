"""LlamaIndex: `VectorStoreIndex`, alone and fused with its BM25 retriever as its guide shows."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from pydantic import PrivateAttr

from benchmarks.peers_contract import DEEP, WANTED, Mode, Part, System, lasting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.peers_contract import Embedding, Text

BATCH = 256
"""Texts sent to the embedder at once: as many as it takes in one go."""


class SharedEmbedding(BaseEmbedding):  # type: ignore[misc]
    _shared: Any = PrivateAttr()

    def __init__(self, shared: Embedding) -> None:
        super().__init__(model_name="shared", embed_batch_size=BATCH)
        self._shared = shared

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._shared.passages(texts).tolist()
        return vectors

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self._shared.query(query).tolist()
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class Indexes:
    def __init__(self, texts: Sequence[Text], embedding: Embedding, folder: Path) -> None:
        self._texts, self._folder = texts, folder
        self._model = SharedEmbedding(embedding)
        self._vectors: Any = None
        self._words: Any = None

    def build_dense(self) -> None:
        self._vectors = VectorStoreIndex(
            self._nodes(),
            embed_model=self._model,
            storage_context=StorageContext.from_defaults(),
        )

    def save_dense(self) -> None:
        self._vectors.storage_context.persist(str(self._folder / "vectors"))

    def build_words(self) -> None:
        self._words = BM25Retriever.from_defaults(nodes=self._nodes(), similarity_top_k=WANTED)

    def save_words(self) -> None:
        self._words.persist(str(self._folder / "bm25"))

    def dense(self) -> Any:
        return self._vectors.as_retriever(similarity_top_k=WANTED)

    def hybrid(self, depth: int) -> Any:
        words = copy(self._words)
        words.similarity_top_k = depth
        return QueryFusionRetriever(
            [self._vectors.as_retriever(similarity_top_k=depth), words],
            llm=MockLLM(),  # with one query none is ever asked
            num_queries=1,
            mode="reciprocal_rerank",
            similarity_top_k=WANTED,
            use_async=False,
        )

    def _nodes(self) -> list[Any]:
        return [TextNode(id_=text.id, text=text.whole) for text in self._texts]


def found(retriever: Any, question: str) -> list[str]:
    return [str(node.node.node_id) for node in retriever.retrieve(question)]


def make(texts: Sequence[Text], embedding: Embedding, folder: Path) -> System:
    indexes = Indexes(texts, embedding, folder)
    both = ("dense", "bm25")
    return System(
        parts={
            "dense": Part(indexes.build_dense, indexes.save_dense),
            "bm25": Part(indexes.build_words, indexes.save_words),
        },
        modes={
            "dense": Mode(("dense",), lasting(indexes.dense, found)),
            "hybrid": Mode(both, lasting(lambda: indexes.hybrid(WANTED), found)),
            "hybrid, pools of 100": Mode(both, lasting(lambda: indexes.hybrid(DEEP), found)),
        },
        distributions=("llama-index-core", "llama-index-retrievers-bm25", "bm25s"),
        passages=lambda: len(texts),
    )
