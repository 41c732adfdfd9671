"""Several questions in a row, where a later one may lean on those before it."""

from __future__ import annotations

from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any

from secondlook.nodes.stand_alone import Turn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from secondlook.answer import Answer
    from secondlook.app.secondlook import Secondlook
    from secondlook.events import Event

MOST_TURNS = 20
"""What was said longer ago than this is not leant on."""


class Conversation:
    """Asks an engine, and remembers. "And in 2023?" is worked on as the question it is short for:
    `Answer.question` is what was typed, `Answer.asked` what was worked on.

    Options given here hold for every question: those of `Secondlook.astream`.
    """

    def __init__(self, engine: Secondlook, **options: Any) -> None:
        self.engine = engine
        self._options = options
        self._turns: list[Turn] = []

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(self._turns)

    def forget(self) -> None:
        """Begin anew."""
        self._turns.clear()

    def ask(self, text: str, **options: Any) -> Answer:
        """The answer to a question or a follow-up."""
        return self._remembered(self.engine.ask(text, **self._with(options)))

    def stream(self, text: str, **options: Any) -> Generator[Event]:
        """What happens on the way to the answer. Left early, the question was never asked."""
        with closing(self.engine.stream(text, **self._with(options))) as events:
            for event in events:
                self._see(event)
                yield event

    async def aask(self, text: str, **options: Any) -> Answer:
        return self._remembered(await self.engine.aask(text, **self._with(options)))

    async def astream(self, text: str, **options: Any) -> AsyncGenerator[Event]:
        async with aclosing(self.engine.astream(text, **self._with(options))) as events:
            async for event in events:
                self._see(event)
                yield event

    def _with(self, options: dict[str, Any]) -> dict[str, Any]:
        return {**self._options, **options, "earlier": self.turns}

    def _see(self, event: Event) -> None:
        if event.type == "answered":
            self._remembered(event.answer)

    def _remembered(self, answer: Answer) -> Answer:
        self._turns = [*self._turns, turn_of(answer)][-MOST_TURNS:]
        return answer


def turn_of(answer: Answer) -> Turn:
    """What a later question may lean on; a withheld answer leaves its question alone."""
    return Turn(
        asked=answer.asked,
        short=answer.short,
        text=" ".join(claim.text for claim in answer.claims),
        titles=tuple(dict.fromkeys(citation.title for citation in answer.citations)),
        asks_back=answer.asks_back,
        table=answer.analysis.table if answer.analysis else None,
    )
