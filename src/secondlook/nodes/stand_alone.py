"""The turns of a conversation, and a question made stand-alone from them: data only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.answer import Step, Trouble, Usage
from secondlook.events import NodeFinished, Warned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.answer import ResultTable
    from secondlook.events import Event


@dataclass(frozen=True, slots=True)
class Turn:
    """One question of a conversation and what came of it."""

    asked: str
    """Stand-alone, as it was worked on."""
    short: str | None = None
    text: str = ""
    titles: tuple[str, ...] = ()
    """Of the documents that were cited, in order."""
    asks_back: str | None = None
    """What was asked in return, where the question had several readings."""
    table: ResultTable | None = None
    """The result of an analysis."""


@dataclass(frozen=True, slots=True)
class StandAlone:
    """A question as it is worked on, how it became so, and what that took."""

    asked: str
    steps: tuple[Step, ...] = ()
    warnings: tuple[Trouble, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def events(self, run: str) -> Iterator[Event]:
        for trouble in self.warnings:
            yield Warned(run=run, trouble=trouble)
        for step in self.steps:
            yield NodeFinished(
                run=run,
                node=step.node,
                said=step.said,
                numbers=step.numbers,
                seconds=self.usage.seconds,
            )
