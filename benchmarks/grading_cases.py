"""Questions with the best passages that the product finds for each: what graders are given.

The documents of a set are indexed once, under `.cache/eval`; what the reader reads is not
remembered there, so that it can be timed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.eval_sets import CACHE, SEED, data_folder
from secondlook.context import Context
from secondlook.evaluation import datasets
from secondlook.evaluation.indexing import cache_folder, names_by_document, open_indexed
from secondlook.evaluation.remembering import Memory
from secondlook.library.shelf import search_options
from secondlook.memory.journal import MemoryJournal
from secondlook.memory.ledger import Caps, Ledger
from secondlook.models import Models
from secondlook.nodes import ranking
from secondlook.nodes.retrieve import found_by
from secondlook.reading.support import load_support
from secondlook.retrieval.index.port import EVERYTHING
from secondlook.settings import load

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping, Sequence

    from secondlook.evaluation.datasets import EvalSet
    from secondlook.evaluation.indexing import EvaluatedLibrary
    from secondlook.evaluation.records import Case
    from secondlook.retrieval.web import WebPassage
    from secondlook.settings import Settings
    from secondlook.state import Found

PASSAGES = 10
WORKFLOW = "corrective"
Done = TypeVar("Done")


class NoPages:
    """Nothing is read on the web here."""

    def put(self, passages: Sequence[WebPassage]) -> None:
        raise AssertionError(passages)

    def get(self, ids: Sequence[str]) -> dict[str, WebPassage]:  # noqa: ARG002 - the port's
        return {}


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, and what was found for it: best first, read, not yet graded."""

    case: Case
    found: tuple[Found, ...]
    gold: tuple[bool, ...]
    names: tuple[str, ...]
    """What the set calls the document of each passage."""


@dataclass(frozen=True, slots=True)
class Desk:
    """A set, its library, and the models that may be asked."""

    data: EvalSet
    library: EvaluatedLibrary
    settings: Settings
    models: Models
    names: Mapping[str, tuple[str, ...]]
    runner: asyncio.Runner
    """One loop for all: the worker of a local model belongs to the loop that started it."""

    def do(self, work: Coroutine[Any, Any, Done]) -> Done:
        return self.runner.run(work)

    def context(self, question: str, *, settings: Settings | None = None) -> Context:
        """As a run of its own, so that nothing one question was told is known to the next."""
        chosen, ledger = settings or self.settings, Ledger(Caps())
        return Context(
            run=f"bench-{hashlib.sha256(question.encode()).hexdigest()[:12]}",
            created="2026-01-01T00:00:00+00:00",
            workflow=WORKFLOW,
            question=question,
            settings=chosen,
            shelf=self.library.shelf(),
            models=self.models.asker(
                run="bench", workflow=WORKFLOW, ledger=ledger, journal=MemoryJournal()
            ),
            ledger=ledger,
            support=load_support(chosen.answer.judge),
            pages=NoPages(),
        )

    def asked(self, case: Case, most: int = PASSAGES) -> Asked:
        """Found, read and ranked as `corrective` has it before it grades."""
        search, context = self.settings.search, self.context(case.question)
        hits = context.shelf.find(case.question, search_options(search, k=most), EVERYTHING)
        first = [found_by(hit) for hit in hits[: search.candidates]]
        read = self.do(ranking.read(context, case.question, first, looks=search.looks))
        best = ranking.ranked(read, blend=search.blend, k=most)[:most]
        called = tuple(self.called(case, item["document"]) for item in best)
        gold = tuple(case.answerable and name in case.gold for name in called)
        return Asked(case, tuple(best), gold, called)

    def called(self, case: Case, document: str) -> str:
        names = self.names.get(document, (document,))
        return next((name for name in names if name in case.gold), names[0])

    def looked(self, asked: Asked) -> float:
        """Seconds that the reader takes to look at all of the passages, none of them known."""
        shelf = self.library.shelf()
        held = shelf.passages([item["id"] for item in asked.found])
        forget: Any = getattr(self.library.reader(), "forget", None)
        if forget is not None:
            forget()
        began = time.perf_counter()
        shelf.read(asked.case.question, list(held.values()))
        return time.perf_counter() - began


@contextmanager
def desk(name: str, flags: Mapping[str, object] | None = None) -> Iterator[Desk]:
    """The set of that name in `SECONDLOOK_DATA`, under the product's settings and `flags`."""
    os.environ.setdefault("SECONDLOOK_CACHE", str(CACHE))
    settings = load(dict(flags or {})).settings
    data = datasets.load(data_folder() / name)
    memory = Memory(cache_folder() / "memory.db")
    library = open_indexed(data, settings, memory)
    library.memory = None
    models = Models(settings)
    with asyncio.Runner() as runner:
        try:
            yield Desk(data, library, settings, models, names_by_document(library, data), runner)
        finally:
            runner.run(models.aclose())
            library.close()
            memory.close()


def drawn(cases: Sequence[Case], most: int, *, seed: int = SEED) -> list[Case]:
    """So many by chance, in the order of the draw."""
    return random.Random(seed).sample(list(cases), min(most, len(cases)))


def with_settings(settings: Settings, **corrective: Any) -> Settings:
    """The same with other values in the section `corrective`."""
    section = settings.corrective.model_copy(update=corrective)
    return settings.model_copy(update={"corrective": section})
