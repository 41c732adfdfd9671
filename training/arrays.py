"""Token arrays of everything a model is trained on, made once and kept.

A *pair* is one question (or hypothesis) beside one passage (or premise); a *group* is what belongs
to one question. Texts are tokenised once, pairs refer to them by number.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Integers = NDArray[np.integer]
    Floats = NDArray[np.float32]

CLS, SEP, PAD = 101, 102, 0
MAX_TOKENS = 384
QUESTION_TOKENS = 64
SPECIAL_TOKENS = 3
WINDOW_OVERLAP = 96
MAX_SPANS = 4

POSITIVE, NEGATIVE, UNANSWERABLE, SUPPORTED, UNSUPPORTED = range(5)
NO_SPAN = -1


@dataclass(frozen=True, slots=True)
class Pairs:
    """All arrays of one split; see the module's first lines."""

    tokens: Integers
    """All texts' tokens one after the other, without special tokens."""
    bounds: Integers
    """Text i is tokens[bounds[i]:bounds[i + 1]]."""
    question: Integers
    passage: Integers
    offset: Integers
    """The first passage token that is read: a window's start when the answer lies far back."""
    spans: Integers
    """(pairs, MAX_SPANS, 2): first and last token of each right answer, counted in the whole
    passage; NO_SPAN where there is none."""
    kind: Integers
    detail: Integers
    """Number into `details`: how an unanswerable row was made, where a support row comes from."""
    groups: Integers
    """Group g holds pairs groups[g]:groups[g + 1]."""
    source: Integers
    """Number into `sources`, per group."""
    details: NDArray[np.str_]
    sources: NDArray[np.str_]

    def question_tokens(self, rows: Integers) -> Integers:
        texts = self.question[rows]
        size: Integers = self.bounds[texts + 1] - self.bounds[texts]
        return np.minimum(size, QUESTION_TOKENS, dtype=np.int64)

    def passage_tokens(self, rows: Integers) -> Integers:
        texts = self.passage[rows]
        size: Integers = self.bounds[texts + 1] - self.bounds[texts] - self.offset[rows]
        room: Integers = MAX_TOKENS - SPECIAL_TOKENS - self.question_tokens(rows)
        return np.minimum(size, room)

    @property
    def lengths(self) -> Integers:
        """Tokens of each pair's whole input."""
        rows = np.arange(len(self.kind))
        return self.question_tokens(rows) + self.passage_tokens(rows) + SPECIAL_TOKENS

    def save(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        made = file.with_suffix(".part.npz")
        np.savez_compressed(
            made, **{field.name: getattr(self, field.name) for field in fields(self)}
        )
        made.replace(file)


def load_pairs(file: Path) -> Pairs:
    with np.load(file) as stored:
        return Pairs(**{field.name: stored[field.name] for field in fields(Pairs)})


def window_start(tokens: int, room: int, last: int) -> int:
    """Where the product's windows (`secondlook.reading.reader`) would start for the first one
    that holds token `last`."""
    if tokens <= room or last < room:
        return 0
    step = room - WINDOW_OVERLAP
    return min(-(-(last + 1 - room) // step) * step, max(tokens - 1, 0))


def token_span(offsets: NDArray[np.integer], start: int, end: int) -> tuple[int, int] | None:
    """First and last token that touch the characters [start, end)."""
    if not len(offsets):
        return None
    first = int(np.searchsorted(offsets[:, 1], start, side="right"))
    last = int(np.searchsorted(offsets[:, 0], end, side="left")) - 1
    return (first, last) if first <= last < len(offsets) else None
