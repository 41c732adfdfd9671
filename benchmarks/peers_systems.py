"""The systems that `benchmarks/peers.py` compares, each in a process of its own.

    python -m benchmarks.peers_systems SYSTEM CORPUS FOLDER VECTORS

One JSON request per line in, one JSON answer per line out: `{"do": "build"}`, `{"do": "ask",
"mode": ..., "question": ...}`, `{"do": "leave"}`. A system is a function that imports what it needs
and returns another one, which builds everything over the texts and returns its ways of searching.
All get the same texts and the same embedder, each through its own embedding interface. Any
connection beyond loopback is refused and reported, whatever a system's telemetry is set to.

Runs in the peers' environment too: nothing but the embedder may be imported from Secondlook there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import sys
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.reading import load_embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Modes = dict[str, Callable[[str], list[str]]]
    Build = Callable[[Sequence["Text"], "SharedEmbedding", Path], Modes]

WANTED = 10
"""Documents that every search is asked for."""
DEEP = 100
"""How many passages each half of a hybrid search contributes where the pools are made equal."""
LOOPBACK = ("127.", "::1", "localhost")
refused: list[str] = []


@dataclass(frozen=True, slots=True)
class Text:
    id: str
    title: str
    text: str
    whole: str
    """Title and text as Secondlook embeds them; the peers get exactly this as their text."""


class SharedEmbedding:
    """The one embedder of all systems. Questions are always embedded; vectors of passages are kept
    in a file, so that each is made once. Tells how long it took and how many it was asked for, so
    that a system's own work can be told from the embedder's."""

    def __init__(self, kept: Path) -> None:
        self._model = load_embedder("embedded")
        self._store = sqlite3.connect(kept, timeout=60, check_same_thread=False)
        self._store.execute("create table if not exists vectors (key blob primary key, value blob)")
        self.seconds, self.count = 0.0, 0

    def passages(self, texts: Sequence[str]) -> Vectors:
        started = time.perf_counter()
        self.count += len(texts)
        if len(texts) == 1:  # a question asked through this door
            vectors = self._model.embed_passages(texts)
        else:
            vectors = np.stack([self._kept(text) for text in texts])
        self.seconds += time.perf_counter() - started
        return vectors

    def _kept(self, text: str) -> Vectors:
        key = hashlib.sha256(f"{self._model.name}\0{text}".encode()).digest()
        row = self._store.execute("select value from vectors where key = ?", (key,)).fetchone()
        if row is not None:
            return np.frombuffer(row[0], dtype=np.float32)
        vector: Vectors = self._model.embed_passages([text])[0]
        with self._store:
            row = (key, vector.tobytes())
            self._store.execute("insert or replace into vectors values (?, ?)", row)
        return vector

    def query(self, text: str) -> Vectors:
        return self._model.embed_query(text)


# The systems


def secondlook(tokens: int | None = None) -> Build:
    """The product as it comes, its texts cut into passages of about 200 tokens; or with each text
    one passage of up to so many tokens, as the peers hold them."""
    from secondlook.library.library import Library
    from secondlook.library.report import Text as LibraryText
    from secondlook.settings.sections import Settings

    settings = Settings()
    if tokens is not None:
        chunking = settings.chunking.model_copy(update={"tokens": tokens})
        settings = settings.model_copy(update={"chunking": chunking})

    class SharedEmbedder:
        def __init__(self, own: Any, shared: SharedEmbedding) -> None:
            self.name, self.dimensions, self.max_tokens = own.name, own.dimensions, own.max_tokens
            self.token_starts = own.token_starts
            self.embed_passages, self.embed_query = shared.passages, shared.query

    class MeasuredLibrary(Library):
        shared: SharedEmbedding

        def embedder(self) -> Any:
            return SharedEmbedder(super().embedder(), self.shared)

    def build(texts: Sequence[Text], embedding: SharedEmbedding, folder: Path) -> Modes:
        shutil.rmtree(folder, ignore_errors=True)
        library = MeasuredLibrary.open(folder, settings=settings)
        library.shared = embedding
        held = [LibraryText(name=one.id, text=one.text, title=one.title or None) for one in texts]
        if failed := library.add_texts(held).failed:
            raise SystemExit(f"these texts failed: {failed[:3]!r}")

        def search(**options: Any) -> Callable[[str], list[str]]:
            def found(question: str) -> list[str]:
                # Several passages may come from one document; the reader reads 20 either way.
                hits = library.search(question, k=2 * WANTED, **options)
                paths = library.paths([hit.passage.document for hit in hits])
                # Equal texts are one document with several names.
                named = [paths[hit.passage.document] for hit in hits]
                return [path.removeprefix("text:") for some in named for path in some]

            return found

        return {
            "hybrid + rerank": search(),
            "hybrid": search(rerank=False),
            "dense": search(rerank=False, lexical=0.0),
        }

    return build


def llamaindex() -> Build:
    """`VectorStoreIndex`, alone and fused with its BM25 retriever as its guide shows."""
    from copy import copy

    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever
    from pydantic import PrivateAttr

    class Shared(BaseEmbedding):  # type: ignore[misc]
        _shared: Any = PrivateAttr()

        def __init__(self, shared: SharedEmbedding) -> None:
            super().__init__(model_name="shared", embed_batch_size=256)
            self._shared = shared

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return self._shared.passages(texts).tolist()  # type: ignore[no-any-return]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._shared.query(query).tolist()  # type: ignore[no-any-return]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    def build(texts: Sequence[Text], embedding: SharedEmbedding, _: Path) -> Modes:
        nodes = [TextNode(id_=one.id, text=one.whole) for one in texts]
        context = StorageContext.from_defaults()
        vectors = VectorStoreIndex(nodes, embed_model=Shared(embedding), storage_context=context)
        words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=WANTED)

        def hybrid(depth: int) -> Any:
            deep = copy(words)
            deep.similarity_top_k = depth
            return QueryFusionRetriever(
                [vectors.as_retriever(similarity_top_k=depth), deep],
                llm=MockLLM(),  # with one query none is ever asked
                num_queries=1,
                mode="reciprocal_rerank",
                similarity_top_k=WANTED,
                use_async=False,
            )

        def search(retriever: Any) -> Callable[[str], list[str]]:
            return lambda asked: [str(one.node.node_id) for one in retriever.retrieve(asked)]

        return {
            "dense": search(vectors.as_retriever(similarity_top_k=WANTED)),
            "hybrid": search(hybrid(WANTED)),
            "hybrid, pools of 100": search(hybrid(DEEP)),
        }

    return build


def haystack() -> Build:
    """In-memory store, embedding retriever, and BM25 joined to it by rank fusion."""
    from haystack import Document, Pipeline, component
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import (
        InMemoryBM25Retriever,
        InMemoryEmbeddingRetriever,
    )
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    @component
    class SharedTextEmbedder:
        def __init__(self, shared: SharedEmbedding) -> None:
            self._shared = shared

        @component.output_types(embedding=list[float])  # type: ignore[untyped-decorator]
        def run(self, text: str) -> dict[str, list[float]]:
            return {"embedding": self._shared.query(text).tolist()}

    def build(texts: Sequence[Text], embedding: SharedEmbedding, _: Path) -> Modes:
        # Instance-local, so that an earlier build is freed.
        store = InMemoryDocumentStore(shared=False)
        vectors = embedding.passages([one.whole for one in texts]).tolist()
        store.write_documents(
            [
                Document(id=one.id, content=one.whole, embedding=vector)
                for one, vector in zip(texts, vectors, strict=True)
            ]
        )

        def search(depth: int, *, hybrid: bool) -> Callable[[str], list[str]]:
            pipeline = Pipeline()
            pipeline.add_component("embedder", SharedTextEmbedder(embedding))
            pipeline.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=depth))
            pipeline.connect("embedder.embedding", "dense.query_embedding")
            if hybrid:
                joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=WANTED)
                pipeline.add_component("bm25", InMemoryBM25Retriever(store, top_k=depth))
                pipeline.add_component("joiner", joiner)
                pipeline.connect("bm25", "joiner")
                pipeline.connect("dense", "joiner")

            def found(question: str) -> list[str]:
                given = {"embedder": {"text": question}}
                words = {"bm25": {"query": question}} if hybrid else {}
                answer = pipeline.run(given | words)["joiner" if hybrid else "dense"]
                return [str(document.id) for document in answer["documents"]]

            return found

        return {
            "dense": search(WANTED, hybrid=False),
            "hybrid": search(WANTED, hybrid=True),
            "hybrid, pools of 100": search(DEEP, hybrid=True),
        }

    return build


def langchain() -> Build:
    """FAISS, and an ensemble of FAISS and BM25."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_community.vectorstores import FAISS
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

    class Shared(Embeddings):
        def __init__(self, shared: SharedEmbedding) -> None:
            self._shared = shared

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return self._shared.passages(texts).tolist()  # type: ignore[no-any-return]

        def embed_query(self, text: str) -> list[float]:
            return self._shared.query(text).tolist()  # type: ignore[no-any-return]

    def build(texts: Sequence[Text], embedding: SharedEmbedding, _: Path) -> Modes:
        documents = [
            Document(id=one.id, page_content=one.whole, metadata={"id": one.id}) for one in texts
        ]
        faiss = FAISS.from_documents(documents, Shared(embedding))
        words = BM25Retriever.from_documents(documents, k=WANTED)

        def dense(depth: int) -> Any:
            return faiss.as_retriever(search_kwargs={"k": depth})

        def hybrid(depth: int) -> Any:
            return EnsembleRetriever(
                retrievers=[words.model_copy(update={"k": depth}), dense(depth)],
                weights=[0.5, 0.5],
                id_key="id",
            )

        def search(retriever: Any) -> Callable[[str], list[str]]:
            return lambda asked: [str(one.metadata["id"]) for one in retriever.invoke(asked)]

        return {
            "dense": search(dense(WANTED)),
            "hybrid": search(hybrid(WANTED)),
            "hybrid, pools of 100": search(hybrid(DEEP)),
        }

    return build


