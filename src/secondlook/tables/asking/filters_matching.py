"""Which values of a table the words of a question name."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.asking.rows_vocabulary import FUNCTION_WORDS, OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.tables.asking.rows_columns import ColumnFacts
    from secondlook.tables.asking.rows_index import TableIndex
    from secondlook.tables.asking.rows_words import Token

LONGEST_NAME = 9
"""Words of a value that are looked for in a question."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Values of a column that words of a question name."""

    column: ColumnFacts
    values: tuple[str, ...]
    """As stored."""
    exact: bool
    """The words are the whole value."""
    first: int
    last: int
    """Places of the words among the question's, the last included."""


def stored_values(table: TableIndex, question: Sequence[Token]) -> list[Stored]:
    """Every value that words of the question name; within one column the longest words win."""
    found: list[Stored] = []
    taken: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for length in range(min(LONGEST_NAME, len(question)), 0, -1):
        named = [
            one
            for first in range(len(question) - length + 1)
            for one in _named(table, question, first, first + length - 1)
            if not any(a <= one.first and one.last <= b for a, b in taken[one.column.name])
        ]
        found += named
        for one in named:
            taken[one.column.name].append((one.first, one.last))
    return found


def _named(table: TableIndex, question: Sequence[Token], first: int, last: int) -> Iterator[Stored]:
    words = tuple(token.stem for token in question[first : last + 1])
    edges = {question[first].text, question[last].text}
    if first == last and edges <= FUNCTION_WORDS:
        return
    exact: dict[int, list[str]] = defaultdict(list)
    for place, value in table.whole.get(words, ()):
        exact[place].append(value)
    partial: dict[int, list[str]] = defaultdict(list)
    if not edges & FUNCTION_WORDS:
        for place, value in (*_holding(table, words), *_results(table, words)):
            partial[place].append(value)
    for place in sorted(exact.keys() | partial.keys()):
        column = table.columns[place]
        whole = tuple(exact.get(place, ()))
        if whole:
            yield Stored(column, whole, exact=True, first=first, last=last)
        if place in partial:
            every = tuple(dict.fromkeys((*whole, *partial[place])))
            yield Stored(column, every, exact=False, first=first, last=last)


def _holding(table: TableIndex, words: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Longer values in which the words stand together."""
    postings = [table.postings.get(word, set()) for word in words]
    length = len(words)
    for place, at in sorted(set.intersection(*postings)):
        value, stems = table.cells[table.columns[place].name][at]
        starts = range(len(stems) - length + 1)
        if stems != words and any(stems[start : start + length] == words for start in starts):
            yield place, value


def _results(table: TableIndex, words: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Results that begin with the letter of a win, a loss or a draw."""
    letters = OUTCOMES.get(words[0], ()) if len(words) == 1 else ()
    for place, column in enumerate(table.columns):
        if column.outcomes and letters:
            for value, stems in table.cells[column.name]:
                if stems and stems[0] in letters and stems != words:
                    yield place, value
