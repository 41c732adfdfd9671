"""Grades by a chat model: all passages in the fewest calls that fit, or each in one of its own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.errors import BudgetExceeded, ContextOverflow, ModelError, UnusableReply
from secondlook.models.counting import approximate_prompt, approximate_tokens
from secondlook.nodes.grading.forms import grades_of
from secondlook.nodes.grading.port import NODE, Verdicts
from secondlook.nodes.packing import EvidenceItem, pack
from secondlook.prompts import evidence_marks, load

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from secondlook.errors import SecondlookError
    from secondlook.models import Asker, Message
    from secondlook.nodes.grading.forms import Grades, Said
    from secondlook.passage import Passage
    from secondlook.prompts import Prompt
    from secondlook.state import Found, Grade

    Batch = Sequence["Shown"]

AT_ONCE = 4
"""Calls that run at the same time."""
USUAL_TOKENS = 6000
"""Of passages in one call, where nobody knows how much the model can see."""
_SMALLEST = 64
_REPLY_TOKENS = 24
"""Of one grade in the reply, as widely spaced as models write JSON."""
_MARK_TOKENS = 24
"""Of the mark before each passage."""
_GRADES: dict[Said, Grade] = {"answers": "answers", "about": "about", "no": "irrelevant"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage as the model sees it."""

    id: str
    text: str

    @property
    def tokens(self) -> int:
        """What it takes of the context: shown, and graded in the reply."""
        return approximate_tokens(self.text) + _MARK_TOKENS + _REPLY_TOKENS


@dataclass(slots=True)
class _Desk:
    """The calls of one grading. Nobody goes on asking a model that is away or not paid for."""

    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    closed: bool = False


@dataclass(frozen=True, slots=True)
class ModelGrader:
    """`texts` finds passages by id; what it does not find is not graded."""

    models: Asker
    texts: Callable[[Sequence[str]], Awaitable[Mapping[str, Passage]]]
    few_shot: bool = False
    alone: bool = False
    """Each passage in a call of its own."""

    @property
    def name(self) -> str:
        return self.models.name("grade")

    @property
    def prompt(self) -> Prompt:
        return load("grade_few" if self.few_shot else "grade")

    async def verdicts(self, question: str, items: Sequence[Found]) -> Verdicts:
        """What a reply leaves out is asked for once more."""
        held = await self.texts([item["id"] for item in items])
        evidence = [_evidence(item, held[item["id"]]) for item in items if item["id"] in held]
        try:
            room = await self._room(question)
        except (ModelError, BudgetExceeded) as error:
            return Verdicts(error=error)
        shown = [one for item in evidence if (one := _shown(question, item, room)) is not None]
        batches = [[one] for one in shown] if self.alone else _fewest(shown, room)
        desk = _Desk()
        asking = (self._complete(desk, question, batch) for batch in batches)
        return sum(await asyncio.gather(*asking), Verdicts())

    async def _complete(self, desk: _Desk, question: str, batch: Batch) -> Verdicts:
        said = await self._asked(desk, question, batch)
        missing = [one for one in batch if one.id not in said.grades]
        if not missing or said.error is not None or len(missing) == len(batch):
            return said
        return said + await self._asked(desk, question, missing)

    async def _asked(self, desk: _Desk, question: str, batch: Batch) -> Verdicts:
        """Half at a time where the model counts more tokens than were estimated."""
        said = await self._one_call(desk, question, batch)
        if not isinstance(said.error, ContextOverflow) or len(batch) == 1:
            return said
        half = len(batch) // 2
        return await self._asked(desk, question, batch[:half]) + await self._asked(
            desk, question, batch[half:]
        )

    async def _one_call(self, desk: _Desk, question: str, batch: Batch) -> Verdicts:
        async with desk.gate:
            if desk.closed:
                return Verdicts()
            try:
                reply = await self.models.ask(
                    "grade",
                    self._messages(question, batch),
                    grades_of(len(batch)),
                    node=NODE,
                    max_tokens=self.prompt.max_tokens + _REPLY_TOKENS * len(batch),
                )
            except (ModelError, BudgetExceeded) as error:
                desk.closed = desk.closed or speaks_of_the_model(error)
                return Verdicts(error=error)
        return Verdicts() if reply.value is None else _read(reply.value, batch)

    def _messages(self, question: str, batch: Batch) -> tuple[Message, ...]:
        evidence = evidence_marks(self.models.run).wrap([one.text for one in batch])
        return self.prompt.render(question=question, evidence=evidence)

    async def _room(self, question: str) -> int:
        """Tokens for passages and their grades in one call."""
        room = await self.models.room(
            "grade", max_tokens=self.prompt.max_tokens, schema=grades_of(AT_ONCE)
        )
        if room is None:
            return USUAL_TOKENS
        bare = approximate_prompt(self.prompt.render(question=question, evidence=""))
        return max(_SMALLEST, room - bare)


def speaks_of_the_model(error: SecondlookError) -> bool:
    """Whether the next call would fare no better: not where only this reply or prompt was bad."""
    return not isinstance(error, UnusableReply | ContextOverflow)


def _evidence(item: Found, passage: Passage) -> EvidenceItem:
    span = (item["span_start"] or 0, item["span_end"] or 0)
    return EvidenceItem(
        passage=passage.id,
        title=passage.title,
        heading=passage.heading,
        text=passage.text,
        span=span if span[1] > span[0] else None,
    )


def _shown(question: str, item: EvidenceItem, room: int) -> Shown | None:
    """The whole passage, or where it alone is too long what lies around the reader's span."""
    fitting = max(_SMALLEST, room - _MARK_TOKENS - _REPLY_TOKENS)
    packed = pack(
        question, [item], mode="passages", budget_tokens=fitting, count=approximate_tokens
    )
    return Shown(item.passage, packed.blocks[0].text) if packed.blocks else None


def _fewest(shown: Sequence[Shown], room: int) -> list[list[Shown]]:
    """In their order, in as few calls as have room for them."""
    batches: list[list[Shown]] = []
    left = 0
    for one in shown:
        if not batches or one.tokens > left:
            batches.append([])
            left = room
        batches[-1].append(one)
        left -= one.tokens
    return batches


def _read(said: Grades, batch: Batch) -> Verdicts:
    """Numbers that were not shown are dropped. A passage with two different grades has none."""
    by_number: dict[int, set[Said]] = {}
    for entry in said.grades:
        by_number.setdefault(entry.passage, set()).add(entry.grade)
    grades = {
        one.id: _GRADES[next(iter(by_number[number]))]
        for number, one in enumerate(batch, 1)
        if len(by_number.get(number, ())) == 1
    }
    unknown = sum(not 1 <= entry.passage <= len(batch) for entry in said.grades)
    return Verdicts(grades, unknown)