def txtai() -> Build:
    """An embeddings index with vectors from outside, dense and hybrid."""
    from txtai import Embeddings

    def build(texts: Sequence[Text], embedding: SharedEmbedding, _: Path) -> Modes:
        def search(*, hybrid: bool) -> Callable[[str], list[str]]:
            # One function for passages and questions alike: txtai does not say which it asks for.
            made = Embeddings(method="external", transform=embedding.passages, hybrid=hybrid)
            made.index((one.id, one.whole, None) for one in texts)
            return lambda asked: [str(name) for name, _ in made.search(asked, WANTED)]

        return {"dense": search(hybrid=False), "hybrid": search(hybrid=True)}

    return build


SYSTEMS: dict[str, tuple[Callable[[], Build], tuple[str, ...]]] = {
    "secondlook": (secondlook, ("secondlook", "pylance")),
    # As many tokens as the embedder takes in: a longer text is cut, where the peers' tail is lost.
    "secondlook, whole texts": (lambda: secondlook(512), ("secondlook", "pylance")),
    "llamaindex": (llamaindex, ("llama-index-core", "llama-index-retrievers-bm25", "bm25s")),
    "haystack": (haystack, ("haystack-ai",)),
    "langchain": (langchain, ("langchain-core", "langchain-community", "faiss-cpu", "rank-bm25")),
    "txtai": (txtai, ("txtai", "faiss-cpu")),
}
"""How each is made, and the packages whose versions are told."""


