"""Following: what the best passage names is looked up where the question asks beyond it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from langgraph.runtime import Runtime

from secondlook.nodes import ranking
from secondlook.nodes.retrieve import follow, rerank, retrieve
from tests.support.engine import WordShelf, context_of, passages_of, state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.context import Context
    from secondlook.passage import Hit, Passage
    from secondlook.reading.port import Reading

QUESTION = "What government position did the director of the film Harbour Lights hold?"
FILM = "Harbour Lights is a film of 1953. Its director was Maren Holt, a former pilot."
HOLT = "Maren Holt was chief of protocol from 1961. She kept bees."
OTHERS = [
    (f"lights {at}", f"The film on harbour lights number {at} had a director who hold a position.")
    for at in range(6)
]


def pieces() -> list[Passage]:
    return passages_of([("harbour lights", FILM), ("maren holt", HOLT), *OTHERS])


@dataclass(slots=True)
class _Shelf(WordShelf):
    """The first search does not find who is named; a search for the name does."""

    held: list[Passage] = field(default_factory=pieces)
    asked: list[str] = field(default_factory=list)

    def find(self, query: str, options: Any, where: Any) -> list[Hit]:
        self.asked.append(query)
        hits = WordShelf.find(self, query, options, where)
        if query == QUESTION:
            return sorted(
                (hit for hit in hits if hit.passage.document != "maren holt"),
                key=lambda hit: hit.passage.document != "harbour lights",
            )
        return hits

    def read(self, query: str, passages: Sequence[Passage], **_choice: Any) -> list[Reading]:
        """The film fits the question best; who is named fits once the name is said."""
        return [
            _with(reading, 9.0 if one.text == FILM else 3.0 if "Holt" in query else -4.0)
            for one, reading in zip(passages, WordShelf.read(self, query, passages), strict=True)
        ]


def _with(reading: Reading, relevance: float) -> Reading:
    from dataclasses import replace

    return replace(reading, relevance=relevance)


def followed(context: Context, question: str = QUESTION) -> dict[str, Any]:
    runtime = cast("Any", Runtime(context=context))

    async def go() -> dict[str, Any]:
        state: Any = state_of(question)
        for node in (retrieve, rerank, follow):
            state |= await node(state, runtime)
        return cast("dict[str, Any]", state)

    return asyncio.run(go())


def test_who_is_named_takes_the_last_of_the_kept_places() -> None:
    state = followed(context_of(shelf=_Shelf(), question=QUESTION))
    kept = ranking.kept(state["found"])
    assert len(kept) == 5
    assert [item["document"] for item in kept if item["pinned"]] == ["maren holt"]
    assert next(item["why"] for item in kept if item["pinned"]) == "the best passage names it"
    (told,) = state["steps"]
    assert told["numbers"]["followed"] is True
    assert "'Harbour lights' leads to 'Maren holt'" in told["said"]


def test_a_passage_that_covers_the_question_is_not_followed() -> None:
    shelf = _Shelf()
    question = "What is the film Harbour Lights?"
    state = followed(context_of(shelf=shelf, question=question), question)
    assert shelf.asked == [question]
    assert state["steps"][0]["numbers"] == {"linked": 0, "followed": False}
