"""Runs of `research` from end to end over the harbour code."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from secondlook.answer import Answer
from secondlook.engine.secondlook import Secondlook
from secondlook.graphs.research import build, most_visits, switched
from secondlook.models.calls import Models
from secondlook.retrieval.index.port import EVERYTHING, Filter
from secondlook.settings import load
from secondlook.verify import examine
from tests.support.engine import WordShelf, context_of, passages_of, settings_of, state_of
from tests.support.function_model import FunctionModel, no_pause
from tests.support.research_world import CODE

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from secondlook.models.prices import Caps
    from secondlook.passage import Hit, Passage
    from secondlook.reading.port import Reading
    from secondlook.retrieval.search import SearchOptions
    from secondlook.settings.sections import Settings
    from secondlook.store.answers import AnswerMemory
    from secondlook.verify.report import Problem

# Searching


@dataclass(slots=True)
class CodeShelf(WordShelf):
    """Leaves out what it is told to, and may be made to score a passage as a test wants it."""

    held: list[Passage] = field(default_factory=lambda: passages_of(CODE))
    scores: dict[str, float] = field(default_factory=dict)
    """The reader's, by the passage's text."""
    floor: float = 0.0
    """How alike two texts are that have no word in common."""
    level: bool = False
    """All that a search finds is alike to it: only the reader tells passages apart."""
    excluded: list[frozenset[str]] = field(default_factory=list)
    blocked: threading.Event | None = None
    """Searches after the first wait for it."""

    def find(self, query: str, options: SearchOptions, where: Filter) -> list[Hit]:
        if self.blocked is not None and len(self.excluded) and where.excluded:
            self.blocked.wait(30)
        self.excluded.append(where.excluded)
        found = WordShelf.find(self, query, options, where)
        hits = [hit for hit in found if hit.passage.id not in where.excluded]
        if not self.level:
            return hits
        return [replace(hit, fusion_score=0.5, dense_rank=1, lexical_rank=1) for hit in hits]

    def read_text(self, query: str, text: str) -> Reading:
        reading = WordShelf.read_text(self, query, text)
        score = self.scores.get(text)
        if score is None:
            return reading
        return replace(reading, relevance=score, answerable=score, span_score=score)

    def similarity(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [self.floor + (1 - self.floor) * like for like in WordShelf.similarity(self, pairs)]


# Running


@dataclass(frozen=True, slots=True)
class Ran:
    """One run from its question to its answer."""

    answer: Answer
    state: dict[str, Any]
    shelf: CodeShelf

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(step["node"] for step in self.state["steps"])

    @property
    def calls(self) -> int:
        return self.answer.usage.calls

    @property
    def ended(self) -> tuple[str, str]:
        return self.answer.status, self.answer.stop_reason

    @property
    def routes(self) -> list[tuple[str, str]]:
        """Of every decision, where it led."""
        routed = [one for one in self.state["steps"] if one["route"]]
        return [(one["node"], one["route"]["to"]) for one in routed]

    @property
    def research(self) -> Any:
        assert self.answer.research is not None
        return self.answer.research

    def statuses(self) -> list[str]:
        return [one.status for one in self.research.steps]


_GRAPHS: Final[dict[tuple[bool, ...], Any]] = {}
"""Settings that leave in the same steps have the same graph."""


def run(
    question: str,
    *,
    settings: Settings | None = None,
    shelf: CodeShelf | None = None,
    model: FunctionModel | None = None,
    memory: AnswerMemory | None = None,
    caps: Caps | None = None,
    name: str = "test-run",
) -> Ran:
    """`name` is that of the run: a run does not recall itself."""
    chosen, held = settings or settings_of(), shelf if shelf is not None else CodeShelf()
    context = context_of(
        shelf=held, settings=chosen, caps=caps, question=question, workflow="research"
    )
    context = replace(context, memory=memory, run=name)
    if model is not None:
        asker = models_for(chosen, model).asker(
            run=name, workflow="research", ledger=context.ledger, journal=context.models.journal
        )
        context = replace(context, models=asker)
    on = tuple(switched(chosen).values())
    graph: Any = _GRAPHS.get(on) or build(chosen).compile()
    _GRAPHS[on] = graph
    limit = {"recursion_limit": most_visits(chosen) + 1}  # langgraph counts the end
    first: Any = state_of(question)
    state = asyncio.run(graph.ainvoke(first, limit, context=context))
    answer = Answer.model_validate(state["answer"])
    return Ran(answer.model_copy(update={"usage": context.ledger.usage()}), state, held)


def models_for(settings: Settings, model: FunctionModel) -> Models:
    named = settings.models.model_copy(update={"default": model.spec})
    chosen = settings.model_copy(update={"models": named})
    return Models(chosen, open_chat=lambda _: model, probes=lambda _: None, pause=no_pause)


def research(**chosen: Any) -> Settings:
    return settings_of(research=chosen)


def seed_001(**chosen: Any) -> Settings:
    """The design as first published."""
    return load(
        {f"research.{name}": value for name, value in chosen.items()}, preset="seed-001"
    ).settings


class FakeLibrary:
    """As much of a library as a run touches."""

    def __init__(self, settings: Settings, held: Any) -> None:
        self.held = held
        self.settings = settings
        self.path = settings.library.path
        self.place = str(self.path)

    def shelf(self) -> Any:
        return self.held

    def scope(self, **_: Any) -> Filter:
        return EVERYTHING

    def documents(self, **_: Any) -> Sequence[Any]:
        held = {one.document: one.title for one in getattr(self.held, "held", ())}
        return [
            SimpleNamespace(id=name, title=title, paths=(), language=None)
            for name, title in held.items()
        ]

    def close(self) -> None:
        pass


def engine(
    settings: Settings,
    model: FunctionModel,
    *,
    shelf: CodeShelf | None = None,
    memory: AnswerMemory | None = None,
) -> Secondlook:
    """An engine over the harbour code."""
    library: Any = FakeLibrary(settings, shelf if shelf is not None else CodeShelf())
    models = models_for(settings, model)
    return Secondlook(library, settings=settings, models=models, memory=memory)


def problems(answer: Answer, held: Sequence[Passage] = ()) -> list[Problem]:
    """All that `verify` has against it, its quotes held against the passages in place of a
    library."""
    texts = {item.id: item for item in held or passages_of(CODE)}
    for citation in answer.citations:
        passage = texts[citation.passage]
        at = citation.start - passage.start
        assert passage.text[at : at + len(citation.quote)] == citation.quote
    return [one for one in examine(answer, None).problems if one.kind != "document"]