# The process


def refuse_network(event: str, details: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        address = details[1]
        host = address[0] if isinstance(address, tuple) else ""  # a path: a local socket
    elif event == "socket.getaddrinfo":
        host = details[0]
    else:
        return
    if host and not str(host).startswith(LOOPBACK):
        refused.append(str(host))
        raise PermissionError(f"no connection leaves the benchmark: {host!r}")


def versions(distributions: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def main() -> None:
    system, corpus, folder, kept = sys.argv[1], *map(Path, sys.argv[2:5])
    # The pipe for answers. What a library prints goes where errors go, not between them.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.addaudithook(refuse_network)

    def tell(**answer: Any) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    make, distributions = SYSTEMS[system]
    build = make()
    with corpus.open(encoding="utf-8") as lines:
        texts = [Text(**json.loads(line)) for line in lines]
    embedding = SharedEmbedding(kept)
    modes: Modes = {}
    tell(versions=versions(distributions))
    for line in sys.stdin:
        request = json.loads(line)
        began, worked = time.perf_counter(), time.process_time()
        if request["do"] == "leave":
            break
        if request["do"] == "build":
            embedding.seconds, embedding.count = 0.0, 0
            modes = build(texts, embedding, folder)
            own = time.perf_counter() - began - embedding.seconds
            tell(own_seconds=own, embedded=embedding.count, modes=list(modes))
        else:
            ids = list(dict.fromkeys(modes[request["mode"]](request["question"])))[:WANTED]
            took, work = time.perf_counter() - began, time.process_time() - worked
            tell(ids=ids, ms=1000 * took, cpu_ms=1000 * work)
    tell(refused=sorted(set(refused)))


if __name__ == "__main__":
    main()
