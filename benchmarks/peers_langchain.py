"""LangChain: its in-memory vector store, FAISS, and an ensemble of FAISS and BM25."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from benchmarks.peers_contract import DEEP, WANTED, Mode, Part, System, lasting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.peers_contract import Embedding, Text


class SharedEmbeddings(Embeddings):
    def __init__(self, shared: Embedding) -> None:
        self._shared = shared

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._shared.passages(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self._shared.query(text).tolist()
        return vector


class Stores:
    def __init__(self, texts: Sequence[Text], embedding: Embedding, folder: Path) -> None:
        self._texts, self._folder = texts, folder
        self._embeddings = SharedEmbeddings(embedding)
        self._memory: Any = None
        self._faiss: Any = None
        self._words: Any = None

    def build_memory(self) -> None:
        self._memory = InMemoryVectorStore(self._embeddings)
        self._memory.add_documents(self._documents())

    def save_memory(self) -> None:
        self._memory.dump(str(self._folder / "memory.json"))

    def build_faiss(self) -> None:
        self._faiss = FAISS.from_documents(self._documents(), self._embeddings)

    def save_faiss(self) -> None:
        self._faiss.save_local(str(self._folder / "faiss"))

    def build_words(self) -> None:
        self._words = BM25Retriever.from_documents(self._documents(), k=WANTED)

    def memory(self) -> Any:
        return self._memory.as_retriever(search_kwargs={"k": WANTED})

    def faiss(self) -> Any:
        return self._faiss.as_retriever(search_kwargs={"k": WANTED})

    def hybrid(self, depth: int) -> Any:
        return EnsembleRetriever(
            retrievers=[
                self._words.model_copy(update={"k": depth}),
                self._faiss.as_retriever(search_kwargs={"k": depth}),
            ],
            weights=[0.5, 0.5],
            id_key="id",
        )

    def _documents(self) -> list[Document]:
        return [
            Document(id=text.id, page_content=text.whole, metadata={"id": text.id})
            for text in self._texts
        ]


def found(retriever: Any, question: str) -> list[str]:
    return [str(document.metadata["id"]) for document in retriever.invoke(question)[:WANTED]]


def make(texts: Sequence[Text], embedding: Embedding, folder: Path) -> System:
    stores = Stores(texts, embedding, folder)
    both = ("faiss", "bm25")
    return System(
        parts={
            "memory": Part(stores.build_memory, stores.save_memory),
            "faiss": Part(stores.build_faiss, stores.save_faiss),
            # It has no way of being saved: it is made again from the texts each time.
            "bm25": Part(stores.build_words),
        },
        modes={
            "dense, in memory": Mode(("memory",), lasting(stores.memory, found)),
            "dense, FAISS": Mode(("faiss",), lasting(stores.faiss, found)),
            "hybrid": Mode(both, lasting(lambda: stores.hybrid(WANTED), found)),
            "hybrid, pools of 100": Mode(both, lasting(lambda: stores.hybrid(DEEP), found)),
        },
        distributions=(
            "langchain-core", "langchain-community", "langchain-classic", "faiss-cpu", "rank-bm25",
        ),
        passages=lambda: len(texts),
    )  # fmt: skip
