"""A library as a LangChain retriever."""

from __future__ import annotations

import asyncio
from typing import Any

from secondlook.library.retriever import LibraryRetriever
from secondlook.passage import Hit, Passage


class Shelf:
    """Answers like a library and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def search(self, query: str, **options: Any) -> list[Hit]:
        self.asked.append((query, options))
        passages = [
            Passage(
                f"d.{n}", "d", "ab" * 32, "Title", f"Text {n} on {query}", n, n + 6, 3, ("A", "B")
            )
            for n in range(options.get("k", 2))
        ]
        return [Hit(p, 0.9 - p.start / 10, 0.8, 1, 0.7, None, None, 2.5) for p in passages]


def test_documents_carry_text_and_place() -> None:
    first, _ = LibraryRetriever(library=Shelf()).invoke("cats")
    assert first.page_content == "Text 0 on cats"
    assert first.id == "d.0"
    place = {"document": "d", "title": "Title", "page": 3, "start": 0, "heading": ["A", "B"]}
    assert first.metadata.items() >= (place | {"score": 0.9, "rerank_score": 2.5}).items()


def test_options_are_kept_and_a_call_may_override_them() -> None:
    shelf = Shelf()
    retriever = LibraryRetriever(library=shelf, options={"k": 3, "dense": 0.9})
    assert len(retriever.invoke("cats")) == 3
    assert len(asyncio.run(retriever.ainvoke("cats", k=1))) == 1
    assert shelf.asked == [("cats", {"k": 3, "dense": 0.9}), ("cats", {"k": 1, "dense": 0.9})]
