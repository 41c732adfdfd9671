"""Puts questions of multiple choice to a model with different evidence: none, what one search
finds, the gold passages, or what `research` finds. The prompt that chooses is the product's own, so
that only the evidence differs; without any it is the one that `research.guess` uses.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from benchmarks.eval_sets import CACHE, SEED, data_folder
from benchmarks.grading_cases import NoPages
from secondlook.app import Secondlook
from secondlook.context import Context
from secondlook.evaluation import datasets
from secondlook.evaluation.asking import asked
from secondlook.evaluation.indexing import cache_folder, names_by_document, open_indexed
from secondlook.evaluation.metrics.answers import letter_of
from secondlook.evaluation.metrics.retrieval import recall
from secondlook.evaluation.remembering import Memory
from secondlook.evaluation.rowing import shown
from secondlook.memory.answers import AnswerMemory
from secondlook.memory.journal import MemoryJournal
from secondlook.memory.ledger import Caps, Ledger
from secondlook.models import Models
from secondlook.nodes.choosing import Task, chosen
from secondlook.nodes.multiple_choice.parsing import by_letter
from secondlook.reading.support import load_support
from secondlook.settings import load
from secondlook.state import Sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Answer, Usage
    from secondlook.evaluation.datasets import EvalSet
    from secondlook.evaluation.indexing import EvaluatedLibrary
    from secondlook.evaluation.records import Case
    from secondlook.settings import Settings

Condition = Literal["alone", "plain", "gold", "research"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
WORKFLOW: Final = "research"
PASSAGES = 5


@dataclass(frozen=True, slots=True)
class Made:
    """What came of one question; no word of it."""

    case: str
    subject: str
    letter: str | None
    right: bool
    grounded: bool
    calls: int
    tokens_in: int
    tokens_out: int
    characters_in: int
    characters_out: int
    seconds: float
    gold_shown: float | None
    """Share of the gold among the passages that it was shown."""
    status: str = "answered"
    steps: int = 0
    repeat: int = 0

    @property
    def row(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Material:
    """A set, indexed, and the texts of its gold passages."""

    data: EvalSet
    cases: tuple[Case, ...]
    library: EvaluatedLibrary
    memory: Memory
    names: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, str]

    @classmethod
    def of(cls, name: str, limit: int, settings: Settings) -> Material:
        os.environ.setdefault("SECONDLOOK_CACHE", str(CACHE))
        data = datasets.load(data_folder() / name)
        cases = datasets.sample(data.cases, limit=limit, seed=SEED)
        memory = Memory(cache_folder() / "memory.db")
        library = open_indexed(data, settings, memory)
        wanted = {gold for case in cases for gold in case.gold}
        texts = {text.name: text.text for text in data.texts() if text.name in wanted}
        return cls(data, cases, library, memory, names_by_document(library, data), texts)

    def close(self) -> None:
        self.library.close()
        self.memory.close()

    def gold_among(self, case: Case, documents: Sequence[str]) -> float | None:
        names = [name for one in documents for name in self.names.get(one, (one,))]
        return recall(case.gold, names) if case.gold else None


def settings_for(
    model: str, profile: str | None, *, calls: int, guess: bool, options: Sequence[str] = ()
) -> Settings:
    flags = {
        "models.default": model,
        "models.options": list(options),
        "budget.calls": calls,
        "runs.keep": 0,
        "research.guess": guess,
    }
    return load(flags, preset=profile).settings


class Desk:
    """Where the questions of one condition are asked."""

    def __init__(self, material: Material, settings: Settings, repeat: int = 0) -> None:
        self.material = material
        self.settings = settings
        self.repeat = repeat
        self._models = Models(settings)
        # A memory of its own: what one repetition found out must not answer the next.
        self._engine = Secondlook(
            material.library,
            settings=settings,
            models=self._models,
            memory=AnswerMemory.temporary(),
        )

    async def aclose(self) -> None:
        await self._engine.adetach()

    async def ask(self, case: Case, condition: Condition) -> Made:
        began = time.perf_counter()
        if condition == "research":
            return await self._researched(case, began)
        evidence, gold_shown = self._evidence(case, condition)
        context, ledger = self._context(case)
        made = await chosen(context, task_of(case, evidence))
        return self._made(
            case,
            named(case, made.choice["letter"]),
            ledger.usage(),
            grounded=made.choice["grounded"],
            seconds=time.perf_counter() - began,
            gold_shown=gold_shown,
        )

    def _evidence(self, case: Case, condition: Condition) -> tuple[list[str], float | None]:
        """What the choice may rest on, and the share of the gold that is in it."""
        if condition == "gold":
            return [self.material.texts[name] for name in case.gold], 1.0
        if condition == "alone":
            return [], None
        found = self._found(case)
        documents = [document for document, _ in found]
        return [text for _, text in found], self.material.gold_among(case, documents)

    def _found(self, case: Case) -> list[tuple[str, str]]:
        hits = self.material.library.search(case.question, k=PASSAGES)
        return [(hit.passage.document, hit.passage.text) for hit in hits]

    async def _researched(self, case: Case, began: float) -> Made:
        answer = await self._engine.aask(
            asked(case, WORKFLOW), workflow=WORKFLOW, run=self._run(case)
        )
        return self._made(
            case,
            letter_of(case, answer),
            answer.usage,
            grounded=answer.choice is not None and answer.choice.grounded,
            seconds=time.perf_counter() - began,
            gold_shown=self.material.gold_among(case, [item.document for item in shown(answer)]),
            status=answer.status,
            steps=_steps(answer),
        )

    def _made(
        self, case: Case, letter: str | None, usage: Usage, *, seconds: float, **more: Any
    ) -> Made:
        return Made(
            case=case.id,
            subject=case.subject or "",
            letter=letter,
            right=letter is not None and letter == case.choice,
            calls=usage.calls,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            characters_in=usage.characters_in,
            characters_out=usage.characters_out,
            seconds=round(seconds, 2),
            repeat=self.repeat,
            **more,
        )

    def _context(self, case: Case) -> tuple[Context, Ledger]:
        ledger = Ledger(Caps.of(self.settings.budget))
        run = self._run(case)
        asker = self._models.asker(
            run=run, workflow=WORKFLOW, ledger=ledger, journal=MemoryJournal()
        )
        context = Context(
            run=run,
            created="2026-01-01T00:00:00+00:00",
            workflow=WORKFLOW,
            question=asked(case, WORKFLOW),
            settings=self.settings,
            shelf=self.material.library.shelf(),
            models=asker,
            ledger=ledger,
            support=load_support(self.settings.answer.judge),
            pages=NoPages(),
        )
        return context, ledger

    def _run(self, case: Case) -> str:
        """The same for every condition and repetition: the marks around evidence come from it."""
        return f"bench-{hashlib.sha256(case.question.encode()).hexdigest()[:12]}"


def task_of(case: Case, evidence: Sequence[str]) -> Task:
    return Task(
        stem=case.question,
        options=by_letter(list((case.choices or {}).values())),
        research=tuple(
            Sentence(text=text, cited=[], support=None, supported=None) for text in evidence
        ),
        confidence=None,
    )


def named(case: Case, letter: str | None) -> str | None:
    """As the set calls the option that was lettered from A on."""
    letters = by_letter(list(case.choices or {}))
    return letters.get(letter) if letter else None


def _steps(answer: Answer) -> int:
    return answer.research.cycles if answer.research else 0
