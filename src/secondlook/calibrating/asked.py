"""A question whose answer is known, as it is asked to find out what the scores are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["own", "made", "swapped", "left out"]


@dataclass(frozen=True, slots=True)
class Place:
    """Characters [start, end) of a document; all of it where there is no end."""

    document: str
    start: int = 0
    end: int | None = None

    def holds(self, document: str, start: int, end: int) -> bool:
        """Whether a passage that lies there has any of it."""
        if document != self.document:
            return False
        return self.end is None or (start < self.end and self.start < end)


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    answers: tuple[str, ...]
    """Of one made from a sentence that is left out of the search: what that sentence says."""
    answerable: bool
    group: str
    """Questions of one group are judged by a fit that saw none of them."""
    kind: Kind = "own"
    left_out: tuple[Place, ...] = ()
    """What the search must not return."""
