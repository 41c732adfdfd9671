"""A library as a LangChain retriever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from pydantic import ConfigDict, Field

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )

    from secondlook.passage import Hit

_OPTIONS = frozenset({"k", "dense", "lexical", "rerank", "filters", "documents", "exclude"})


class Searchable(Protocol):
    """What a retriever needs of a library."""

    @property
    def search(self) -> Callable[..., list[Hit]]: ...


class LibraryRetriever(BaseRetriever):
    """Finds passages of a library. `options` are those of `Library.search`; what a call passes
    to `invoke` comes on top: `retriever.invoke("...", k=3)`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    library: Any
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        **options: Any,
    ) -> list[Document]:
        return self._find(query, options)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
        **options: Any,
    ) -> list[Document]:
        # A search computes on all cores and must not hold up the event loop.
        return await run_in_executor(None, self._find, query, options)

    def _find(self, query: str, options: dict[str, Any]) -> list[Document]:
        chosen = {**self.options, **_checked(options)}
        return [document(hit) for hit in self.library.search(query, **chosen)]


def make_retriever(library: Searchable, **options: Any) -> LibraryRetriever:
    """A retriever over `library` that searches with these options of `Library.search`."""
    return LibraryRetriever(library=library, options=_checked(options))


def document(hit: Hit) -> Document:
    """The passage as LangChain knows documents: its text, and where it stands as metadata."""
    passage = hit.passage
    return Document(
        id=passage.id,
        page_content=passage.text,
        metadata={
            "id": passage.id,
            "document": passage.document,
            "sha256": passage.sha256,
            "title": passage.title,
            "page": passage.page,
            "start": passage.start,
            "end": passage.end,
            "heading": list(passage.heading),
            "score": hit.score,
            "fusion_score": hit.fusion_score,
            "dense_rank": hit.dense_rank,
            "dense_score": hit.dense_score,
            "lexical_rank": hit.lexical_rank,
            "lexical_score": hit.lexical_score,
            "rerank_score": hit.rerank_score,
        },
    )


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(options.keys() - _OPTIONS)
    if unknown:
        raise UsageError(
            f"a search has no option {unknown[0]!r}", hint=f"use {', '.join(sorted(_OPTIONS))}"
        )
    return options
