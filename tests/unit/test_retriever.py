"""A library as a LangChain retriever."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from secondlook.errors import UsageError
from secondlook.library.retriever import make_retriever
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
    first, _ = make_retriever(Shelf()).invoke("cats")
    assert first.page_content == "Text 0 on cats"
    assert first.id == "d.0"
    assert first.metadata == {
        "id": "d.0",
        "document": "d",
        "sha256": "ab" * 32,
        "title": "Title",
        "page": 3,
        "start": 0,
        "end": 6,
        "heading": ["A", "B"],
        "score": 0.9,
        "fusion_score": 0.8,
        "dense_rank": 1,
        "dense_score": 0.7,
        "lexical_rank": None,
        "lexical_score": None,
        "rerank_score": 2.5,
    }


def test_options_are_kept_and_a_call_may_override_them() -> None:
    shelf = Shelf()
    retriever = make_retriever(shelf, k=3, dense=0.9)
    assert len(retriever.invoke("cats")) == 3
    assert len(retriever.invoke("cats", k=1)) == 1
    assert shelf.asked == [("cats", {"k": 3, "dense": 0.9}), ("cats", {"k": 1, "dense": 0.9})]


def test_async_and_batch_give_the_same() -> None:
    retriever = make_retriever(Shelf(), k=1)
    assert asyncio.run(retriever.ainvoke("cats")) == retriever.invoke("cats")
    assert [d[0].page_content for d in retriever.batch(["a", "b"])] == [
        "Text 0 on a",
        "Text 0 on b",
    ]


def test_an_unknown_option_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="top_k") as caught:
        make_retriever(Shelf(), top_k=3)
    assert "k" in (caught.value.hint or "")
    with pytest.raises(UsageError):
        make_retriever(Shelf()).invoke("cats", limit=3)
