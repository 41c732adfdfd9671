"""A part of a question that may say a condition, and what it may say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from secondlook.tables.query import Filter

if TYPE_CHECKING:
    from secondlook.tables.query import Condition

Source = Literal["exact", "partial", "compare", "year", "date", "equal", "missing", "rank"]
MOST_CHOICES = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that the words may say."""

    conditions: tuple[Condition, ...]
    column: str
    places: frozenset[int]
    """Of the words that say it, its column's name included."""
    score: float
    source: Source
    said: str
    cued: bool = False
    """The column is named beside it."""
    equality: bool = False
    values: tuple[str, ...] = ()
    negated: bool = False

    def either(self, other: Choice) -> Choice:
        """One value or the other."""
        values = tuple(dict.fromkeys((*self.values, *other.values)))
        condition = Filter(column=self.column, comparison="in", values=values, negated=self.negated)
        return replace(
            self,
            conditions=(condition,),
            places=self.places | other.places,
            score=self.score + other.score,
            said=f"{self.said} or {other.said.partition(' is ')[2] or other.said}",
            values=values,
        )


@dataclass(frozen=True, slots=True)
class Slot:
    places: frozenset[int]
    choices: tuple[Choice, ...]
    """The likeliest first."""

    @property
    def first(self) -> int:
        return min(self.places)

    @property
    def score(self) -> float:
        return self.choices[0].score if self.choices else 0.0

    def joined(self, other: Slot) -> Slot:
        """Both, of which one can hold."""
        together = sorted((*self.choices, *other.choices), key=lambda choice: -choice.score)
        return Slot(self.places, tuple(together[: MOST_CHOICES + 1]))
