"""A library as a LangChain retriever."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from pydantic import ConfigDict, Field

if TYPE_CHECKING:
    from secondlook.passage import Hit


class LibraryRetriever(BaseRetriever):
    """Finds passages of a library. `options` are those of `Library.search`; what a call passes
    to `invoke` comes on top: `retriever.invoke("...", k=3)`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    library: Any
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any = None, **options: Any
    ) -> list[Document]:
        del run_manager
        chosen = {**self.options, **options}
        return [document(hit) for hit in self.library.search(query, **chosen)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any = None, **options: Any
    ) -> list[Document]:
        del run_manager
        # A search computes on all cores and must not hold up the event loop.
        return await run_in_executor(None, self._get_relevant_documents, query, **options)


def document(hit: Hit) -> Document:
    found = asdict(hit)
    passage = {**found.pop("passage"), "heading": list(hit.passage.heading)}
    text = passage.pop("text")
    return Document(id=hit.passage.id, page_content=text, metadata={**passage, **found})
