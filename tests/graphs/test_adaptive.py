"""Adaptive: exactly linear where the search is good, another search where it is not."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer, Step
from secondlook.errors import WebSearchError
from secondlook.graphs.registry import workflow
from secondlook.retrieval.web.port import WebPassage
from tests.support.engine import WordShelf, context_of, settings_of, state_of

if TYPE_CHECKING:
    from secondlook.passage import Hit
    from secondlook.retrieval.index.port import Filter
    from secondlook.retrieval.search import SearchOptions
    from secondlook.settings.sections import Settings

GOOD = "how deep is the deepest berth 4"
POOR = "what did the keeper of lamps drink"


def run(question: str, *, name: str = "adaptive", **given: Any) -> tuple[Answer, list[Step]]:
    context = context_of(question=question, workflow=name, **given)
    graph = workflow(name).build(context.settings).compile()

    async def go() -> dict[str, Any]:
        return await graph.ainvoke(state_of(question), context=context)

    state = asyncio.run(go())
    return Answer.model_validate(state["answer"]), [Step.model_validate(s) for s in state["steps"]]


def nodes(steps: list[Step]) -> list[str]:
    return [step.node for step in steps]


def test_where_the_search_is_good_the_answer_is_that_of_linear() -> None:
    adaptive, steps = run(GOOD)
    linear, _ = run(GOOD, name="linear")
    assert nodes(steps) == ["retrieve", "rerank", "assess", "answer", "finish"]
    assert adaptive.model_copy(update={"workflow": "linear"}) == linear


def test_a_poor_search_is_followed_by_one_by_words() -> None:
    shelf = WordShelf()
    _, steps = run(POOR, shelf=shelf)
    assert nodes(steps) == ["retrieve", "rerank", "assess", "fall_back", "answer", "finish"]
    first, second = (options for _, options in shelf.finds)
    assert (first.dense, first.lexical, first.candidates) == (0.7, 0.3, 16)
    assert (second.dense, second.lexical, second.candidates) == (0.3, 0.7, 40)


@dataclass(slots=True)
class _HidingShelf(WordShelf):
    """What answers is found by words alone, and only by a deep search."""

    hidden: str = "log.0"
    read_ids: list[str] = field(default_factory=list)

    def find(self, query: str, options: SearchOptions, where: Filter) -> list[Hit]:
        hits = WordShelf.find(self, query, options, where)
        if options.lexical > options.dense:
            return hits
        return [hit for hit in hits if hit.passage.id != self.hidden]

    def read(self, query: str, passages: Any, **choice: Any) -> Any:
        self.read_ids += [passage.id for passage in passages]
        return WordShelf.read(self, query, passages, **choice)


HARD = "when did the mains failed and the diesel started and the light never went out"


def test_what_the_second_search_brings_is_pooled_and_only_the_new_is_read() -> None:
    shelf = _HidingShelf()
    answer, _ = run(HARD, shelf=shelf)
    assert answer.citations[0].passage == "log.0"
    assert shelf.read_ids.count("log.0") == 1
    assert len(shelf.read_ids) == len(set(shelf.read_ids)) == 5


def test_the_flag_switches_it_off() -> None:
    settings = settings_of(adaptive={"enable_adaptive_retrieval": False})
    answer, steps = run(HARD, shelf=_HidingShelf(), settings=settings)
    assert "fall_back" not in nodes(steps)
    assert all(seen.id != "log.0" for seen in answer.passages)


@pytest.mark.parametrize(("threshold", "falls_back"), [(-50.0, False), (50.0, True)])
def test_the_raw_threshold_looks_at_the_worst_of_the_best(
    threshold: float, falls_back: bool
) -> None:
    settings = settings_of(adaptive={"check": "min_rerank_score", "min_rerank_score": threshold})
    _, steps = run(GOOD, settings=settings)
    assert ("fall_back" in nodes(steps)) is falls_back


def _page(text: str) -> WebPassage:
    return WebPassage(
        id="web-00.0", document="web-00", sha256="0" * 64, url="http://example.org/lamp",
        title="The lamp", text=text, start=0, end=len(text), fetched="2026-01-02T03:04:05+00:00",
        score=1.0,
    )  # fmt: skip


@dataclass(slots=True)
class _Web:
    pages: list[WebPassage]
    failure: Exception | None = None
    asked: list[str] = field(default_factory=list)

    async def search(self, query: str, *, results: int) -> list[Any]:
        return []

    async def find(self, query: str) -> list[WebPassage]:
        self.asked.append(query)
        if self.failure:
            raise self.failure
        return self.pages

    async def aclose(self) -> None:
        pass


def web_settings(**more: Any) -> Settings:
    return settings_of(web={"enable_web_search": True, "min_quality": 1.0, **more})


def test_the_web_answers_where_the_library_cannot_and_is_marked() -> None:
    web = _Web([_page("The keeper of the lamp did drink 3 cups of tea. What else.")])
    answer, steps = run(POOR, settings=web_settings(), web=web)
    assert web.asked == [POOR]
    assert nodes(steps)[3:6] == ["fall_back", "assess_again", "search_web"]
    assert answer.web_used
    citation = answer.citations[0]
    assert (citation.origin, citation.url) == ("web", "http://example.org/lamp")
    assert citation.fetched == "2026-01-02T03:04:05+00:00"
    seen = next(seen for seen in answer.passages if seen.origin == "web")
    assert seen.text is not None
    assert seen.text[citation.start : citation.end] == citation.quote


def test_a_web_that_is_down_is_skipped() -> None:
    web = _Web([], failure=WebSearchError("no answer"))
    answer, _ = run(GOOD, settings=web_settings(), web=web)
    assert answer.citations[0].passage == "survey.0"
    assert answer.warnings[0].node == "search_web"
    assert not answer.web_used
