"""A question about rows beside one table: which words name columns, and which ask for what."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from secondlook.tables.asking.rows_vocabulary import EMPTY_WORDS, FUNCTION_WORDS, near
from secondlook.tables.asking.rows_words import Token, tokens

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from secondlook.tables.asking.rows_columns import ColumnFacts
    from secondlook.tables.asking.rows_index import TableIndex

MentionHow = Literal["exact", "part", "kin", "near"]
LONGEST_HEADER = 5
LEAST_SHARED = 0.4
KIN = 5
"""Letters that two words share at least to be of one family: `director`, `directed`."""


@dataclass(frozen=True, slots=True)
class ColumnMention:
    column: ColumnFacts
    first: int
    last: int
    score: float
    how: MentionHow

    @property
    def places(self) -> frozenset[int]:
        return frozenset(range(self.first, self.last + 1))


@dataclass(frozen=True)
class Sentence:
    """The question's words, and one table."""

    text: str
    words: tuple[Token, ...]
    table: TableIndex
    joined: str = field(init=False)
    """The words with one blank between them, for patterns."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "joined", " ".join(word.text for word in self.words))

    @cached_property
    def content(self) -> frozenset[int]:
        """Places of the words that a reading should account for."""
        return frozenset(
            place for place, word in enumerate(self.words) if word.text not in EMPTY_WORDS
        )

    @cached_property
    def mentions(self) -> tuple[ColumnMention, ...]:
        """Columns named, the surest first."""
        found = [one for column in self.table.columns for one in _mentions(self.words, column)]
        return tuple(sorted(found, key=lambda one: (-one.score, one.first)))

    @cached_property
    def _starts(self) -> list[int]:
        starts, at = [], 0
        for word in self.words:
            starts.append(at)
            at += len(word.text) + 1
        return starts

    def places(self, start: int, end: int) -> frozenset[int]:
        """Of the words within characters of `joined`."""
        return frozenset(
            place
            for place, at in enumerate(self._starts)
            if at < end and at + len(self.words[place].text) > start
        )

    def finditer(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], frozenset[int]]]:
        for match in pattern.finditer(self.joined):
            yield match, self.places(match.start(), match.end())

    def search(self, pattern: re.Pattern[str]) -> frozenset[int] | None:
        match = pattern.search(self.joined)
        return self.places(match.start(), match.end()) if match else None

    def mention_within(self, first: int, last: int) -> list[ColumnMention]:
        """Columns named by words that start between two places, the surest first."""
        return [one for one in self.mentions if first <= one.first <= last]


def sentence(text: str, table: TableIndex) -> Sentence:
    return Sentence(text, tokens(text), table)


def _mentions(words: tuple[Token, ...], column: ColumnFacts) -> list[ColumnMention]:
    header = [word for word in column.words if word not in FUNCTION_WORDS] or list(column.words)
    found: list[ColumnMention] = []
    for length in range(min(LONGEST_HEADER, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            last = first + length - 1
            if any(one.first <= first and last <= one.last for one in found):
                continue
            rated = _rate([word.stem for word in words[first : last + 1]], header, words[first])
            if rated:
                found.append(ColumnMention(column, first, last, *rated))
    return found


def _rate(window: list[str], header: list[str], first: Token) -> tuple[float, MentionHow] | None:
    if not header:
        return None
    if len(window) == len(header) and set(window) == set(header):
        return (1.0, "exact")
    shared = set(window) & set(header)
    if shared and {window[0], window[-1]} <= shared:
        return _rate_part(window, header, shared)
    if len(window) > 1 or first.text in FUNCTION_WORDS:
        return None
    return _rate_word(window[0], header)


def _rate_part(
    window: list[str], header: list[str], shared: set[str]
) -> tuple[float, MentionHow] | None:
    if shared <= FUNCTION_WORDS and len(header) > len(shared):
        return None
    score = 2 * len(shared) / (len(window) + len(set(header)))
    return (score * 0.9, "part") if score >= LEAST_SHARED else None


def _rate_word(word: str, header: list[str]) -> tuple[float, MentionHow] | None:
    if any(len(one) >= KIN and word[:KIN] == one[:KIN] for one in header):
        return (0.5, "kin")
    if any(near(word, one) for one in header):
        return (0.4 if near(word, header[-1]) else 0.3, "near")
    return None
